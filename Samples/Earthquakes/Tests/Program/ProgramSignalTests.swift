import EarthquakeKit
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Runs of the built program that don't go on as they began.
@Suite(.serialized, .timeLimit(.minutes(2))) struct `The program that is disturbed` {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Starts the program on a feed that never comes to its end, and waits until it reads it.
  private func reading(
    _ body: (_ process: Process, _ errors: Lines, _ closeFeed: () -> Void) throws -> Void
  ) throws {
    let feed = folder.path("feed")
    try #require(mkfifo(feed, 0o600) == 0)
    let process = try ProgramRun.process(
      ["--file", feed, "--database", folder.path("quakes.sqlite")],
      temporaryFolder: folder
    )
    let pipe = Pipe()
    process.standardOutput = FileHandle.nullDevice
    process.standardError = pipe
    try process.run()
    let errors = Lines(pipe.fileHandleForReading)
    #expect(errors.text(until: "2/6 open\n").hasSuffix("2/6 open\n"))
    // Returns when the program has opened it too: closed before that, it would wait for ever.
    let writer = open(feed, O_WRONLY)
    try #require(writer >= 0)
    try body(process, errors) { _ = close(writer) }
    process.waitUntilExit()
  }

  @Test func `is cancelled by the first signal, and leaves no database`() throws {
    try reading { process, errors, closeFeed in
      process.interrupt()
      #expect(errors.text(until: "at once.\n").hasPrefix("Cancelling."))
      closeFeed()
      #expect(
        errors.text(until: nil)
          == "Cancelled: the database is as it was.\n  cancelled: Interrupted (SIGINT).\n"
      )
      process.waitUntilExit()
      #expect(process.terminationReason == .exit)
      #expect(process.terminationStatus == 130)
      #expect(!FileManager.default.fileExists(atPath: folder.path("quakes.sqlite")))
    }
  }

  @Test func `is ended at once by the second signal`() throws {
    try reading { process, errors, closeFeed in
      process.interrupt()
      _ = errors.text(until: "at once.\n")
      process.interrupt()
      // The feed is still open, so the program doesn't end by itself.
      process.waitUntilExit()
      closeFeed()
      #expect(process.terminationReason == .exit)
      #expect(process.terminationStatus == 130)
    }
  }

  @Test func `goes on when nobody reads what it writes`() throws {
    let (output, errors) = (Pipe(), Pipe())
    let process = try ProgramRun.process(
      ["--database", folder.path("quakes.sqlite"), "--verbose"],
      temporaryFolder: folder
    )
    process.standardOutput = output
    process.standardError = errors
    try output.fileHandleForReading.close()
    try errors.fileHandleForReading.close()
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
    #expect(try EarthquakeDatabase(path: folder.path("quakes.sqlite")).count() == 60)
  }

  #if os(Linux)
  @Test func `says when its report can't be written`() throws {
    let errors = try folder.newFile("errors")
    let process = try ProgramRun.process(["--quiet"], temporaryFolder: folder)
    process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
    process.standardError = errors
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
    #expect(
      try String(contentsOfFile: folder.path("errors"), encoding: .utf8)
        == "Error: The file /dev/stdout cannot be written: No space left on device.\n"
    )
  }
  #endif
}
