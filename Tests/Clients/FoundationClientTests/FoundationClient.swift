import AdvancedOperations
import AdvancedOperationsVisualization
import Foundation
import Testing

// This file imports Foundation, which has an `Operation`, an `OperationQueue` and more of its own.
// A witness that doesn't match would compile, and the default would be called instead of it: that
// each one is called is what these tests show.

/// What was called, in order.
private final class Calls: @unchecked Sendable {
  // Sendable: `names` is only touched with the lock held.
  private let lock = NSLock()
  private var names: [String] = []

  var all: [String] { lock.withLock { names } }
  func add(_ name: String) { lock.withLock { names.append(name) } }
}

private struct Watcher: OperationObserver {
  let calls: Calls
  func operationDidEnqueue(_ operation: AdvancedOperation) { calls.add("enqueue") }
  func operationDidStart(_ operation: AdvancedOperation) { calls.add("start") }
  func operation(
    _ operation: AdvancedOperation,
    didProduce newOperation: AdvancedOperation
  ) { calls.add("produce") }
  func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgress
  ) { calls.add("progress \(progress.completedUnitCount)") }
  func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) { calls.add("retry \(retry.nextAttempt) \(retry.error is CocoaError)") }
  func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    calls.add("cancel \(errors.count)")
  }
  func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    calls.add("will finish")
  }
  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    calls.add("did finish")
  }
}

private struct Asked: OperationCondition {
  let calls: Calls
  var name: String {
    calls.add("name")
    return "asked"
  }
  func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    calls.add("dependency")
    return nil
  }
  func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    calls.add("verdict")
    return nil
  }
  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    calls.add("evaluate")
    return .failed(CocoaError(.fileNoSuchFile))
  }
}

private struct AskedAtOnce: ImmediateCondition {
  let calls: Calls
  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    calls.add("check")
    return .satisfied
  }
}

private struct Held: OperationClaim {
  let calls: Calls
  let inner = MutuallyExclusive("held by a client")
  var name: String {
    calls.add("name")
    return "held"
  }
  var requests: [ClaimRequest] {
    calls.add("requests")
    return inner.requests
  }
}

private final class Delegate: AdvancedOperationQueueDelegate {
  let calls = Calls()
  func operationQueue(_ queue: AdvancedOperationQueue, willAdd operation: AdvancedOperation) {
    calls.add("will add")
  }
  func operationQueue(_ queue: AdvancedOperationQueue, didAdd operation: AdvancedOperation) {
    calls.add("did add")
  }
  func operationQueue(
    _ queue: AdvancedOperationQueue,
    didFinish operation: AdvancedOperation,
    outcome: OperationOutcome
  ) { calls.add("did finish") }
}

private struct Threads: OperationExecutor {
  let calls: Calls
  func enqueue(_ worker: @escaping @Sendable () -> Void) {
    calls.add("enqueue")
    Thread.detachNewThread(worker)
  }
  var operationsPerWorker: Int {
    calls.add("share")
    return 8
  }
}

private final class Body: AdvancedOperation, @unchecked Sendable {
  // Sendable: stored properties don't change.
  let calls = Calls()
  override var cancellationPolicy: CancellationPolicy {
    calls.add("policy")
    return .whenFinishIsCalled
  }
  override func execute() {
    calls.add("execute")
    updateProgress(completed: 1, total: 2)
    try? produce(AdvancedOperation())
    cancel(withError: CocoaError(.userCancelled))
    finish()
  }
  override func finished(withErrors errors: [any Error]) { calls.add("finished") }
  override func cancelled(withErrors errors: [any Error]) { calls.add("cancelled") }
}

@Suite struct `An app that imports Foundation` {
  private let calls = Calls()

