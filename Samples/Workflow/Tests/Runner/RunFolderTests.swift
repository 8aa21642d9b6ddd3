import Foundation
import Synchronization
import Testing
import WorkflowDocument

@testable import WorkflowRunner

@Suite struct RunFolderTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `Runs of the same second have different names, in the order of their begins`() throws {
    let runs = folder.path + "/some/runs"
    let date = Date(timeIntervalSince1970: 1_800_000_000)
    let folders = try (0..<12).map { _ in
      try RunFolder.create(of: "my release/x", in: runs, file: "a: ä\n", at: date)
    }
    #expect(Set(folders.map(\.name)).count == 12)
    #expect(folders[0].name.hasSuffix("-my_release_x"))
    #expect(try String(contentsOfFile: folders[0].workflowFile, encoding: .utf8) == "a: ä\n")
    #expect(Set(try RunFolder.all(in: runs).map(\.name)) == Set(folders.map(\.name)))
  }

  @Test func `A run is in the folder of all runs as a whole or not at all`() async throws {
    let runs = folder.path + "/runs"
    let isOver = Mutex(false)
    async let incomplete = Task.detached {
      // What a command of another process finds at any moment.
      var incomplete: Set<String> = []
      while !isOver.withLock({ $0 }) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: runs)) ?? []
        where !name.hasPrefix(".") {
          let run = RunFolder("\(runs)/\(name)")
          let text = try? String(contentsOfFile: run.workflowFile, encoding: .utf8)
          if text != "steps: []" || access(run.logs, F_OK) != 0 { incomplete.insert(name) }
        }
        await Task.yield()
      }
      return incomplete
    }.value
    do {
      // Whatever happens, or it would be waited for.
      defer { isOver.withLock { $0 = true } }
      for _ in 0..<300 { _ = try RunFolder.create(of: "w", in: runs, file: "steps: []") }
    }
    #expect(await incomplete.isEmpty)
    #expect(try RunFolder.all(in: runs).count == 300)
    let hidden = try FileManager.default.contentsOfDirectory(atPath: runs).filter {
      $0.hasPrefix(".")
    }
    #expect(hidden == [".order"])
  }

  @Test func `A run that can't be kept leaves nothing, and is called what it would have been`()
    throws
  {
    let runs = folder.path + "/runs"
    let other = try RunFolder.create(of: "w", in: runs, file: "")
    // Root may write everywhere, but not without a place.
    let long = String(repeating: "x", count: 5_000)
    #expect {
      _ = try RunFolder.create(of: "w", in: runs + "/" + long, file: "")
    } throws: {
      !"\($0)".contains("/.")
    }
    #expect(try RunFolder.all(in: runs) == [other])
  }

  @Test func `A folder that isn't there has no runs, and other folders are none`() throws {
    #expect(try RunFolder.all(in: folder.path + "/runs").isEmpty)
    _ = try folder.run()
    try FileManager.default.createDirectory(
      atPath: folder.path + "/runs/other",
      withIntermediateDirectories: true
    )
    #expect(try RunFolder.all(in: folder.path + "/runs").count == 1)
  }

  @Test func `A run is running, ended, interrupted or unreadable`() throws {
    let run = try folder.run()
    #expect(run.summary().state == .interrupted)
    let journal = try JournalFile(run.journal)
    let header = JournalHeader(run: run.name, workflow: "w", fingerprint: "f", file: nil)
    try journal.append(.begun(header), synced: false)
    try journal.append(.ended(step: "a", end: StepEnd(outcome: .succeeded)), synced: false)
    do {
      let lock = try #require(try RunLock(run))
      #expect(run.summary().state == .running)
      #expect(try RunLock(run) == nil)
      withExtendedLifetime(lock) {}
    }
    #expect(run.summary().state == .interrupted)
    #expect(run.summary().doneCount == 1)
    #expect(run.summary().header == header)
    let end = RunEnd(
      succeeded: 1,
      failed: 0,
      skipped: 0,
      cancelled: 0,
      duration: .zero,
      failures: ""
    )
    try journal.append(.runEnded(end: end), synced: false)
    #expect(run.summary().state == .ended(end))
    try journal.append(.resumed(fingerprint: "f"), synced: false)
    #expect(run.summary().state == .interrupted)
    try Data("nonsense\n".utf8).write(to: URL(filePath: run.journal))
    #expect(run.summary().state == .unreadable(.damaged(path: run.journal, line: 1)))
  }

  @Test func `A lock that is left with a killed runner's child is waited for`() throws {
    let run = try folder.run()
    let child = Process()
    child.executableURL = URL(filePath: "/bin/sh")
    child.arguments = ["-c", "true"]
    try child.run()
    child.waitUntilExit()
    // The child of a runner has its lock until its own program begins.
    var left: OpenFile? = try OpenFile(run.lock, O_RDWR | O_CREAT)
    try left?.write("\(child.processIdentifier)\n".utf8)
    #expect(try left?.lockIfFree() == true)
    var pauses = 0
    let lock = try RunLock(run) {
      pauses += 1
      if pauses == 40 { left = nil }
    }
    #expect(lock != nil)
    #expect(pauses == 40)
  }

  @Test func `A lock is not waited for while its process is running`() throws {
    let run = try folder.run()
    let lock = try RunLock(run)
    var pauses = 0
    #expect(try RunLock(run) { pauses += 1 } == nil)
    #expect(lock != nil && pauses == 5)
  }
}
