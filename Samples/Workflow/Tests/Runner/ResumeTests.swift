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

  @Test func `An attempt that is still running is taken up`() throws {
    let workflow = Workflow([Step("a"), Step("b", needs: ["a"])])
    let place = try interrupted(
      workflow,
      [.started(step: "a", attempt: 2, node: nil, handle: "job 7")]
    )
    let run = SimulatedRun(workflow, in: place, known: ["job 7": StepExit(.exited(0), node: "n2")])
    #expect(try run.end().succeeded == 2)
    #expect(run.engine.begins == ["take up job 7", "b"])
    #expect(run.events.ends["a"]?.attempts == 2)
    #expect(run.events.ends["a"]?.node == "n2")
  }

  @Test func `An attempt of which nothing is known is run again, with the next number`() throws {
    let workflow = Workflow([Step("a")])
    let place = try interrupted(
      workflow,
      [.started(step: "a", attempt: 1, node: nil, handle: "job 7")]
    )
    let run = SimulatedRun(workflow, in: place)
    #expect(try run.end().succeeded == 1)
    #expect(run.events.words == ["a started 2", "a succeeded"])
  }

  @Test(arguments: [
    (engine: "slurm", handle: "7 /scratch", isRefused: true),
    (engine: "scripted", handle: "job 7", isRefused: false),
    // Of a machine that has started anew since.
    (engine: "local", handle: "4711 1 another-boot", isRefused: false),
  ])
  func `What only another engine can find keeps a run from going on`(
    _ left: (engine: String, handle: String, isRefused: Bool)
  ) throws {
    let workflow = Workflow([Step("a")])
    let place = try interrupted(
      workflow,
      [.started(step: "a", attempt: 1, node: nil, handle: left.handle, engine: left.engine)]
    )
    let size = try Data(contentsOf: URL(filePath: place.journal)).count
    let run = SimulatedRun(workflow, in: place)
    if left.isRefused {
      #expect(throws: RunError.otherEngine(left.engine, step: "a")) { try run.end() }
      #expect(try Data(contentsOf: URL(filePath: place.journal)).count == size)
    } else {
      #expect(try run.end().succeeded == 1)
    }
  }

  /// A journal of a workflow that was begun, with what is said of it.
  private func interrupted(
    _ workflow: Workflow,
    _ records: [JournalRecord],
    folder other: String? = nil
  ) throws -> RunFolder {
    let place = try folder.run()
    let journal = try JournalFile(place.journal)
    let header = JournalHeader(
      run: place.name,
      workflow: "test",
      fingerprint: WorkflowFingerprint.text(of: workflow),
      file: nil,
      folder: other
    )
    for record in [.begun(header)] + records { try journal.append(record, synced: true) }
    return place
  }

  @Test func `Attempts that failed before a kill are counted with those after it`() throws {
    var step = Step("a")
    step.retry = RetryRule(attempts: 3)
    step.retry?.backoff = .exponential
    let place = try interrupted(
      Workflow([step]),
      [
        .started(step: "a", attempt: 1, node: nil, handle: "job 7"),
        .attemptFailed(step: "a", attempt: 1),
      ]
    )
    let run = SimulatedRun(Workflow([step]), in: place, plays: ["a": [.exit(1)]])
    #expect(try run.end().failed == 1)
    #expect(run.events.words == ["a started 2", "a retries 2 2 s", "a started 3", "a failed"])
    // With the failure of the step they are over: the next run of it has as many again.
    let again = SimulatedRun(Workflow([step]), in: place, plays: ["a": [.exit(1)]])
    try again.end()
    #expect(again.engine.begins.count == 3)
  }

  @Test func `The tree of failures counts on from the attempts before a kill, and lost ones`()
    throws
  {
    var step = Step("a")
    step.retry = RetryRule(attempts: 4)
    let place = try interrupted(
      Workflow([step]),
      [
        .started(step: "a", attempt: 1, node: nil, handle: "job 7"),
        .attemptFailed(step: "a", attempt: 1),
      ]
    )
    let run = SimulatedRun(
      Workflow([step]),
      in: place,
      plays: ["a": [.exit(2), .lost(), .exit(3), .exit(4)]]
    )
    let failures = try run.end().failures
    #expect(
      failures.split(separator: "\n") == [
        "a: exited with 4 (after 5 attempts)", "  attempt 2: exited with 2",
        "  attempt 4: exited with 3", "  attempt 5: exited with 4",
      ]
    )
  }

  @Test(arguments: 1...10)
  func `A running attempt gets its claims before other steps`(seed: UInt64) throws {
    func claims(_ id: String, needs: [String] = []) -> Step {
      Step(id, needs: needs) { step in
        if id.hasPrefix("d") { step.exclusive = ["database"] }
        if id.hasPrefix("m") { step.uses = ["memory": ResourceAmount(2)] }
      }
    }
    let workflow = Workflow(
      [
        claims("d1"), claims("m1"), claims("d2"), claims("d3", needs: ["d2"]), claims("other"),
        claims("d4", needs: ["d3"]), claims("m2"),
      ],
      resources: ["memory": ResourceAmount(3)]
    )
    // What `d3` needs ran before, and has to run again: that doesn't wait for `d3`.
    let place = try interrupted(
      workflow,
      [
        .started(step: "d3", attempt: 1, node: nil, handle: "job d3"),
        .started(step: "m2", attempt: 1, node: nil, handle: "job m2"),
      ]
    )
    let exit = StepExit(.exited(0), node: "n2")
    let run = SimulatedRun(
      workflow,
      in: place,
      seed: seed,
      known: ["job d3": exit, "job m2": exit],
      jobs: 10
    )
    #expect(try run.end().succeeded == 7)
    let begins = run.engine.begins
    #expect(begins.filter { $0.hasPrefix("m") || $0.hasSuffix("m2") } == ["take up job m2", "m1"])
    #expect(
      begins.filter { $0.hasPrefix("d") || $0.hasSuffix("d3") }.prefix(2)
        == ["d2", "take up job d3"]
    )
    #expect(run.engine.log.contains("0 ms other"))
  }

  @Test func `A step that can't be taken up doesn't keep others from what it claims`() throws {
    let steps = [Step("a"), Step("b", needs: ["a"]), Step("c")].map { step in
      var step = step
      if step.id != "a" { step.exclusive = ["database"] }
      return step
    }
    let place = try interrupted(
      Workflow(steps),
      [.started(step: "b", attempt: 1, node: nil, handle: "job 7")]
    )
    let run = SimulatedRun(Workflow(steps), in: place, plays: ["a": [.exit(1)]]) {
      $0.keepsGoing = true
    }
    let end = try run.end()
    #expect((end.failed, end.cancelled, end.succeeded) == (1, 1, 1))
  }

  @Test func `A step that declares another output runs again, with what needs it`() throws {
    var a = Step("a")
    let before = Workflow([a, Step("b", needs: ["a"]), Step("c")])
    let place = try folder.run()
    try SimulatedRun(before, in: place).end()
    a.outputs = ["version"]
    let after = Workflow([a, Step("b", needs: ["a"]), Step("c")])
    let run = SimulatedRun(after, in: place, plays: Self.plays) { $0.acceptsChanges = true }
    #expect(try run.end().succeeded == 3)
    #expect(run.engine.begins == ["a", "b"])
    #expect(run.events.ends["a"]?.outputs == ["version": "1.2"])
  }

  @Test func `A copy of a run's folder doesn't take up running attempts`() throws {
    let workflow = Workflow([Step("a")])
    let original = try folder.run()
    let records = [JournalRecord.started(step: "a", attempt: 1, node: nil, handle: "job 7")]
    let copy = SimulatedRun(
      workflow,
      in: try interrupted(workflow, records, folder: original.path)
    )
    try copy.end()
    #expect(copy.engine.begins == ["a"])
    // One that was moved is no copy.
    let moved = SimulatedRun(
      workflow,
      in: try interrupted(workflow, records, folder: original.path + "-gone")
    )
    try moved.end()
    #expect(moved.engine.begins == ["take up job 7", "a"])
  }

  @Test(arguments: [
    ("/p/.workflow/runs/r", "/p/w.yml"), ("/q/x/.workflow/runs/r", "/q/x/w.yml"),
    ("/q/.workflow/../.workflow/runs/r/", "/q/w.yml"), ("/elsewhere/r", "/p/w.yml"),
  ])
  func `The file of a run is where its folder is, also after a copy`(now: String, file: String) {
    let header = JournalHeader(
      run: "r",
      workflow: "w",
      fingerprint: "f",
      file: "/p/w.yml",
      folder: "/p/.workflow/runs/r"
    )
    #expect(header.file(from: RunFolder(now)) == file)
  }

  @Test func `Folders of a run that were deleted are made again`() throws {
    let place = try folder.run()
    try FileManager.default.removeItem(atPath: place.logs)
    try FileManager.default.removeItem(atPath: place.scratch)
    #expect(try run(place).end().succeeded == 4)
    #expect(FileManager.default.fileExists(atPath: place.logs))
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

  @Test func `A step that was skipped because of a failure is evaluated again`() throws {
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
