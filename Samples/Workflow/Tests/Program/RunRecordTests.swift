import ArgumentParser
import Foundation
import Testing
import WorkflowDocument
import WorkflowRunner

@testable import workflow

@Suite struct `The runs that a folder keeps` {
  private let place: RunPlace
  private let catalog: RunCatalog

  init() throws {
    place = try RunPlace()
    catalog = RunCatalog(place.path("runs"))
  }

  private func make(_ names: String...) throws {
    for name in names {
      try FileManager.default.createDirectory(
        atPath: place.path("runs/\(name)"),
        withIntermediateDirectories: true
      )
    }
  }

  private func name(_ abbreviation: String) throws -> String {
    try catalog.run(abbreviation).name
  }

  @Test func `are found by their names, parts of them, folders, or as the last`() throws {
    try make(
      "2026-11-22-174501-release",
      "2026-11-22-174501-release-2",
      "2026-11-22-174501-release-10",
      "2026-11-21-090000-ci"
    )
    try place.write("", to: "runs/2027-a-file")
    try place.write("", to: "runs/2026-11-21-090000-ci/workflow.yml")
    #expect(try name("last") == "2026-11-22-174501-release-10")
    #expect(try name("2026-11-22-174501-release") == "2026-11-22-174501-release")
    #expect(try name("2026-11-21") == "2026-11-21-090000-ci")
    #expect(try name("ci") == "2026-11-21-090000-ci")
    #expect(try name("release-2") == "2026-11-22-174501-release-2")
    #expect(try name(place.path("runs/2026-11-21-090000-ci/")) == "2026-11-21-090000-ci")
    for wrong in ["2026", "", "nightly", "2026-11-22-174502-release", "x/y", "../.."] {
      #expect(throws: Complaint.self) { try name(wrong) }
    }
  }

