import Testing
import WorkflowDocument
import WorkflowRunner

@testable import workflow

@Suite struct `The summary of a workflow` {
  private static func end(_ succeeded: Int, _ failed: Int = 0, _ cancelled: Int = 0) -> RunEnd {
    RunEnd(
      succeeded: succeeded,
      failed: failed,
      skipped: 1,
      cancelled: cancelled,
      duration: .milliseconds(3_250),
      failures: failed > 0 ? "step “a”: exited with 1" : ""
    )
  }

  private static func report(_ end: RunEnd, _ failures: [RunReport.Failure] = []) -> RunReport {
    RunReport(workflow: "release", run: "r-1", end: end, failures: failures)
  }

  @Test func `is one line when all went well`() {
    #expect(
      Self.report(Self.end(1_200)).lines.map(\.text)
        == ["✓ release succeeded after 3.3 s: 1,200 succeeded, 1 skipped"]
    )
  }

  @Test func `has the tree, the last words, their place and what to do`() {
    var report = Self.report(
      Self.end(2, 1, 3),
      [
        RunReport.Failure(
          step: "test@a b",
          logFile: "r-1/logs/x.log",
          lastLines: ["one", "\u{1B}[31mtwo\u{7}"]
        )
      ]
    )
    report.place = " --runs-folder other"
    #expect(
      report.lines.map(\.text) == [
        "✗ release failed after 3.3 s: 2 succeeded, 1 failed, 1 skipped, 3 cancelled",
        "",
        "  step “a”: exited with 1",
        "",
        "“test@a b” said last:",
        "  │ one",
        "  │ two\u{FFFD}",
        "  in r-1/logs/x.log",
        "",
        "next:",
        "  workflow resume r-1 --runs-folder other              # run what isn't done",
        "  workflow log r-1 'test@a b' --runs-folder other      # all that it printed",
        "  workflow explain r-1 'test@a b' --runs-folder other  # why it failed",
      ]
    )
  }

  @Test func `shows the first failures of many`() {
    let failures = (0..<9).map {
      RunReport.Failure(step: "s\($0)", logFile: "l", lastLines: $0 == 0 ? [] : ["x"])
    }
    let lines = Self.report(Self.end(0, 9), failures).lines.map(\.text)
    #expect(lines.contains("“s0” printed nothing"))
    #expect(lines.count { $0.hasSuffix("said last:") } == 4)
    #expect(lines.contains("… and 4 more failed"))
  }

  @Test func `a report of a cancelled run says how to continue`() {
    let lines = Self.report(Self.end(1, 0, 2)).lines.map(\.text)
    let counts = "1 succeeded, 1 skipped, 2 cancelled"
    #expect(lines.first == "⊘ release was cancelled after 3.3 s: \(counts)")
    #expect(lines.last == "  workflow resume r-1  # run what isn't done")
  }

  @Test(
    arguments: [
      (0, 0, nil, 0), (1, 0, nil, 1), (0, 1, nil, 1), (0, 1, 2, 130), (1, 1, 15, 143),
      (0, 1, 1, 129), (0, 0, 2, 0),
    ] as [(Int, Int, Int32?, Int32)]
  )
  func `has an exit status`(failed: Int, cancelled: Int, signal: Int32?, status: Int32) {
    let end = Self.end(1, failed, cancelled)
    #expect(ConductedRun.status(of: end, signal.map { Interruption(signal: $0) }) == status)
  }

  @Test(
    arguments: [
      ("a", "a"), ("test@linux,6.2", "test@linux,6.2"), ("a b", "'a b'"), ("it's", "'it'\\''s'"),
      ("", "''"), ("$HOME", "'$HOME'"), ("é", "'é'"),
    ] as [(String, String)]
  )
  func `quotes names as shells need them`(name: String, word: String) {
    #expect(name.shellQuoted == word)
  }
}
