import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Each method of the protocol, spelt by a client and reached.
@Suite struct `Observers` {
  /// Implements everything; a method that no longer matched the protocol would never be called.
  private struct Everything: OperationObserver {
    let log: Log<String>

    func operationDidEnqueue(_ operation: AdvancedOperation) {
      log.add("enqueue \(operation.state)")
    }
    func operationDidStart(_ operation: AdvancedOperation) { log.add("start \(operation.state)") }
    func operation(
      _ operation: AdvancedOperation,
      didProduce newOperation: AdvancedOperation
    ) { log.add("produce \(newOperation.name ?? "")") }
    func operation(
      _ operation: AdvancedOperation,
      didUpdateProgress progress: OperationProgress
    ) { log.add("progress \(progress.completedUnitCount)/\(progress.totalUnitCount)") }
    func operation(
      _ operation: AdvancedOperation,
      willRetry retry: OperationRetry
    ) { log.add("retry \(retry.nextAttempt) \(retry.error)") }
    func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
      log.add("cancel \(flaws(errors)) \(operation.state)")
    }
    func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      log.add("willFinish \(flaws(outcome)) \(operation.state)")
    }
    func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      log.add("didFinish \(flaws(outcome)) \(operation.state)")
    }
  }

  @Test(arguments: seeds)
  func `observers receive all events in order`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let work = Work("work", policy: .whenFinishIsCalled) { work in
      work.updateProgress(completed: 1, total: 2)
      #expect(throws: Never.self) { try work.produce(Work("child")) }
    }
    work.addObserver(Everything(log: log))
    world.run(work)
    work.cancel(withError: Flaw(1))
    work.finish(withError: Flaw(2))
    world.simulation.run()
    #expect(
      log.entries == [
        "enqueue pending", "start executing", "progress 1/2", "produce child",
        "cancel [1] executing", "willFinish [1, 2] finishing", "didFinish [1, 2] finishing",
      ]
    )
  }

  @Test func `observers that are closures receive the same events`() {
    let world = World()
    let log = Log<String>()
    let work = Work(policy: .whenFinishIsCalled) { work in
      work.updateProgress(completed: 1, total: 2)
      #expect(throws: Never.self) { try work.produce(Work("child")) }
    }
    work.addObserver(
      BlockObserver(
        didEnqueue: { _ in log.add("enqueue") },
        didStart: { _ in log.add("start") },
        didProduce: { _, child in log.add("produce \(child.name ?? "")") },
        didUpdateProgress: { _, update in log.add("progress \(update.fractionCompleted)") },
        didCancel: { _, errors in log.add("cancel \(flaws(errors))") },
        willFinish: { _, outcome in log.add("willFinish \(flaws(outcome))") },
        didFinish: { _, outcome in log.add("didFinish \(flaws(outcome))") }
      )
    )
    world.run(work)
    work.cancel(withError: Flaw(1))
    work.finish()
    #expect(
      log.entries == [
        "enqueue", "start", "progress 0.5", "produce child", "cancel [1]", "willFinish [1]",
        "didFinish [1]",
      ]
    )
  }

  @Test func `observers may implement no callback`() {
    struct Nothing: OperationObserver {}
    let world = World()
    let work = Work { work in
      work.updateProgress(completed: 1, total: 2)
      work.cancel()
    }
    work.addObserver(Nothing())
    work.addObserver(BlockObserver())
    world.run(work)
    #expect(work.kind == .cancelled)
  }

  @Test(arguments: seeds)
  func `observers are called in attach order event by event`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let work = Work()
    for number in 1...3 {
      work.addObserver(
        BlockObserver(
          didStart: { _ in log.add("start \(number)") },
          didFinish: { _, _ in log.add("finish \(number)") }
        )
      )
    }
    world.run(work)
    #expect(
      log.entries == ["start 1", "start 2", "start 3", "finish 1", "finish 2", "finish 3"]
    )
  }

  @Test func `onStart, onCancel and onFinish are observers`() {
    let world = World()
    let log = Log<String>()
    let work = Work(policy: .whenFinishIsCalled) { _ in }
    work.onStart { _ in log.add("start") }
    work.onCancel { _, errors in log.add("cancel \(flaws(errors))") }
    work.onFinish { operation, outcome in
      #expect(outcome.kind == operation.kind)
      log.add("finish \(flaws(outcome)) \(outcome.isCancelled)")
    }
    world.run(work)
    work.cancel(withError: Flaw(1))
    work.finish()
    #expect(log.entries == ["start", "cancel [1]", "finish [1] true"])
  }

  // MARK: Late ones

  @Test(arguments: [
    OperationEvent.Kind.enqueued, .started, .progress, .cancelled, .willFinish,
  ])
  func `observers that are attached during an event receive later events`(
    event: OperationEvent.Kind
  ) {
    let world = World()
    let recorder = RecordingObserver()
    let all: [OperationEvent.Kind] = [
      .enqueued, .started, .progress, .cancelled, .willFinish, .finished,
    ]
    let work = Work(policy: .whenFinishIsCalled) { work in
      work.updateProgress(completed: 1, total: 2)
      work.cancel()
      work.finish()
    }
    let attach: @Sendable (OperationEvent.Kind, AdvancedOperation) -> Void = { kind, operation in
      if kind == event { operation.addObserver(recorder) }
    }
    work.addObserver(
      BlockObserver(
        didEnqueue: { attach(.enqueued, $0) },
        didStart: { attach(.started, $0) },
        didUpdateProgress: { operation, _ in attach(.progress, operation) },
        didCancel: { operation, _ in attach(.cancelled, operation) },
        willFinish: { operation, _ in attach(.willFinish, operation) }
      )
    )
    world.run(work)
    #expect(recorder.kinds == Array(all.drop { $0 != event }.dropFirst()))
  }

  @Test func `observers that are attached during didFinish are called before dependents start`() {
    let world = World()
    let log = Log<String>()
    let work = Work()
    let dependent = Work { work in
      log.add("dependent")
      work.finish()
    }
    dependent.addDependency(work)
    work.onFinish { operation, _ in
      log.add("first")
      operation.onFinish { operation, _ in
        log.add("second")
        operation.onFinish { _, _ in log.add("third") }
      }
    }
    world.run(work, dependent)
    #expect(log.entries == ["first", "second", "third", "dependent"])
  }

  @Test func `observers that are attached after the end are notified immediately`() {
    let world = World()
    let work = Work.failing("work", 4)
    world.run(work)
    let log = Log<String>()
    work.onFinish { operation, outcome in log.add("\(flaws(outcome)) \(operation.state)") }
    #expect(log.entries == ["[4] finished"])
    let recorder = RecordingObserver()
    work.addObserver(recorder)
    #expect(recorder.kinds == [.finished])
  }

  // MARK: Removal

  @Test func `removed observers aren't notified any more`() {
    let world = World()
    let recorder = RecordingObserver()
    let work = Work.open()
    let observation = work.addObserver(recorder)
    world.run(work)
    observation.remove()
    observation.remove()
    work.finish()
    #expect(recorder.kinds == [.enqueued, .started])
    #expect(work.kind == .succeeded)
  }

  @Test func `an observer that another one removes isn't notified of the current event`() {
    let world = World()
    let recorder = RecordingObserver()
    let work = Work()
    let observation = Changing<OperationObservation?>(nil)
    work.onStart { _ in observation.value?.remove() }
    observation.value = work.addObserver(recorder)
    world.run(work)
    #expect(recorder.kinds == [.enqueued])
  }

  @Test func `removing observers leaves the remaining ones in order`() {
    let world = World()
    let log = Log<Int>()
    let work = Work()
    for number in 0..<100 {
      let observation = work.onFinish { _, _ in log.add(number) }
      if number % 10 > 0 { observation.remove() }
    }
    world.run(work)
    #expect(log.entries == Array(stride(from: 0, to: 100, by: 10)))
  }

  @Test func `removed observers don't accumulate in a long operation`() {
    let work = Work()
    let observations = (0..<1_000).map { _ in
      let observation = work.onFinish { _, _ in }
      observation.remove()
      return Fading(observation)
    }
    #expect(observations.count { $0.value != nil } < 100)
    withExtendedLifetime(work) {}
  }

  private struct Fading {
    weak let value: OperationObservation?
    init(_ value: OperationObservation) { self.value = value }
  }

  @Test func `an observer may remove itself`() {
    let world = World()
    let log = Log<String>()
    let work = Work()
    let observation = Changing<OperationObservation?>(nil)
    observation.value = work.addObserver(
      BlockObserver(
        didStart: { _ in
          log.add("start")
          observation.value?.remove()
        },
        didFinish: { _, _ in log.add("finish") }
      )
    )
    world.run(work)
    #expect(log.entries == ["start"])
  }

  @Test func `observers receive an end before a serial queue starts the next operation`()
    async throws
  {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = 1
    let log = Log<String>()
    for number in 0..<100 {
      let operation = ResultOperation { log.add("body \(number)") }
      operation.onFinish { _, _ in log.add("end \(number)") }
      queue.addOperation(operation)
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(log.entries == (0..<100).flatMap { ["body \($0)", "end \($0)"] })
  }
}
