import AdvancedOperationsTesting
import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

@Suite struct RetryAfterTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func step(
    _ id: String,
    _ line: String = "true",
    longest: Duration? = .seconds(600),
    _ change: (inout Step) -> Void = { _ in }
  ) -> Step {
    var step = Step(id, line)
    step.retry = RetryRule(attempts: 2)
    step.retry?.retryAfter = longest
    change(&step)
    return step
  }

  private static let registry = Rate(key: "registry", count: 10, per: .seconds(1))

  @Test(arguments: [
    ("30", "31 s a"), ("30s\n", "31 s a"), (" 2m\r\n", "2 min 1 s a"), ("0", "1 s a"),
    // The longest delay, and the delay of the rule.
    ("1h", "10 min 1 s a"), ("", "2 s a"), ("\n", "2 s a"),
  ])
  func `The next attempt begins after the delay that the failed one asks for`(
    _ text: String,
    _ begin: String
  ) throws {
    let run = SimulatedRun(
      Workflow([Self.step("a")]),
      in: try folder.run(),
      plays: ["a": [.asks(text), .exit(0)]]
    )
    #expect(try run.end().succeeded == 1)
    #expect(run.engine.log.prefix(3) == ["0 ms a", "1 s a.", begin])
  }

  @Test(arguments: [
    ("soon", "‘soon’ isn’t a time (times are like ‘90s’, ‘10m’ or ‘1h30m’)"),
    ("-5", "the time ‘-5’ is negative"), ("5 apples", "‘5 apples’ isn’t a time"),
    ("99999999999999", "the time ‘99999999999999s’ is too long (at most 1000d)"),
  ])
  func `A text that isn't a time is shown, and the delay of the rule applies`(
    _ text: String,
    _ problem: String
  ) throws {
    let run = SimulatedRun(
      Workflow([Self.step("a")]),
      in: try folder.run(),
      plays: ["a": [.asks(text), .exit(0)]]
    )
    #expect(try run.end().succeeded == 1)
    #expect(run.engine.log.prefix(3) == ["0 ms a", "1 s a.", "2 s a"])
    let notice = "a notice the delay in $WORKFLOW_RETRY_AFTER doesn't apply: \(problem)"
    #expect(run.events.words.contains { $0.hasPrefix(notice) }, "\(run.events.words)")
  }

  @Test func `The delay is the delay of one attempt only`() throws {
    let step = Self.step("a") { $0.retry?.attempts = 3 }
    let run = SimulatedRun(
      Workflow([step]),
      in: try folder.run(),
      plays: ["a": [.asks("30"), .exit(1), .exit(0)]]
    )
    #expect(try run.end().succeeded == 1)
    // The second failure asks for nothing: the delay of the rule is 2 s by then.
    #expect(run.engine.log == ["0 ms a", "1 s a.", "31 s a", "32 s a.", "34 s a", "35 s a."])
  }

  @Test func `No step with the same rate begins before the end of the delay`() throws {
    let asking = Self.step("a") { $0.rates = [Self.registry] }
    let others = ["b", "c"].map { name in
      Step(name) {
        $0.needs = ["first"]
        $0.rates = [Self.registry]
      }
    }
    let free = Step("free", needs: ["first"])
    for seed in 1...10 as ClosedRange<UInt64> {
      let run = SimulatedRun(
        Workflow([asking, Step("first"), free] + others),
        in: try folder.run(),
        seed: seed,
        plays: ["a": [.asks("30"), .exit(0)], "first": [.exit(0, after: .seconds(5))]],
        jobs: 10
      )
      #expect(try run.end().succeeded == 5)
      let begins = run.engine.log.filter { !$0.hasSuffix(".") }
      #expect(Set(begins.prefix(3)) == ["0 ms a", "0 ms first", "5 s free"])
      // After the hold, at the rate.
      #expect(begins.dropFirst(3).map { String($0.dropLast(2)) } == ["31 s", "31.1 s", "31.2 s"])
      #expect(run.events.words.contains { $0.hasPrefix("b waits for “registry”, which is held") })
    }
  }

  /// The runner may be a step of another run, which has the key.
  @Test func `Without the key, a command can't ask, not even for the step that runs its workflow`()
    throws
  {
    let file = folder.path + "/outer.retry-after"
    try folder.write("5", to: "outer.retry-after")
    let run = SimulatedRun(
      Workflow([Self.step("a", longest: nil)]),
      in: try folder.run(),
      plays: ["a": [.asks("30"), .exit(0)]]
    ) {
      $0.environment?["WORKFLOW_RETRY_AFTER"] = file
    }
    #expect(try run.end().succeeded == 1)
    #expect(run.engine.log.prefix(3) == ["0 ms a", "1 s a.", "2 s a"])
    #expect(try folder.text("outer.retry-after") == "5")
  }

  @Test func `Only commands with the key get the variable, and rollbacks don't`() async throws {
    let show = "echo $WORKFLOW_STEP ${WORKFLOW_RETRY_AFTER:+has it}"
    let asks = "echo 0 > $WORKFLOW_RETRY_AFTER; \(show); test $WORKFLOW_ATTEMPT = 2"
    let steps = [
      Self.step("with", asks) {
        $0.retry?.delay = .seconds(3_600)
        $0.rollback = .shell(Template(text: "echo undo ${WORKFLOW_RETRY_AFTER:-without}"))
      },
      Self.step("without", show, longest: nil) { $0.needs = ["with"] },
      Step("last", "exit 1", needs: ["without"]),
    ]
    let events = Events()
    let place = try folder.run()
    let run = WorkflowRun(
      Workflow(steps),
      in: place,
      engine: LocalEngine(),
      options: .init(jobs: 1)
    ) { events.add($0) }
    // The delay of the rule would be an hour.
    #expect(try await run.run().failed == 1)
    #expect(events.lines == ["with has it", "with has it", "without", "undo without"])
    let rest = (try? FileManager.default.contentsOfDirectory(atPath: place.scratch)) ?? []
    #expect(!rest.contains { $0.hasSuffix(".retry-after") }, "\(rest)")
  }
}
