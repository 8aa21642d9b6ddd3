import TerminalSupport
import Testing
import WorkflowDocument
import WorkflowRunner

@testable import workflow

@Suite struct `The display of a run` {
  private static let workflow = Workflow.steps([
    "build": [], "lint": [], "test": ["build"], "package": ["test", "lint", "build"],
    "publish": ["package"],
  ])

  private let begun = RunView(workflow)

  @Test func `shows at first what waits, and for what`() {
    #expect(
      begun.frame(0) == [
        "  5 wait: 3 for other steps, 2 for their turn",
        "    test for build",
        "    package for test, lint and 1 more",
        "    publish for package",
        "┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄   0 %  0 of 5  0 s",
      ]
    )
  }

  @Test func `shows what executes with its time and the last line that it printed`() {
    let view = begun.after(
      .at(0, .started(step: "build", attempt: 1, node: nil)),
      .at(1, .printed(step: "build", line: "\u{1B}[32mcompiling\u{1B}[0m a.swift")),
      .at(1, .printed(step: "build", line: "  ")),
      .at(62, .started(step: "lint", attempt: 2, node: "n1"))
    )
    #expect(
      view.frame(65).prefix(3) == [
        "▸ build 1 min 05 s  compiling a.swift",
        "▸ lint    3 s  attempt 2  on n1",
        "  3 wait: 3 for other steps",
      ]
    )
  }

  @Test func `shows what steps wait for besides others`() {
    let view = begun.after(
      .at(0, .waiting(step: "build", for: "“cpu”, which test holds, for 3 ms")),
      .at(0, .waiting(step: "lint", for: "“x”, which lets the next start in 9.8 s")),
      .at(0, .waiting(step: "test", for: "not said of one that waits for steps"))
    )
    #expect(
      view.frame(0).prefix(3)
        == [
          "  5 wait: 3 for other steps, 1 for “cpu”, 1 for “x”",
          "    build for “cpu”, which test holds",
          "    lint for “x”",
        ][...]
    )
  }

  @Test func `a frame shows a step between attempts as waiting`() {
    let view = begun.after(
      .at(0, .started(step: "build", attempt: 1, node: nil)),
      .at(1, .retrying(step: "build", attempt: 1, after: .seconds(9), because: "exited with 1"))
    )
    #expect(view.executing.isEmpty)
    #expect(view.frame(2)[1] == "    build for attempt 2")
    // When its time has come, others may have what it needs.
    let later = view.after(
      .at(10, .waiting(step: "build", for: "“database”, which test holds"))
    )
    #expect(later.frame(11)[1] == "    build for “database”, which test holds")
  }

  @Test func `moves its bar with the steps, and turns them to their outcomes`() {
    let view = begun.after(
      .at(0, .started(step: "build", attempt: 1, node: nil)),
      .at(1, .ended(step: "build", StepEnd(outcome: .failed, attempts: 1))),
      .at(1, .ended(step: "test", StepEnd(outcome: .cancelled))),
      .at(1, .ended(step: "test", StepEnd(outcome: .cancelled)))
    )
    #expect(view.ended == 2)
    #expect(view.waiting == 3)
    #expect(
      view.frame(2).last
        == "━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  40 %  2 of 5  2 s  1 failed"
    )
  }

  @Test func `estimates what is left from the times of an earlier run`() {
    let known = ["build": 10.0, "lint": 2, "test": 5, "package": 2, "publish": 1]
      .mapValues { Duration.seconds($0) }
    let estimate = RunEstimate(Self.workflow, jobs: 2, known: known)
    #expect(estimate.total == .seconds(18))
    let view = RunView(Self.workflow, estimate: estimate).after(
      .at(0, .started(step: "build", attempt: 1, node: nil)),
      .at(0, .started(step: "lint", attempt: 1, node: nil)),
      .at(2, .ended(step: "lint", StepEnd(outcome: .succeeded, attempts: 1)))
    )
    // 2 of lint and 8 of build, of 20 seconds of work: half of it.
    #expect(
      view.frame(8).last
        == "━━━━━━━━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  50 %  1 of 5  8 s  about 9 s left"
    )
    // A step that takes longer than before is done as far as it was expected to be.
    #expect(view.frame(100).last?.contains("60 %") == true)
  }

  @Test func `doesn't estimate what it knows too little of`() {
    let estimate = RunEstimate(Self.workflow, jobs: 2, known: ["build": .seconds(1)])
    #expect(estimate.total == nil)
    #expect(RunEstimate(Workflow(name: "empty"), jobs: 2, known: [:]).total == nil)
  }

  @Test(arguments: 1...60)
  func `is as wide as the terminal less a column, whatever the names are`(width: Int) {
    var workflow = Workflow.steps(["東京タワー-\u{1B}[31m-建設": [], "b": ["東京タワー-\u{1B}[31m-建設"]])
    workflow.steps.append(Step(id: String(repeating: "x", count: 99), command: .arguments([])))
    let view = RunView(workflow).after(
      .at(0, .started(step: "東京タワー-\u{1B}[31m-建設", attempt: 1, node: "ノード")),
      .at(0, .printed(step: "東京タワー-\u{1B}[31m-建設", line: "\u{202E}進行中\u{7} 50 %\r60 %"))
    )
    for line in RunFrame.lines(view, now: .seconds(5), width: width, height: 24) {
      #expect(line.columnCount <= max(width - 1, 1))
      #expect(!line.text.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" })
    }
  }

  @Test(arguments: 1...30)
  func `has fewer lines than the terminal has rows, the progress always`(height: Int) {
    let names = (0..<50).map { "step\($0)" }
    var view = RunView(
      Workflow(name: "wide", steps: names.map { Step(id: $0, command: .arguments([])) })
    )
    for name in names.prefix(20) { view.apply(.at(0, .started(step: name, attempt: 1, node: nil))) }
    let lines = view.frame(1, height: height)
    #expect(lines.count <= max(height - 1, 1))
    #expect(lines.last?.contains("0 of 50") == true)
    if height > 22 {
      #expect(lines.count { $0.hasPrefix("▸") } == 20)
    } else if height > 4 {
      let shown = lines.count { $0.hasPrefix("▸") }
      #expect(lines.contains("  … and \(20 - shown) more run"))
    }
  }

  @Test func `of ten thousand steps that wait is counted, not listed`() {
    let view = RunView(.chain(10_000))
    #expect(
      view.frame(0) == [
        "  10,000 wait: 9,999 for other steps, 1 for its turn",
        "    s1 for s0", "    s2 for s1", "    s3 for s2",
        "┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄   0 %  0 of 10,000  0 s",
      ]
    )
    var ended = view
    for step in 0..<10_000 {
      ended.apply(.at(0, .started(step: "s\(step)", attempt: 1, node: nil)))
      ended.apply(.at(0, .ended(step: "s\(step)", StepEnd(outcome: .succeeded, attempts: 1))))
    }
    #expect(ended.frame(1) == ["━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 100 %  10,000 of 10,000  1 s"])
  }

  @Test func `doesn't mind events of steps that it doesn't know`() {
    let view = begun.after(
      .at(0, .started(step: "x", attempt: 1, node: nil)),
      .at(0, .printed(step: "x", line: "y")),
      .at(0, .ended(step: "x", StepEnd(outcome: .failed))),
      .at(0, .waiting(step: "x", for: "y"))
    )
    #expect(view.frame(0) == begun.frame(0))
  }
}
