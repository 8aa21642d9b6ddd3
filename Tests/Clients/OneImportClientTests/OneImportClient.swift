import AdvancedOperations
import Testing

/// An app under member import visibility: members of the core are found through the one import.
@Suite struct `An app with one import` {
  @Test func `an app uses members of all layers`() async throws {
    let queue = AdvancedOperationQueue()
    queue.name = "queue"
    queue.maxConcurrentOperationCount = 2
    queue.qualityOfService = .utility
    let first = BlockOperation {}
    first.queuePriority = .high
    let second = ResultOperation { "done" }
    second.addDependency(first)
    second.onFinish { operation, _ in _ = operation.isFinished }
    queue.addOperations([first, second])
    #expect(try await second.value == "done")
    try await queue.untilAllOperationsAreFinished()
    #expect(queue.operationCount == 0)
    #expect(queue.progress.fractionCompleted == 1)
    #expect(first.dependencies.isEmpty && second.dependencies == [first])
    #expect(OperationGraph(of: [first, second]).edges.count == 1)
  }

  @Test func `an app observes properties and reads errors of the core`() async throws {
    let (a, b) = (Operation(), Operation())
    a.addDependency(b)
    b.addDependency(a)
    let token = a.observe(\.isFinished) { operation, _ in _ = operation.name }
    OperationQueue().addOperations([a, b])
    try await a.untilFinished()
    let error = try #require(a.cancellationReason as? OperationCycleError)
    #expect(error.path.count == 3)
    token.invalidate()
  }

  @Test func `an app composes attempts, rounds and pauses`() async throws {
    let queue = AdvancedOperationQueue()
    let breaker = CircuitBreaker(failures: 5)
    let retrying = RetryOperation(retry: .immediate.attempts(2)) { attempt in
      let work = AdvancedOperation()
      work.queuePriority = .high
      work.addObserver(breaker)
      work.addCondition(CircuitClosed(breaker))
      return work
    }
    let pause = DelayOperation(.zero)
    pause.addDependency(retrying)
    let repeating = RepeatOperation(name: "repeat", times: 2) { _ in AdvancedOperation() }
    repeating.addDependency(pause)
    #expect(repeating.explain().path.last?.kind == .notEnqueued)
    #expect(!repeating.waitCauses.isEmpty)
    let events = repeating.events
    queue.addOperations([retrying, pause, repeating])
    var count = 0
    for await event in events { if case .progress = event { count += 1 } }
    #expect(count == 2)
    #expect(repeating.isFinished && repeating.dependencies == [pause])
  }

  @Test func `a scope runs plain operations with claims`() async throws {
    let environment = OperationEnvironment(claimDomain: ClaimDomain())
    let pool = ResourcePool(capacity: 2, domain: environment.claimDomain)
    let plain = try await withOperations(environment: environment) { scope in
      let claiming = AdvancedOperation()
      claiming.addClaim(ResourceUnits(2, of: pool))
      claiming.addClaim(RateLimit("calls", 1, per: .seconds(1)))
      let plain = BlockOperation {}
      plain.addDependency(scope.add(claiming))
      return scope.add(plain)
    }
    #expect(plain.isFinished && !plain.isCancelled)
  }
}
