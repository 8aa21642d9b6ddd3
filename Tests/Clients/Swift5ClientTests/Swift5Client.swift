import AdvancedOperations
import AdvancedOperationsVisualization
import Testing

/// An app in Swift 5 mode, without any upcoming feature: subclasses, closures, existentials without
/// `any`, and captured variables that nobody checks.
@Suite struct Swift5Client {
  struct Unavailable: Error {}

  class Import: AdvancedOperation, @unchecked Sendable {
    var rows = 0
    override func execute() {
      rows = 3
      finish()
    }
  }

  struct IsAllowed: OperationCondition {
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult { .satisfied }
  }

  class Watcher: OperationObserver, @unchecked Sendable {
    var finished: [String] = []
    func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      finished.append(operation.name ?? "")
    }
  }

  @Test func subclassesAndClosures() async throws {
    let queue = AdvancedOperationQueue()
    let watcher = Watcher()
    let importing = Import()
    importing.name = "import"
    importing.addCondition(IsAllowed())
    importing.addClaim(MutuallyExclusive<Import>())
    importing.addObserver(watcher)
    let answer = ResultOperation(name: "answer") { 42 }
    answer.addDependency(importing)
    queue.addOperations([importing, answer])

    let value = try await answer.value
    #expect(value == 42)
    #expect(importing.rows == 3)
    #expect(watcher.finished == ["import"])
  }

  @Test func plainOperations() async throws {
    class Plain: Operation, @unchecked Sendable {
      var didRun = false
      override func main() { didRun = true }
    }
    let plain = Plain()
    let queue = OperationQueue()
    queue.addOperation(plain)
    try await plain.untilFinished()
    #expect(plain.didRun)
  }

  @Test func errorsOfConditions() async throws {
    let refused = AdvancedOperation()
    refused.addCondition(BlockCondition("open") { throw Unavailable() })
    AdvancedOperationQueue().addOperation(refused)
    try await refused.untilFinished()
    let error = refused.errors.first as? OperationConditionError
    #expect(error?.condition == "open")
    #expect(error?.underlying is Unavailable)
  }

  @Test func attemptsPausesAndRounds() async throws {
    let queue = AdvancedOperationQueue()
    let breaker = CircuitBreaker(failures: 2)
    let retrying = RetryOperation(retry: .immediate.attempts(3)) { attempt in
      let call = ResultOperation<Int> {
        if attempt == 1 { throw Unavailable() }
        return attempt
      }
      call.addObserver(breaker)
      call.addCondition(CircuitClosed(breaker))
      return call
    }
    let pause = DelayOperation(.milliseconds(1))
    pause.addDependency(retrying)
    let repeating = RepeatOperation(times: 2) { _ in Import() }
    repeating.mapRoundErrors { _, error in error }
    repeating.addDependency(pause)
    queue.addOperations([retrying, pause, repeating])
    try await repeating.untilFinished()
    #expect(retrying.outcome?.isSuccess == true)
    #expect(repeating.outcome?.isSuccess == true)
    #expect(breaker.state == .closed)
  }

  @Test func scopesClaimsAndEvents() async throws {
    let domain = ClaimDomain()
    let pool = ResourcePool(capacity: 1, domain: domain)
    var last: OperationEvent?
    let value = try await withOperations(
      environment: OperationEnvironment(claimDomain: domain)
    ) { scope -> Int in
      let answer = ResultOperation(name: "answer") { 42 }
      answer.addClaim(ResourceUnits(1, of: pool))
      answer.addClaim(RateLimit("answers", 1, per: .seconds(1)))
      let events = answer.events
      scope.add(answer)
      for await event in events { last = event }
      return try await answer.value
    }
    #expect(value == 42)
    guard case .finished(let outcome)? = last else {
      Issue.record("the last event was \(String(describing: last))")
      return
    }
    #expect(outcome.isSuccess)
  }

  @Test func aBodyReleasesItsSlot() async throws {
    let queue = AdvancedOperationQueue(maxConcurrentOperationCount: 1)
    let outer = ResultOperation { () -> Int in
      var values: [Int] = []
      try await releasingSlot { values.append(try await queue.run(ResultOperation { 2 })) }
      return await releasingSlot { values[0] }
    }
    let value = try await queue.run(outer)
    #expect(value == 2)
  }

  @Test func whyAndWhatIf() throws {
    let idle = Import()
    idle.name = "idle"
    #expect(idle.explain().description.hasPrefix("idle isn't in a queue"))
    #expect(idle.explain().rootCauses.first?.kind == .notEnqueued)
    let plan = try OperationPlan(
      durations: [.seconds(1), .seconds(2)],
      edges: [(from: 0, to: 1)]
    )
    #expect(plan.criticalDuration == .seconds(3))
  }
}