  @Test func `every method of an observer is called`() async throws {
    let queue = AdvancedOperationQueue()
    let body = Body()
    body.addObserver(Watcher(calls: calls))
    queue.addOperation(body)
    try await queue.untilAllOperationsAreFinished()
    #expect(
      calls.all == [
        "enqueue", "start", "progress 1", "produce", "cancel 1", "will finish", "did finish",
      ]
    )
    #expect(Set(body.calls.all) == ["policy", "execute", "finished", "cancelled"])
  }

  @Test func `every method of a condition is called`() async throws {
    let operation = AdvancedOperation()
    operation.addCondition(Asked(calls: calls))
    operation.addCondition(AskedAtOnce(calls: calls))
    AdvancedOperationQueue().addOperation(operation)
    try await operation.untilFinished()
    #expect(Set(calls.all) == ["dependency", "verdict", "evaluate", "check", "name"])
    #expect((operation.errors.first as? OperationConditionError)?.condition == "asked")
  }

  @Test func `the queue evaluates the claims of an operation`() async throws {
    let operation = AdvancedOperation()
    operation.addClaim(Held(calls: calls))
    AdvancedOperationQueue().addOperation(operation)
    try await operation.untilFinished()
    #expect(Set(calls.all).isSuperset(of: ["requests"]))
    #expect(operation.outcome?.isSuccess == true)
  }

  @Test func `the delegate of a queue is called`() async throws {
    let queue = AdvancedOperationQueue()
    let delegate = Delegate()
    queue.delegate = delegate
    let operation = AdvancedOperation()
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    #expect(Set(delegate.calls.all) == ["will add", "did add", "did finish"])
  }

  @Test func `the executor of a queue is called`() async throws {
    let environment = OperationEnvironment(executor: Threads(calls: calls))
    let operation = AdvancedOperation()
    AdvancedOperationQueue(environment: environment).addOperation(operation)
    try await operation.untilFinished()
    #expect(Set(calls.all) == ["enqueue", "share"])
  }

  @Test func `operations are retried after errors of Foundation, and repeat`() async throws {
    let calls = calls
    let queue = AdvancedOperationQueue()
    let policy = RetryPolicy.immediate.attempts(3).when { $0 is CocoaError }
    let reading = RetryOperation(name: "read", retry: policy) { attempt in
      ResultOperation {
        calls.add("read \(attempt)")
        if attempt == 1 { throw CocoaError(.fileReadNoSuchFile) }
      }
    }
    let watcher = Watcher(calls: Calls())
    reading.addObserver(watcher)
    let pause = DelayOperation(.seconds(0.001))
    pause.addDependency(reading)
    let polling = RepeatOperation(times: 2) { round in
      ResultOperation {
        calls.add("round \(round)")
        throw CocoaError(.fileNoSuchFile)
      }
    }
    polling.mapRoundErrors { _, error in error is CocoaError ? nil : error }
    polling.addDependency(pause)
    var fractions: [Double] = []
    let events = polling.events
    queue.addOperations([reading, pause, polling])
    for await event in events {
      if case .progress(let update) = event { fractions.append(update.fractionCompleted) }
    }
    #expect(fractions == [0.5, 1])
    #expect(calls.all == ["read 1", "read 2", "round 1", "round 2"])
    #expect(watcher.calls.all.contains("retry 2 true"))
  }

  @Test func `a circuit breaker refuses operations, and reports the remaining time`() async throws {
    let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(3600))
    let queue = AdvancedOperationQueue()
    let failing = ResultOperation<Data> { throw CocoaError(.fileReadCorruptFile) }
    let spared = ResultOperation(name: "spared") { Data() }
    for operation in [failing, spared] {
      operation.addObserver(breaker)
      operation.addCondition(CircuitClosed(breaker))
    }
    spared.addDependency(failing)
    queue.addOperations([failing, spared])
    try await spared.untilFinished()
    let error = try #require(spared.errors.first as? OperationConditionError)
    #expect((error.underlying as? CircuitClosed.Open)?.remaining != nil)
    #expect("\(spared.explain())".hasPrefix("spared has finished without having run: failed\n"))
  }

  @Test func `a scope runs with the available units of a resource`() async throws {
    let domain = ClaimDomain()
    let pool = ResourcePool("disk", capacity: 1, domain: domain)
    let environment = OperationEnvironment(claimDomain: domain)
    let sizes = try await withOperations(environment: environment) { scope in
      let reads = (1...3).map { size in
        let read = ResultOperation { Data(count: size) }
        read.addClaim(ResourceUnits(1, of: pool))
        read.addClaim(RateLimit("disk", 3, per: .seconds(60)))
        return scope.add(read)
      }
      var sizes: [Int] = []
      for read in reads { sizes.append(try await read.value.count) }
      return sizes
    }
    #expect(sizes == [1, 2, 3])
    let plan = try OperationPlan(durations: sizes.map { .seconds($0) })
    #expect(plan.schedule(workers: 1).duration == .seconds(6))
  }
}
