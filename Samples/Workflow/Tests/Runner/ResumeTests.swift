import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// What a run does that goes on where an earlier one ended.
@Suite struct ResumeTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let workflow: Workflow = {
    var a = Step("a")
    a.outputs = ["version"]
    a.rollback = .shell(Template(text: "undo"))
    var c = Step("c", needs: ["a", "b"])
    c.command = .shell(Template([.text("echo "), .output(step: "a", name: "version")]))
    var skipped = Step("skipped")
    skipped.when = [.environment(name: "NOT_SET", value: nil)]
    return Workflow([a, Step("b"), c, skipped, Step("d", needs: ["c", "skipped"])])
  }()

  private static let plays: [String: [ScriptedEngine.Play]] = [
    "a": [.exit(0, outputs: ["version": "1.2"])]
  ]

  private func run(_ place: RunFolder, hasHandles: Bool = false) -> SimulatedRun {
    SimulatedRun(Self.workflow, in: place, plays: Self.plays, hasHandles: hasHandles)
  }

  @Test func `A journal that is cut anywhere is resumed, and what it has isn't run again`() throws {
    let place = try folder.run()
    try run(place, hasHandles: true).end()
    let whole = try Data(contentsOf: URL(filePath: place.journal))
    var lines = 0
    for length in 0...whole.count {
      let piece = whole.prefix(length)
      let next = try folder.run()
      try piece.write(to: URL(filePath: next.journal))
      let contents = try #require(
        try? JournalContents.parse([UInt8](piece), path: "journal")
          ?? JournalContents(
            header: JournalHeader(run: "", workflow: "", fingerprint: "", file: nil),
            records: [],
            length: 0,
            checksum: 0
          ),
        "\(length)"
      )
      // Between two line breaks nothing changes.
      if contents.records.count == lines, length > 0, length < whole.count { continue }
      lines = contents.records.count
      let done = RunProgress(contents.records, of: Self.workflow).done
      let resumed = run(next, hasHandles: true)
      let end = try resumed.end()
      #expect((end.succeeded, end.skipped) == (4, 1), "\(length)")
      let begins = resumed.engine.begins.filter { !$0.hasPrefix("take up") }
      #expect(begins.sorted() == ["a", "b", "c", "d"].filter { !done.contains($0) }, "\(length)")
      #expect(Set(resumed.events.ends.filter(\.value.isFromJournal).keys) == Set(done), "\(length)")
    }
    #expect(lines > 8)
  }

  @Test func `A run that has ended well is resumed without running anything`() throws {
    let place = try folder.run()
    try run(place).end()
    let again = run(place)
    #expect(try again.end().succeeded == 4)
    #expect(again.engine.log.isEmpty)
  }

  @Test func `An attempt that goes on is taken up`() throws {
    let place = try folder.run()
    let journal = try JournalFile(place.journal)
    let workflow = Workflow([Step("a"), Step("b", needs: ["a"])])
    let header = JournalHeader(
      run: place.name,
      workflow: "test",
      fingerprint: WorkflowFingerprint.text(of: workflow),
      file: nil
    )
    try journal.append(.begun(header), synced: true)
    try journal.append(.started(step: "a", attempt: 2, node: nil, handle: "job 7"), synced: true)
    let run = SimulatedRun(workflow, in: place, known: ["job 7": StepExit(.exited(0), node: "n2")])
    #expect(try run.end().succeeded == 2)
    #expect(run.engine.begins == ["take up job 7", "b"])
    #expect(run.events.ends["a"]?.attempts == 2)
    #expect(run.events.ends["a"]?.node == "n2")
  }

  @Test func `An attempt of which nothing is known is run again, with the next number`() throws {
    let place = try folder.run()
    let journal = try JournalFile(place.journal)
    let workflow = Workflow([Step("a")])
    let header = JournalHeader(
      run: place.name,
      workflow: "test",
      fingerprint: WorkflowFingerprint.text(of: workflow),
      file: nil
    )
    try journal.append(.begun(header), synced: true)
    try journal.append(.started(step: "a", attempt: 1, node: nil, handle: "job 7"), synced: true)
    let run = SimulatedRun(workflow, in: place)
    #expect(try run.end().succeeded == 1)
    #expect(run.events.words == ["a started 2", "a succeeded"])
  }

  @Test func `What was rolled back runs again, and so does what was made of it`() throws {
    let workflow = Workflow([
      Step("a") { $0.rollback = .shell(Template(text: "undo")) }, Step("b", needs: ["a"]),
      Step("x"), Step("c", needs: ["b", "x"]),
    ])
    let place = try folder.run()
    try SimulatedRun(workflow, in: place, plays: ["c": [.exit(1)]]).end()
    let run = SimulatedRun(workflow, in: place)
    #expect(try run.end().succeeded == 4)
    #expect(run.engine.begins == ["a", "b", "c"])
  }

  @Test func `What an earlier process did is undone when the run fails after all`() throws {
    let workflow = Workflow([
      Step("a") { $0.rollback = .shell(Template(text: "undo")) }, Step("b", needs: ["a"]),
    ])
    let place = try folder.run()
    let first = SimulatedRun(workflow, in: place, plays: ["b": [.endless()]])
    first.at(.seconds(5)) { first.run.kill() }
    try first.end()
    let run = SimulatedRun(workflow, in: place, plays: ["b": [.exit(1)]])
    try run.end()
    #expect(run.engine.begins == ["b", "undo-a"])
  }

  @Test func `A step that was skipped because of a failure is looked at again`() throws {
    var thanks = Step("thanks", needs: ["a"])
    thanks.when = [.outcome(.step("a", is: .succeeded))]
    let workflow = Workflow([Step("a"), thanks])
    let place = try folder.run()
    #expect(try SimulatedRun(workflow, in: place, plays: ["a": [.exit(1)]]).end().skipped == 1)
    let run = SimulatedRun(workflow, in: place)
    #expect(try run.end().succeeded == 2)
  }

  @Test func `Another workflow is refused unless changes are accepted`() throws {
    let place = try folder.run()
    try SimulatedRun(Workflow([Step("a")]), in: place).end()
    let changed = Workflow([Step("a"), Step("b")])
    let refused = SimulatedRun(changed, in: place)
    #expect(throws: RunError.workflowChanged(run: place.name)) { try refused.end() }
    let run = SimulatedRun(changed, in: place) { $0.acceptsChanges = true }
    #expect(try run.end().succeeded == 2)
    #expect(run.engine.begins == ["b"])
    // From then on, that is its workflow.
    #expect(try SimulatedRun(changed, in: place).end().succeeded == 2)
  }

  @Test func `Line numbers and the order of steps don't make another workflow`() throws {
    let place = try folder.run()
    let (a, b) = (Step("a"), Step("b"))
    try SimulatedRun(Workflow([a, b]), in: place).end()
    let moved = Workflow([Step("b") { $0.line = 4 }, Step("a") { $0.line = 9 }])
    #expect(try SimulatedRun(moved, in: place).end().succeeded == 2)
  }

  @Test func `Two don't run one run at the same time`() throws {
    let place = try folder.run()
    let lock = try #require(try RunLock(place))
    let run = SimulatedRun(Workflow([Step("a")]), in: place)
    #expect(throws: RunError.isRunning(run: place.name)) { try run.end() }
    #expect(place.summary().state == .running)
    withExtendedLifetime(lock) {}
  }
}
