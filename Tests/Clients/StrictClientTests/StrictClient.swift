import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import Synchronization
import Testing

/// An app in Swift 6 mode with every upcoming feature; it sees what is public and nothing else.
@Suite struct `An app in strict Swift 6` {
  private struct Unavailable: Error {}

  /// What a subclass of ours looks like.
  private final class Download: AdvancedOperation, @unchecked Sendable {
    // Sendable: the one property has a lock.
    let received = Mutex<[Int]>([])
    override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }
    override func execute() {
      received.withLock { $0.append(1) }
      finish()
    }
    override func finished(withErrors errors: [any Error]) { received.withLock { $0.append(2) } }
    override func cancelled(withErrors errors: [any Error]) { received.withLock { $0.append(3) } }
  }

  private struct IsWeekday: ImmediateCondition {
    func check(_ operation: AdvancedOperation) -> OperationConditionResult { .satisfied }
  }

  private let simulation = SimulatedEnvironment(seed: 1)
  private var queue: AdvancedOperationQueue {
    AdvancedOperationQueue(environment: simulation.environment)
  }

  @Test func `an app composes results, conditions, claims and observers`() throws {
    let queue = queue
    let clock = simulation.environment.clock
    let recording = RecordingObserver()
    let progress = ProgressObserver()
    let attempts = Atomic(0)

    let download = ResultOperation(
      name: "download",
      retry: .exponential(.seconds(1), cap: .seconds(60)).jittered().attempts(3)
    ) {
      AdvancedOperation.current?.updateProgress(completed: 1, total: 2)
      if attempts.wrappingAdd(1, ordering: .relaxed).newValue < 3 { throw Unavailable() }
      return "a,b"
    }
    download.addCondition(IsWeekday() && !BlockCondition("maintenance") { false })
    download.addCondition(SilentCondition(AnyOf([IsWeekday(), NegatedCondition(IsWeekday())])))
    download.addClaim(MutuallyExclusive("network", limit: 2, whenBusy: .wait))
    download.addClaim(RateLimit("network", 10, per: .seconds(60)))
    let pool = ResourcePool(
      "connections",
      capacity: 4,
      domain: simulation.environment.claimDomain
    )
    download.addClaim(ResourceUnits(1, of: pool))
    let breaker = CircuitBreaker(failures: 5)
    download.addCondition(CircuitClosed(breaker))
    download.addObserver(breaker)
    download.addObserver(TimeoutObserver(.seconds(600), of: .all))
    download.addObserver(recording)
    download.addObserver(progress)
    let parse = download.then(name: "parse") { text in text.split(separator: ",").map(String.init) }
    let count = ResultOperation(name: "count", after: download, parse) { text, parts in
      text.count + parts.count
    }
    count.addCondition(NoFailedDependencies())
    count.addCondition(NoCancelledDependencies())
    count.addCondition(
      DependencyRule("all are over") { outcomes in
        outcomes.allSatisfy { $0 != nil } ? .satisfied : .undecided
      }
    )
    queue.addOperations([download, parse, count])
    simulation.run()

    #expect(try count.result?.get() == 5)
    #expect(recording.kinds.first == .enqueued && recording.kinds.last == .finished)
    #expect(progress.progress.completedUnitCount == 1)
    #expect(clock.now > .zero)
  }

  @Test func `an app groups operations, rolls back and explains failures`() throws {
    let queue = queue
    let undone = Atomic(false)
    let failing = ResultOperation(name: "failing") { throw Unavailable() }
    let group = GroupOperation(name: "group", errorPolicy: .failFast) {
      failing
      if undone.load(ordering: .relaxed) { AdvancedOperation() }
      for _ in 0..<3 { failing.then {} }
    }
    group.mapChildErrors { _, error in error }
    group.onRollback { undone.store(true, ordering: .relaxed) }
    queue.addOperation(group)
    simulation.run()

    let failure = try #require(group.outcome?.failure)
    #expect(failure.elements.contains { $0.error is Unavailable })
    let isUndone = undone.load(ordering: .relaxed)
    #expect(isUndone)
    #expect(group.children.count == 4)
  }

  @Test func `an app subclasses, cancels and explains operations`() throws {
    let queue = queue
    queue.isSuspended = true
    let download = Download()
    download.conditionPolicy = .stopAtFirstFailure
    queue.addOperation(download)
    #expect(download.explain().rootCauses.map(\.kind) == [.suspended])
    #expect("\(queue.explain())".contains("has to be resumed"))
    download.cancel(withError: Unavailable())
    #expect(download.isCancelled)
    #expect(queue.graph.nodes.count == 1)
    queue.isSuspended = false
    simulation.run()
    guard case .cancelled(let failure) = download.outcome else {
      Issue.record("\(download) was not cancelled")
      return
    }
    #expect(failure.elements.map(\.origin) == [.cancel])
    #expect(failure.elements.map(Self.place) == ["the operation was cancelled"])
    #expect(download.received.withLock { $0 } == [2])
  }

  /// Without `@unknown default` this doesn't compile: a later version may have other steps and
  /// causes.
  private static func place(_ element: OperationFailure.Element) -> String {
    let operation = element.origin.path.reduce("the operation") { place, step in
      switch step {
      case .child(let label), .dependency(let label), .operation(let label): "“\(label)”"
      case .attempt(let number): "attempt \(number) of \(place)"
      case .condition(let name): "“\(name)” of \(place)"
      @unknown default: place
      }
    }
    switch element.origin.cause {
    case .timeout: return "\(operation) took too long"
    case .cancel: return "\(operation) was cancelled"
    case .skipped(let reason): return "\(operation) was skipped: \(reason)"
    case .body, .condition, .dependency: return "\(operation) failed"
    @unknown default: return "\(operation) ended"
    }
  }

  @Test func `an app records a timeline and predicts a faster run`() throws {
    let queue = queue
    let clock = simulation.environment.clock
    let recorder = TimelineRecorder()
    queue.addObserver(recorder)
    for number in 1...3 {
      queue.addOperation(
        ResultOperation(name: "\(number)") {
          try await clock.sleep(until: clock.now + .seconds(number))
        }
      )
    }
    simulation.run()
    #expect(recorder.timeline.plan.schedule(workers: 1).duration == .seconds(6))
    #expect(recorder.timeline.svg().hasPrefix("<svg"))
  }

  @Test func `plain operations, closures and async closures run on threads`() async throws {
    let queue = OperationQueue()
    let count = Atomic(0)
    let first = BlockOperation { count.add(1, ordering: .relaxed) }
    queue.addOperation(first)
    queue.addOperation { count.add(1, ordering: .relaxed) }
    queue.addOperation { () async in count.add(1, ordering: .relaxed) }
    queue.addBarrierBlock { count.add(1, ordering: .relaxed) }
    try await queue.untilAllOperationsAreFinished()
    let total = count.load(ordering: .relaxed)
    #expect(total == 4)
  }

  @Test func `retries, pauses and repetitions take virtual time`() {
    let queue = queue
    let polls = Atomic(0)
    let policy = RetryPolicy.constant(.seconds(30)).attempts(3).attemptTimeout(.seconds(5))
    let upload = RetryOperation(name: "upload", retry: policy) { attempt in
      ResultOperation { if attempt < 3 { throw Unavailable() } }
    }
    let pause = DelayOperation(.seconds(60))
    pause.addDependency(upload)
    let poll = RepeatOperation(name: "poll", times: 3, every: .seconds(10)) { _ in
      ResultOperation {
        polls.add(1, ordering: .relaxed)
        throw Unavailable()
      }
    }
    poll.mapRoundErrors { _, error in error is Unavailable ? nil : error }
    poll.addDependency(pause)
    queue.addOperations([upload, pause, poll])
    simulation.advance(by: .seconds(40))
    #expect(poll.explain().path.map(\.kind) == [.dependency, .dependency, .retry])
    #expect(poll.explain().rootCauses.map(\.name) == ["upload"])
    simulation.run()
    #expect(poll.outcome?.isSuccess == true)
    let count = polls.load(ordering: .relaxed)
    #expect(count == 3)
    #expect(simulation.environment.clock.now == .seconds(60 + 60 + 20))
  }

  @Test func `an app runs a scope, and follows its events`() async throws {
    let environment = OperationEnvironment(claimDomain: ClaimDomain())
    let pool = ResourcePool("connections", capacity: 2, domain: environment.claimDomain)
    let fractions = try await withOperations(environment: environment) { scope in
      let copy = ResultOperation(name: "copy") {
        AdvancedOperation.current?.updateProgress(completed: 1, total: 2)
      }
      copy.addClaim(ResourceUnits(1, of: pool))
      copy.addClaim(RateLimit("copies", 1, per: .seconds(1)))
      let events = copy.events
      scope.add(copy)
      return await events.reduce(into: [Double]()) { fractions, event in
        if case .progress(let update) = event { fractions.append(update.fractionCompleted) }
      }
    }
    #expect(fractions == [0.5])
  }

  @Test func `a body releases its slot with a value that isn't Sendable`() async throws {
    final class Box { var value = 0 }
    let queue = AdvancedOperationQueue(maxConcurrentOperationCount: 1)
    let outer = ResultOperation {
      let box = try await releasingSlot {
        let box = Box()
        box.value = try await queue.run(ResultOperation { 2 })
        return box
      }
      return box.value
    }
    #expect(try await queue.run(outer) == 2)
  }

  @Test func `a plan computes a schedule without operations`() throws {
    let plan = try OperationPlan(
      durations: [.seconds(3), .seconds(1), .seconds(2)],
      edges: [(from: 0, to: 2)]
    )
    #expect(plan.criticalPath == [0, 2])
    #expect(plan.schedule(workers: 2).duration == .seconds(5))
    #expect(throws: OperationCycleError.self) {
      try OperationPlan(durations: [.zero], edges: [(from: 0, to: 0)])
    }
  }
}

private nonisolated func word(_ fault: OperationFault) -> String {
  switch fault {
  case .error, .delay, .cancel: "known"
  @unknown default: "later"
  }
}

private nonisolated func word(_ ending: OperationOutcome.Kind) -> String {
  switch ending {
  case .succeeded, .failed, .cancelled, .skipped: "all"
  }
}
