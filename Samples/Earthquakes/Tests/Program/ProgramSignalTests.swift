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
      #expect(errors.text(until: "immediately.\n").hasPrefix("Cancelling."))
      // The feed is still open, so there would be more to wait for.
      #expect(
        errors.text(until: nil)
          == "Cancelled: the database is as it was.\n  cancelled: Interrupted (SIGINT).\n"
      )
      process.waitUntilExit()
      closeFeed()
      #expect(process.terminationReason == .exit)
      #expect(process.terminationStatus == 130)
      #expect(!FileManager.default.fileExists(atPath: folder.path("quakes.sqlite")))
    }
  }

  @Test func `names after SIGTERM no key that was not pressed`() throws {
    try reading { process, errors, closeFeed in
      process.terminate()
      let notice = errors.text(until: "immediately.\n")
      #expect(notice == "Cancelling. Another signal quits immediately.\n")
      process.waitUntilExit()
      closeFeed()
      #expect(process.terminationStatus == 143)
    }
  }

  @Test func `the program ends immediately at SIGQUIT, without a crash report`() throws {
    try reading { process, errors, closeFeed in
      kill(process.processIdentifier, SIGQUIT)
      #expect(errors.text(until: nil) == "")
      process.waitUntilExit()
      closeFeed()
      #expect(process.terminationReason == .exit)
      #expect(process.terminationStatus == 131)
      #expect(!FileManager.default.fileExists(atPath: folder.path("quakes.sqlite")))
    }
  }

  @Test func `the program is cancelled while no process writes its feed`() throws {
    let feed = folder.path("feed")
    try #require(mkfifo(feed, 0o600) == 0)
    try cancelled(["--file", feed], after: "2/6 open\n", is: "the database is as it was")
  }

  @Test func `the program is cancelled while no process opens its map`() throws {
    let map = folder.path("map")
    try #require(mkfifo(map, 0o600) == 0)
    try cancelled(["--map", map], after: "7/7 map\n", is: "the database has the feed already")
  }

  @Test func `the program is cancelled while no process reads its map`() throws {
    let map = folder.path("map")
    try #require(mkfifo(map, 0o600) == 0)
    // More than goes into a pipe.
    let features = (0..<2_000).map { FeedText.feature(id: "\"x\($0)\"") }
    let feed = try folder.write(FeedText.feed(features), to: "feed.geojson")
    var reader: Int32 = -1
    defer { _ = close(reader) }
    try cancelled(
      ["--file", feed, "--map", map],
      after: "7/7 map\n",
      is: "the database has the feed already"
    ) {
      // Returns when the program has opened it too.
      reader = open(map, O_RDONLY)
    }
  }

  /// Interrupts the program when it has said something, and checks that it ends by itself.
  private func cancelled(
    _ arguments: [String],
    after line: String,
    is state: String,
    prepare: () -> Void = {}
  ) throws {
    let process = try ProgramRun.process(
      arguments + ["--database", folder.path("quakes.sqlite")],
      temporaryFolder: folder
    )
    let pipe = Pipe()
    process.standardOutput = FileHandle.nullDevice
    process.standardError = pipe
    try process.run()
    let errors = Lines(pipe.fileHandleForReading)
    #expect(errors.text(until: line).hasSuffix(line))
    prepare()
    process.interrupt()
    let rest = errors.text(until: nil)
    #expect(rest.hasPrefix("Cancelling."))
    #expect(rest.hasSuffix("Cancelled: \(state).\n  cancelled: Interrupted (SIGINT).\n"))
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 130)
  }

  @Test func `sends its map through a pipe`() throws {
    let map = folder.path("map")
    try #require(mkfifo(map, 0o600) == 0)
    let process = try ProgramRun.process(["--map", map], temporaryFolder: folder)
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    let reader = try FileHandle(forReadingFrom: URL(filePath: map))
    let svg = String(decoding: try reader.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(SVGContent(svg).elements("circle", in: "events").count == 60)
  }

  @Test func `the second signal ends the program immediately, even without a reader`() throws {
    let feed = folder.path("feed")
    try #require(mkfifo(feed, 0o600) == 0)
    let process = try ProgramRun.process(["--file", feed], temporaryFolder: folder)
    let pipe = Pipe()
    let writer = dup(pipe.fileHandleForWriting.fileDescriptor)
    defer { _ = close(writer) }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = pipe
    try process.run()
    let errors = Lines(pipe.fileHandleForReading)
    #expect(errors.text(until: "2/6 open\n").hasSuffix("2/6 open\n"))
    // From now on nothing can be written, so the program is stuck when it says that it cancels.
    try #require(fcntl(writer, F_SETFL, O_NONBLOCK) == 0)
    for size in [1 << 12, 1] {
      let filler = [UInt8](repeating: 0x2E, count: size)
      while write(writer, filler, size) > 0 {}
    }
    // Two different ones, as two of a kind that come together are one.
    kill(process.processIdentifier, SIGINT)
    kill(process.processIdentifier, SIGTERM)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect([130, 143].contains(process.terminationStatus))
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
