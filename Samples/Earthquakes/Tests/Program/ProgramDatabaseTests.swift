import EarthquakeKit
import Foundation
import Testing

/// Runs of the built program that share a database with others, or are stopped while they write it.
@Suite(.serialized, .timeLimit(.minutes(2))) struct `The program and its database` {
  private let folder: TemporaryFolder
  private let database: String

  init() throws {
    folder = try TemporaryFolder()
    database = folder.path("quakes.sqlite")
  }

  /// A run that reads its feed from a pipe, so that it goes on when a test wants it to.
  private final class Run {
    let process: Process
    let errors: Lines
    private let feed: String

    init(_ name: String, in folder: TemporaryFolder, database: String) throws {
      feed = folder.path(name)
      try #require(mkfifo(feed, 0o600) == 0)
      process = try ProgramRun.process(
        ["--file", feed, "--database", database, "--force"],
        temporaryFolder: folder
      )
      let pipe = Pipe()
      process.standardOutput = FileHandle.nullDevice
      process.standardError = pipe
      try process.run()
      errors = Lines(pipe.fileHandleForReading)
      #expect(errors.text(until: "2/6 open\n").hasSuffix("2/6 open\n"))
    }

    /// Lets the run go on until it is about to store.
    func goOn(_ data: Data) throws {
      // Returns when the program has opened the pipe as well.
      let writer = try FileHandle(forWritingTo: URL(filePath: feed))
      try writer.write(contentsOf: data)
      try writer.close()
      #expect(errors.text(until: "5/6 store\n").hasSuffix("5/6 store\n"))
    }

    /// What the run still says until it ends.
    func end() -> String {
      defer { process.waitUntilExit() }
      return errors.text(until: nil)
    }
  }

  /// Waits until a run wants to commit and can't.
  private func untilCommitBegins(_ run: Run, heldUpBy lock: DatabaseLock) {
    while run.process.isRunning, !lock.holdsUpCommit { sched_yield() }
    #expect(run.process.isRunning)
  }

  private func count() throws -> Int {
    try EarthquakeDatabase.existing(path: database)?.count() ?? 0
  }

  @Test(arguments: 1...5)
  func `a database is created once by two runs at the same time`(round: Int) throws {
    let runs = try ["a", "b"].map { try Run($0, in: folder, database: database) }
    let lock = try DatabaseLock(.reserved, database)
    for run in runs { try run.goOn(TinyFeed.data) }
    try lock.release()
    for run in runs {
      let errors = run.end()
      #expect(run.process.terminationStatus == 0, "\(errors)")
    }
    #expect(try count() == 8)
  }

  @Test func `is usable after a first run that was killed while it committed`() throws {
    let run = try Run("feed", in: folder, database: database)
    let lock = try DatabaseLock(.shared, database)
    try run.goOn(TinyFeed.data)
    untilCommitBegins(run, heldUpBy: lock)
    kill(run.process.processIdentifier, SIGKILL)
    _ = run.end()
    try lock.release()
    #expect(try count() == 0)
    #expect(try ProgramRun(["--database", database]).status == 0)
    #expect(try count() == 60)
  }

  @Test func `is as the program says after an interruption while it committed`() throws {
    #expect(try ProgramRun(["--database", database]).status == 0)
    let run = try Run("feed", in: folder, database: database)
    let lock = try DatabaseLock(.shared, database)
    try run.goOn(TinyFeed.data)
    untilCommitBegins(run, heldUpBy: lock)
    run.process.interrupt()
    #expect(run.errors.text(until: "immediately.\n").hasPrefix("Cancelling."))
    try lock.release()
    let errors = run.end()
    #expect(run.process.terminationStatus == 130)
    let isStored = try count() == 68
    #expect(errors.contains("Cancelled: the database is as it was.\n") == !isStored, "\(errors)")
    #expect(errors.contains("Cancelled: the database has the feed already.\n") == isStored)
  }
}