  @Test func `are in the order in which they began, whatever the clock said`() throws {
    let runs = place.path("runs")
    func begin(_ workflow: String, at seconds: Double) throws {
      let date = Date(timeIntervalSince1970: seconds)
      _ = try RunFolder.create(of: workflow, in: runs, file: "steps: []", at: date)
    }
    try begin("before", at: 1_800_000_000)
    // The clock is set back by an hour.
    try begin("after", at: 1_799_996_400)
    #expect(try name("last").hasSuffix("-after"))
    try begin("later", at: 1_799_996_401)
    #expect(catalog.names.map { $0.split(separator: "-").last } == ["before", "after", "later"])
    // Those that no list has are where their times put them.
    try make("1999-01-01-000000-old", "2999-01-01-000000-new")
    #expect(
      catalog.names.map { $0.split(separator: "-").last }
        == ["old", "before", "after", "later", "new"]
    )
    try FileManager.default.removeItem(atPath: place.path("runs/\(try name("later"))"))
    #expect(catalog.names.count == 4)
  }

  @Test func `of one second are in the order of their begins`() throws {
    for (name, begin) in [("b", 1.25), ("c", 1.75), ("a", 1.5)] {
      try make("2026-11-22-174501-\(name)")
      let header = JournalHeader(
        run: name,
        workflow: "w",
        fingerprint: "f",
        file: nil,
        begin: begin
      )
      try JournalFile(place.path("runs/2026-11-22-174501-\(name)/journal"))
        .append(.begun(header), synced: false)
    }
    try make("2026-11-22-174500-z")
    #expect(catalog.names.map { $0.suffix(1) } == ["z", "b", "a", "c"])
    #expect(try name("last") == "2026-11-22-174501-c")
  }

  @Test func `are named by their time`() {
    #expect(RunRecord(path: "/x/2026-11-22-174501-a-b").when == "2026-11-22 17:45:01")
    for name in ["", "release", "2026-11-22-17-a", "2026-11-22-abcdef-x"] {
      #expect(RunRecord(path: "/x/\(name)").when == nil)
    }
  }

  @Test func `are looked for in folders above, too`() throws {
    try FileManager.default.createDirectory(
      atPath: place.path("a/b"),
      withIntermediateDirectories: true
    )
    #expect(RunCatalog.nearest(to: place.path("a/b")).path == ".workflow/runs")
    try FileManager.default.createDirectory(
      atPath: place.path(".workflow/runs"),
      withIntermediateDirectories: true
    )
    let found = RunCatalog.nearest(to: place.path("a/b")).path
    #expect(found.hasSuffix("/.workflow/runs") && found.hasPrefix("/"))
    #expect(RunCatalog.nearest(to: place.path("")).path == ".workflow/runs")
  }

  @Test func `have the times of steps, of their own workflow only`() throws {
    let runs = [
      ("2026-11-22-174501-w", "w", 3), ("2026-11-22-174502-w-2", "w-2", 9),
      ("2026-11-22-174503-w-2", "w", 5), ("2026-11-22-174504-other", "other", 7),
    ]
    for (name, workflow, seconds) in runs {
      try make(name)
      let journal = try JournalFile(place.path("runs/\(name)/journal"))
      let header = JournalHeader(run: name, workflow: workflow, fingerprint: "", file: nil)
      try journal.append(.begun(header), synced: false)
      let ends = [
        "a": StepEnd(outcome: .succeeded, attempts: 1, duration: .seconds(seconds)),
        name: StepEnd(outcome: .succeeded, attempts: 1, duration: .seconds(1)),
        "skipped": StepEnd(outcome: .skipped),
        "failed": StepEnd(outcome: .failed, attempts: 1, duration: .seconds(4)),
      ]
      for (step, end) in ends { try journal.append(.ended(step: step, end: end), synced: false) }
    }
    #expect(
      catalog.durations(of: "w") == [
        "a": .seconds(5), "skipped": .zero, "2026-11-22-174501-w": .seconds(1),
        "2026-11-22-174503-w-2": .seconds(1),
      ]
    )
  }

  @Test func `are known from their journals if the events are lost`() throws {
    try make("r")
    let journal = try JournalFile(place.path("runs/r/journal"))
    let succeeded = StepEnd(outcome: .succeeded, attempts: 2, duration: .seconds(3))
    let records: [JournalRecord] = [
      .begun(JournalHeader(run: "r", workflow: "w", fingerprint: "", file: nil)),
      .started(step: "a", attempt: 1, node: nil, handle: "1"),
      .attemptFailed(step: "a", attempt: 1),
      .started(step: "a", attempt: 2, node: nil, handle: "2"),
      .ended(step: "a", end: succeeded), .ended(step: "b", end: succeeded),
      .started(step: "c", attempt: 1, node: nil, handle: "3"),
      .rollbackBegun(step: "b"), .rolledBack(step: "b"),
    ]
    for record in records { try journal.append(record, synced: false) }
    let record = catalog.record("r")
    #expect(record.finished(by: record.journal) == ["a"])
    #expect(record.hasEnded("a") && !record.hasEnded("c"))
    let explanation = record.explanation(nil)
    #expect(
      explanation.text(of: "a") == """
        “a” succeeded after 3.0 s, at attempt 2
          attempt 1: failed
        """
    )
    #expect(explanation.text(of: "b")?.hasSuffix("\n  undone") == true)
    #expect(explanation.text(of: "c") == "“c” was executing (attempt 1) when the program ended")
    // Those of its steps are not the time of the run.
    #expect(record.digest().duration == nil)
  }

  @Test func `took what all of their processes did, to the last news of one`() throws {
    try make("r")
    let journal = try JournalFile(place.path("runs/r/journal"))
    func append(_ records: JournalRecord...) throws {
      for record in records { try journal.append(record, synced: false) }
    }
    func end(_ duration: Duration) -> JournalRecord {
      let end = RunEnd(
        succeeded: 1,
        failed: 0,
        skipped: 0,
        cancelled: 0,
        duration: duration,
        failures: ""
      )
      return .runEnded(end: end)
    }
    let header = JournalHeader(run: "r", workflow: "w", fingerprint: "", file: nil)
    try append(.begun(header), end(.seconds(3)))
    // One that had nothing to do.
    try append(.resumed(fingerprint: ""), end(.milliseconds(500)))
    #expect(catalog.record("r").digest().duration == .milliseconds(3_500))
    // One that was killed.
    try append(.resumed(fingerprint: ""))
    let events: [RunEvent] = [
      .at(0, .runStarted(run: "r", workflow: "w", steps: 2, isResumed: false)),
      .at(3, .rollingBack(step: "a")),
      .at(0, .runStarted(run: "r", workflow: "w", steps: 2, isResumed: true)),
      .at(0, .runStarted(run: "r", workflow: "w", steps: 2, isResumed: true)),
      .at(2, .started(step: "a", attempt: 1, node: nil)),
    ]
    try place.write(events.map { $0.jsonLine + "\n" }.joined(), to: "runs/r/events.jsonl")
    let killed = catalog.record("r").digest()
    #expect(killed.duration == .milliseconds(5_500))
    #expect(killed.state == .interrupted)
    #expect(killed.time == "5.5 s, cut off")
    try append(.resumed(fingerprint: ""), end(.seconds(1)))
    #expect(catalog.record("r").digest().duration == .milliseconds(6_500))
    #expect(catalog.record("r").digest().time == "6.5 s")
  }

  @Test func `have events without the last line that is torn`() throws {
    try make("r")
    let events: [RunEvent] = [
      .at(0, .runStarted(run: "r", workflow: "w", steps: 2, isResumed: false)),
      .at(1, .ended(step: "a", StepEnd(outcome: .succeeded, attempts: 1, duration: .seconds(3)))),
      .at(1, .ended(step: "b", StepEnd(outcome: .skipped))),
      .at(1, .ended(step: "c", StepEnd(outcome: .failed, attempts: 1, duration: .seconds(4)))),
    ]
    let text = events.map { $0.jsonLine + "\n" }.joined() + #"{"time":2,"event":"en"#
    try place.write(text, to: "runs/r/events.jsonl")
    #expect(catalog.record("r").events() == events)
    let record = catalog.record("r")
    #expect(record.finished(by: record.journal) == ["a", "b"])
    #expect(catalog.record("r").hasEnded("c"))
    #expect(!catalog.record("r").hasEnded("d"))
    #expect(catalog.record("no").events() == [])
  }
}

