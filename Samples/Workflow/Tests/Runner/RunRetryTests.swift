import AdvancedOperations
import AdvancedOperationsTesting
import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

@Suite struct RunRetryTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func run(
    _ rule: RetryRule,
    _ plays: [ScriptedEngine.Play],
    timeout: Duration? = nil
  ) throws -> SimulatedRun {
    var step = Step("a")
    step.retry = rule
    step.timeout = timeout
    return SimulatedRun(Workflow([step]), in: try folder.run(), plays: ["a": plays])
  }

  private func rule(
    _ attempts: Int?,
    _ backoff: RetryRule.Backoff,
    _ change: (inout RetryRule) -> Void = { _ in }
  ) -> RetryRule {
    var rule = RetryRule(attempts: attempts)
    rule.backoff = backoff
    change(&rule)
    return rule
  }

  @Test(arguments: [
    (RetryRule.Backoff.constant, ["0 ms a", "1 s a", "2 s a", "3 s a", "4 s a"]),
    (.linear, ["0 ms a", "1 s a", "3 s a", "6 s a", "9 s a"]),
    (.exponential, ["0 ms a", "1 s a", "3 s a", "6 s a", "9 s a"]),
  ])
  func `The time between attempts grows as the rule says, up to its limit`(
    _ backoff: RetryRule.Backoff,
    _ log: [String]
  ) throws {
    let rule = rule(5, backoff) { $0.maximumDelay = .seconds(3) }
    let run = try run(rule, [.exit(1, after: .zero)])
    #expect(try run.end().failed == 1)
    #expect(run.engine.log.filter { !$0.hasSuffix(".") } == log)
    #expect(run.events.ends["a"]?.attempts == 5)
  }

  @Test func `A step succeeds with its first attempt that does`() throws {
    let run = try run(rule(3, .constant), [.exit(1), .exit(0)])
    #expect(try run.end().succeeded == 1)
    #expect(run.events.words == ["a started 1", "a retries 1 1 s", "a started 2", "a succeeded"])
    #expect(run.events.ends["a"]?.duration == .seconds(3))
  }

  @Test func `Each attempt looks whether what is required is there`() throws {
    var wait = Step("a")
    wait.retry = rule(10, .constant)
    wait.require = [.exists([Template(text: "\(folder.path)/later")])]
    let path = folder.path + "/later"
    let run = SimulatedRun(Workflow([wait]), in: try folder.run())
    let clock = run.simulation.environment.clock
    _ = clock.schedule(at: clock.now + .milliseconds(2_500)) {
      _ = FileManager.default.createFile(atPath: path, contents: nil)
    }
    #expect(try run.end().succeeded == 1)
    #expect(
      run.events.words == [
        "a retries 1 1 s", "a retries 2 1 s", "a retries 3 1 s", "a started 4", "a succeeded",
      ]
    )
  }

  @Test func `The last attempt says what was required`() throws {
    var wait = Step("a")
    wait.retry = rule(2, .constant)
    wait.require = [.exists([Template(text: "/no/such/file")])]
    let run = SimulatedRun(Workflow([wait]), in: try folder.run())
    #expect(try run.end().failed == 1)
    #expect(run.engine.begins.isEmpty)
    let reason = "‘exists’: there is no file /no/such/file (after 2 attempts)"
    #expect(run.events.ends["a"]?.reason == reason)
  }

  @Test func `A step without remaining time isn't retried`() throws {
    let run = try run(
      rule(nil, .constant) { $0.total = .seconds(10) },
      [.exit(1, after: .seconds(3))]
    )
    #expect(try run.end().failed == 1)
    // At 0, 4 and 8 s; the third is ended when the time is over.
    #expect(run.engine.begins.count == 3)
    #expect(run.engine.log.last == "10 s a!")
    #expect(run.events.ends["a"]?.reason == "took longer than 10 s (after 3 attempts)")
  }

  @Test func `With jitter a part of the time is waited`() throws {
    let run = try run(
      rule(2, .constant) {
        $0.delay = .seconds(100)
        $0.hasJitter = true
      },
      [.exit(1, after: .zero)]
    )
    let duration = try run.end().duration
    #expect(duration > .zero && duration < .seconds(100))
  }

  @Test func `An attempt that takes too long is ended, and followed by another one`() throws {
    let run = try run(
      rule(2, .constant),
      [.endless(ending: .seconds(2)), .exit(0)],
      timeout: .seconds(90)
    )
    #expect(try run.end().succeeded == 1)
    #expect(run.engine.log == ["0 ms a", "1 min 32 s a!", "1 min 33 s a", "1 min 34 s a."])
    let reasons = run.events.all.compactMap { event -> String? in
      if case .retrying(_, _, _, let reason) = event.kind { reason } else { nil }
    }
    #expect(reasons == ["took longer than 1 min 30 s"])
  }

  @Test func `A step that waits for its next attempt keeps neither slot nor claims from others`()
    throws
  {
    var retrying = Step("a") { $0.exclusive = ["database"] }
    retrying.retry = rule(2, .constant) { $0.delay = .seconds(10) }
    let other = Step("b") { $0.exclusive = ["database"] }
    // Which of the two begins is up to the seed.
    let runs = try (1...20 as ClosedRange<UInt64>).map { seed in
      let run = SimulatedRun(
        Workflow([retrying, other]),
        in: try folder.run(),
        seed: seed,
        plays: ["a": [.exit(1), .exit(0)], "b": [.exit(0, after: .seconds(60))]],
        jobs: 1
      )
      #expect(try run.end().succeeded == 2)
      return run
    }
    let run = try #require(runs.first { $0.engine.log.first == "0 ms a" })
    #expect(
      run.engine.log
        == ["0 ms a", "1 s a.", "1 s b", "1 min 1 s b.", "1 min 1 s a", "1 min 2 s a."]
    )
    // From the end of its pause on it waits for what the other one has.
    #expect(run.events.words.contains { $0.hasPrefix("a waits for") && $0.contains("b") })
  }

  @Test
  func `Steps that wait for their next attempts keep no others from saying what they wait for`()
    throws
  {
    let tried = (0..<20).map { number in
      var step = Step("tried\(number)")
      step.retry = rule(2, .constant) { $0.delay = .seconds(3_600) }
      return step
    }
    let exclusive = ["one", "two"].map { name in
      Step(name) {
        $0.needs = ["first"]
        $0.exclusive = ["database"]
      }
    }
    var plays = Dictionary(
      uniqueKeysWithValues: tried.map { ($0.id, [ScriptedEngine.Play.exit(1)]) }
    )
    plays["first"] = [.exit(0, after: .seconds(5))]
    for step in exclusive { plays[step.id] = [.exit(0, after: .seconds(60))] }
    let run = SimulatedRun(
      Workflow(tried + [Step("first")] + exclusive),
      in: try folder.run(),
      plays: plays,
      jobs: 100
    ) {
      $0.keepsGoing = true
    }
    #expect(try run.end().failed == 20)
    let waits = run.events.words.filter { $0.contains("waits for") }
    #expect(waits.count == 1 && waits[0].contains("one") && waits[0].contains("two"))
  }

  @Test func `A time limit needs no retry`() throws {
    var step = Step("a")
    step.timeout = .seconds(5)
    let run = SimulatedRun(Workflow([step]), in: try folder.run(), plays: ["a": [.endless()]])
    #expect(try run.end().failures == "a: took longer than 5 s")
  }

  @Test func `A step whose machine was lost runs again, without a retry, three times`() throws {
    let run = SimulatedRun(
      Workflow([Step("a")]),
      in: try folder.run(),
      plays: ["a": [.lost(), .lost(), .exit(0)]]
    )
    #expect(try run.end().succeeded == 1)
    #expect(run.events.ends["a"]?.attempts == 3)
    let other = SimulatedRun(
      Workflow([Step("a")]),
      in: try folder.run(),
      plays: ["a": [.lost()]]
    )
    #expect(try other.end().failures.hasPrefix("a: the machine n1 went away"))
    #expect(other.engine.begins.count == 4)
  }
}
