import Testing
import WorkflowDocument
import WorkflowRunner

@testable import workflow

@Suite struct `The lines of a run` {
  private func lines(_ detail: RunLines.Detail, _ kinds: RunEvent.Kind...) -> [String] {
    var lines = RunLines(detail)
    return kinds.flatMap { lines.lines(of: .at(0, $0)).map(\.text) }
  }

  @Test func `say how each step ended, with its time`() {
    #expect(
      lines(
        .ends,
        .ended(step: "a", StepEnd(outcome: .succeeded, attempts: 1, duration: .milliseconds(250))),
        .ended(
          step: "b",
          StepEnd(
            outcome: .failed,
            reason: "exited with 1",
            attempts: 3,
            duration: .seconds(75),
            node: "n1"
          )
        ),
        .ended(step: "c", StepEnd(outcome: .skipped, reason: "the file is there")),
        .ended(step: "d", StepEnd(outcome: .cancelled, reason: "Ctrl-C", attempts: 1))
      ) == [
        "✓ a  0.25 s", "✗ b  exited with 1  1 min 15 s  3 attempts  on n1",
        "↷ c  skipped: the file is there", "⊘ d  Ctrl-C  0.00 s",
      ]
    )
  }

  @Test func `say nothing of steps that never began`() {
    #expect(lines(.everything, .ended(step: "d", StepEnd(outcome: .cancelled))) == [])
  }

  @Test func `count what was done before, in one line ahead of the first news`() {
    let done = StepEnd(outcome: .succeeded, isFromJournal: true)
    #expect(
      lines(
        .ends,
        .runStarted(run: "r-1", workflow: "release", steps: 3, isResumed: true),
        .ended(step: "a", done),
        .ended(step: "b", done),
        .started(step: "c", attempt: 1, node: nil),
        .ended(step: "c", StepEnd(outcome: .succeeded, attempts: 1, duration: .seconds(60)))
      ) == ["release: 3 steps, r-1 continues", "↷ 2 steps were done before", "✓ c  1 min"]
    )
  }

  @Test func `have all of it where there is no terminal`() {
    #expect(
      lines(
        .everything,
        .runStarted(run: "r-1", workflow: "release", steps: 1_000, isResumed: false),
        .waiting(step: "a", for: "cpu"),
        .started(step: "a", attempt: 2, node: "n1"),
        .printed(step: "a", line: "\u{1B}[1mbold\u{1B}[0m \u{7}text"),
        .retrying(step: "a", attempt: 2, after: .milliseconds(1_500), because: "exited with 1"),
        .rollingBack(step: "b"),
        .rolledBack(step: "b", error: nil),
        .rolledBack(step: "c", error: "exited with 2"),
        .cancelling(because: "Ctrl-C")
      ) == [
        "release: 1,000 steps, run r-1", "▸ a  attempt 2  on n1", "a │ bold \u{FFFD}text",
        "↻ a  attempt 2: exited with 1; again in 1.5 s", "↶ undoes b", "↶ b undone",
        "✗ c could not be undone: exited with 2",
      ]
    )
  }

  @Test func `say how long a step waited for its machine, and what its log may not have`() {
    let end = StepEnd(outcome: .succeeded, attempts: 1, duration: .seconds(2), node: "n1")
    var queued = end
    queued.queued = .seconds(60)
    var atOnce = end
    atOnce.queued = .milliseconds(100)
    #expect(
      lines(
        .failures,
        .notice(step: "a", "its log is cut")
      ) == ["⚠ a  its log is cut"]
    )
    #expect(
      lines(
        .ends,
        .ended(step: "a", queued),
        .ended(step: "b", atOnce)
      ) == ["✓ a  2.0 s  after 1 min in the queue  on n1", "✓ b  2.0 s  on n1"]
    )
  }

  @Test func `are those of failures for people who want little`() {
    #expect(
      lines(
        .failures,
        .runStarted(run: "r", workflow: "w", steps: 1, isResumed: false),
        .started(step: "a", attempt: 1, node: nil),
        .printed(step: "a", line: "x"),
        .retrying(step: "a", attempt: 1, after: .zero, because: "x"),
        .ended(step: "a", StepEnd(outcome: .succeeded)),
        .ended(step: "b", StepEnd(outcome: .skipped)),
        .ended(step: "c", StepEnd(outcome: .failed, reason: "no", attempts: 1)),
        .rolledBack(step: "a", error: nil),
        .cancelling(because: "x")
      ) == ["✗ c  no  0.00 s"]
    )
  }

  @Test(
    arguments: [
      (0, "0.00 s"), (0.004, "0.00 s"), (0.25, "0.25 s"), (0.999, "1.00 s"), (1, "1.0 s"),
      (12.34, "12.3 s"), (59.94, "59.9 s"), (59.96, "1 min"), (61, "1 min 01 s"),
      (3_599.6, "1 h"), (7_325, "2 h 02 min"), (-1, "0.00 s"),
    ] as [(Double, String)]
  )
  func `have times that people read`(seconds: Double, text: String) {
    #expect(Duration.seconds(seconds).readable == text)
  }

  @Test func `have times that don't trap`() {
    #expect(Duration(secondsComponent: .max, attosecondsComponent: 0).readable.hasSuffix(" min"))
    #expect(Duration(secondsComponent: .max, attosecondsComponent: 0).ticking.hasSuffix(" min"))
  }
}
