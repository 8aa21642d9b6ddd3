import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// What a run does about steps that an earlier process was undoing.
@Suite struct ResumedRollbackTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let undone = Workflow([
    Step("a") { $0.rollback = .shell(Template(text: "undo")) }, Step("b", needs: ["a"]),
  ])

  /// A run whose second step fails, so that its first one is undone.
  private func undoneRun(
    _ undo: ScriptedEngine.Play = .exit(0),
    hasHandles: Bool = false
  ) throws -> RunFolder {
    let place = try folder.run()
    try SimulatedRun(
      Self.undone,
      in: place,
      plays: ["b": [.exit(1)], "undo-a": [undo]],
      hasHandles: hasHandles
    ).end()
    return place
  }

  @Test func `What was being undone at any cut of a journal is undone before it runs again`() throws
  {
    let text = try String(contentsOfFile: undoneRun().journal, encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    var seen: Set<[String]> = []
    for count in 1...lines.count {
      let next = try folder.run()
      try (lines.prefix(count).joined(separator: "\n") + "\n")
        .write(toFile: next.journal, atomically: true, encoding: .utf8)
      let records = try #require(try JournalFile.contents(of: next.journal)).records
      let isDone = records.contains {
        if case .ended(step: "a", _) = $0 { true } else { false }
      }
      let expected =
        if records.contains(.rolledBack(step: "a")) {
          ["a", "b"]
        } else if records.contains(.rollbackBegun(step: "a")) {
          ["undo-a", "a", "b"]
        } else if isDone { ["b"] } else { ["a", "b"] }
      let run = SimulatedRun(Self.undone, in: next)
      #expect(try run.end().succeeded == 2)
      #expect(run.engine.begins == expected, "\(count) lines")
      seen.insert(expected)
    }
    #expect(seen.count == 3)
  }

  @Test func `A journal that doesn't say whether an undo has ended has it undone again`() {
    // As version 1 has written them.
    let records: [JournalRecord] = [
      .ended(step: "a", end: StepEnd(outcome: .succeeded)), .rolledBack(step: "a"),
      .rollbackStarted(step: "a", attempt: 1, handle: "h"),
    ]
    let progress = RunProgress(records, of: Self.undone)
    #expect(progress.done == [])
    #expect(progress.unfinishedRollbacks.map(\.step) == ["a"])
    #expect(progress.unfinishedRollbacks.first?.open?.handle == "h")
  }

  @Test func `What can't be undone again keeps all from running, until it can`() throws {
    let place = try undoneRun(.exit(7))
    let second = SimulatedRun(Self.undone, in: place, plays: ["undo-a": [.exit(8)]])
    let end = try second.end()
    #expect(second.engine.begins == ["undo-a"])
    #expect((end.succeeded, end.cancelled) == (0, 2))
    #expect(end.failures.hasPrefix("a: its rollback failed: exited with 8 ("))
    #expect(end.failures.contains("--accept-failed-rollbacks"))
    let third = SimulatedRun(Self.undone, in: place)
    #expect(try third.end().succeeded == 2)
    #expect(third.engine.begins == ["undo-a", "a", "b"])
  }

  @Test func `What can't be undone runs again if that is accepted`() throws {
    let place = try undoneRun(.exit(7))
    let run = SimulatedRun(Self.undone, in: place, plays: ["undo-a": [.exit(8)]]) {
      $0.acceptsFailedRollbacks = true
    }
    #expect(try run.end().succeeded == 2)
    #expect(run.engine.begins == ["undo-a", "a", "b"])
    // It is as if it had been undone.
    let next = SimulatedRun(Self.undone, in: place)
    #expect(try next.end().succeeded == 2)
    #expect(next.engine.begins == [])
  }

  @Test func `What can't be undone because its step is gone keeps all from running, too`() throws {
    let place = try undoneRun(.exit(7))
    let rest = Workflow([Step("b")])
    let run = SimulatedRun(rest, in: place) { $0.acceptsChanges = true }
    let end = try run.end()
    #expect(run.engine.begins == [])
    #expect(end.cancelled == 1)
    #expect(end.failures.hasPrefix("a: its rollback failed: the file has no such step any more"))
    #expect(end.failures.contains("--accept-failed-rollbacks"))
    let accepted = SimulatedRun(rest, in: place) {
      $0.acceptsChanges = true
      $0.acceptsFailedRollbacks = true
    }
    #expect(try accepted.end().succeeded == 1)
    #expect(accepted.events.all.contains { $0.kind.step == "a" })
  }

  @Test func `What isn't chosen keeps all from running until it is undone`() throws {
    let place = try undoneRun(.exit(7))
    let workflow = Workflow(Self.undone.steps + [Step("c")])
    let run = SimulatedRun(workflow, in: place) {
      $0.acceptsChanges = true
      $0.only = ["c"]
    }
    #expect(try run.end().failures.hasPrefix("a: its rollback failed: --only leaves it out ("))
    #expect(run.engine.begins == [])
    let all = SimulatedRun(workflow, in: place)
    #expect(try all.end().succeeded == 3)
    #expect(all.engine.begins.first == "undo-a")
  }

  @Test func `A rollback that went on without its runner is awaited, and not repeated`() throws {
    let place = try undoneRun(hasHandles: true)
    let text = try String(contentsOfFile: place.journal, encoding: .utf8)
    let end = try #require(text.range(of: "rolledBack"))
    let cut = text[..<end.lowerBound]
    try String(cut[...(cut.lastIndex(of: "\n") ?? cut.startIndex)])
      .write(toFile: place.journal, atomically: true, encoding: .utf8)
    let run = SimulatedRun(
      Self.undone,
      in: place,
      known: ["undo-a-1": StepExit(.exited(0))],
      hasHandles: true
    )
    #expect(try run.end().succeeded == 2)
    #expect(run.engine.begins == ["take up undo-a-1", "a", "b"])
  }
}