@Suite struct `A step in the folder of a run` {
  private static let workflow = Workflow.steps(["a": [], "b": ["a"], "c": ["b"], "d": []])

  private func text(_ step: String, _ events: RunEvent...) -> String? {
    RecordedExplanation(events, workflow: Self.workflow).text(of: step)
  }

  @Test func `says that a step was undone until it has begun again`() {
    let succeeded = StepEnd(outcome: .succeeded, attempts: 1, duration: .seconds(1))
    let undone = [
      RunEvent.at(0, .started(step: "a", attempt: 1, node: nil)),
      .at(1, .ended(step: "a", succeeded)), .at(2, .rollingBack(step: "a")),
    ]
    let text = { RecordedExplanation($0, workflow: Self.workflow).text(of: "a") }
    #expect(text(undone)?.hasSuffix("\n  was being undone when the program ended") == true)
    let known = undone + [.at(3, .rolledBack(step: "a", error: nil))]
    #expect(text(known)?.hasSuffix("\n  undone") == true)
    let again =
      known + [
        .at(4, .started(step: "a", attempt: 1, node: nil)), .at(5, .ended(step: "a", succeeded)),
      ]
    #expect(text(again) == "“a” succeeded after 1.0 s")
  }

  @Test func `is how it ended, with what it gave`() {
    let end = StepEnd(
      outcome: .succeeded,
      attempts: 2,
      duration: .seconds(2),
      node: "n1",
      outputs: ["y": "2", "x": "1"]
    )
    #expect(
      text(
        "a",
        .at(0, .retrying(step: "a", attempt: 1, after: .seconds(1), because: "exited with 1")),
        .at(2, .ended(step: "a", end))
      ) == """
        “a” succeeded after 2.0 s, at attempt 2 on n1
          attempt 1: exited with 1; again in 1.0 s
          gave x=1
          gave y=2
        """
    )
  }

  @Test func `is what it waited for when there is no end`() {
    #expect(
      text("d", .at(0, .waiting(step: "d", for: "“gpu”")))
        == "“d” waited for “gpu” when the program ended"
    )
    #expect(text("d") == "“d” hadn't begun when the program ended")
    #expect(text("x") == nil)
  }

  @Test func `names the attempts that ended with an earlier process`() {
    #expect(
      text(
        "d",
        .at(0, .started(step: "d", attempt: 1, node: nil)),
        .at(0, .runStarted(run: "r", workflow: "w", steps: 4, isResumed: true))
      ) == """
        “d” hadn't begun when the program ended
          attempt 1: the program ended
        """
    )
  }
}

@Suite struct `Names that were misspelt` {
  @Test(
    arguments: [
      ("biuld", "build"), ("TEST", "test"), ("publsh", "publish"), ("bild", "build"),
      ("publ", "publish"), ("x", nil), ("deploy", nil), ("", nil),
    ] as [(String, String?)]
  )
  func `are guessed if they are near`(name: String, meant: String?) {
    #expect(Nearest.name(to: name, among: ["build", "test", "publish"]) == meant)
  }
}

@Suite struct `Times on the command line` {
  @Test(
    arguments: [
      ("10s", .seconds(10)), ("500ms", .milliseconds(500)), ("1h30m", .seconds(5_400)),
      ("1.5s", .milliseconds(1_500)), ("0s", .zero), ("10", nil), ("", nil), ("s", nil),
      ("-1s", nil), ("1e3s", nil), ("1d", .seconds(86_400)), ("99999999999s", nil), ("..s", nil),
    ] as [(String, Duration?)]
  )
  func `have units`(text: String, time: Duration?) {
    #expect((try? Duration(argument: text)) == time)
  }
}
