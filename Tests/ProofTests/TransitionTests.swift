#if DEBUG
import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

private struct Flaw: Error {}

@Suite(.heavy) struct `The transition tables` {
  /// Reports its end when it is told to, whatever it is doing.
  private final class Early: Operation, @unchecked Sendable {
    private let isOver = Locked(false)
    private let endsInMain: Bool
    init(endsInMain: Bool = false) {
      self.endsInMain = endsInMain
      super.init()
    }
    override var isFinished: Bool { isOver.withLock { $0 } }
    override func main() { if endsInMain { end() } }
    func end() {
      isOver.withLock { $0 = true }
      didChangeValue(forKey: "isFinished")
    }
  }

  /// Ends in its own `start()`, without the default one.
  private final class Asynchronous: Operation, @unchecked Sendable {
    private let isOver = Locked(false)
    override var isFinished: Bool { isOver.withLock { $0 } }
    override func start() {
      cancel()
      isOver.withLock { $0 = true }
      didChangeValue(forKey: "isFinished")
    }
  }

  /// Cancels itself and ends late.
  private final class Late: AdvancedOperation, @unchecked Sendable {
    override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }
    override func execute() {}
  }

  private static func core(_ simulation: SimulatedEnvironment) {
    let queue = OperationQueue(executor: simulation.environment.executor ?? Immediately())
    let created = Early()
    created.end()
    created.cancel()
    queue.addOperation(created)
    let enqueued = Early()
    queue.addOperation(enqueued)
    enqueued.cancel()
    simulation.step()
    enqueued.end()
    enqueued.end()
    simulation.run()
    let inMain = Early(endsInMain: true)
    queue.addOperation(inMain)
    queue.addOperation(Asynchronous())
    // Of which the queue knows everything.
    queue.addOperation(BlockOperation {})
    let ended = Early()
    queue.addOperation(ended)
    simulation.run()
    ended.start()
    ended.cancel()
    ended.end()
    ended.start()
    let byHand = BlockOperation { [weak queue] in queue?.cancelAllOperations() }
    byHand.start()
    let running = Running()
    queue.addOperation(running)
    simulation.run()
    let cancelled = BlockOperation {}
    cancelled.cancel()
    cancelled.start()
  }

  private final class Running: Operation, @unchecked Sendable {
    override func main() { cancel() }
  }

  private struct Immediately: OperationExecutor {
    func enqueue(_ worker: @escaping @Sendable () -> Void) {}
  }

  private static func advanced(_ simulation: SimulatedEnvironment) {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    // Conditions for one that is cancelled, in every state; finish and cancel in each.
    let all = (0..<2).map { _ in Late() }
    for operation in all {
      operation.cancel()
      operation.addCondition(BlockCondition { true })
      operation.finish()
      queue.addOperation(operation)
      operation.finish()
    }
    simulation.run()
    let late = Late()
    late.onCancel { operation, _ in operation.addCondition(BlockCondition { true }) }
    late.addObserver(
      BlockObserver(willFinish: { operation, _ in
        operation.addCondition(BlockCondition { true })
        operation.finish()
        operation.cancel()
      })
    )
    queue.addOperation(late)
    simulation.run()
    late.cancel(withError: Flaw())
    late.finish()
    late.finish()
    late.addCondition(BlockCondition { true })
    late.cancel()
    simulation.run()
    let waiting = Late()
    let before = HeldOperation()
    waiting.addDependency(before)
    queue.addOperations([before, waiting])
    waiting.cancel()
    waiting.addCondition(BlockCondition { true })
    waiting.finish()
    before.release()
    simulation.run()
    // Finished while its start is told.
    for finishes in [true, false] {
      let told = Late()
      told.onStart { operation in if finishes { operation.finish() } else { operation.cancel() } }
      queue.addOperation(told)
    }
    let neverExecuted = GroupOperation()
    neverExecuted.cancel()
    queue.addOperation(neverExecuted)
    let byHand = AdvancedOperation()
    byHand.start()
    byHand.start()
    // Its body ends while its end waits for a sweep to be through.
    let first = Late()
    let swept = ResultOperation {
      try await simulation.environment.clock.sleep(until: .seconds(60))
    }
    first.onCancel { _, _ in
      swept.finish()
      simulation.run()
    }
    queue.addOperations([first, swept])
    simulation.advance(by: .zero)
    queue.cancelAllOperations()
    first.finish()
    simulation.run()
    // Refused while another dependency goes on.
    let (failing, open) = (Late(), HeldOperation())
    let early = Late()
    early.addCondition(DependencyRule.noneFailed)
    for dependency in [failing, open] { early.addDependency(dependency) }
    queue.addOperations([failing, open, early])
    simulation.run()
    failing.finish(withError: Flaw())
    simulation.run()
    open.release()
    simulation.run()
    let refused = (0..<2).map { _ in HeldOperation() }
    for operation in refused { operation.addCondition(MutuallyExclusive("x", whenBusy: .fail)) }
    refused[1].addCondition(BlockCondition { true })
    queue.addOperations(refused)
    simulation.run()
    for operation in refused { operation.release() }
    let again = (0..<2).map { _ in HeldOperation() }
    for operation in again { operation.addCondition(MutuallyExclusive("x", whenBusy: .skip)) }
    simulation.run()
    queue.addOperations(again)
    simulation.run()
    for operation in again { operation.release() }
    simulation.run()
  }

  @Test func `are taken whole`() async throws {
    let recorder = TransitionRecorder()
    try await offPool {
      let simulation = SimulatedEnvironment(seed: 1)
      Self.core(simulation)
      Self.advanced(simulation)
      for scenario in Scenario.all {
        try exploreSchedules(depthFirst: Effort.schedules(300), random: Effort.drawn(50)) {
          simulation in
          try scenario.run(simulation, Witness())
        }
      }
      // By hand the turn may come twice: from the start and from a cancel.
      try exploreSchedules(depthFirst: 10_000, random: 1_000) { simulation in
        let operation = Late()
        operation.use(simulation.environment)
        operation.addCondition(BlockCondition { true })
        operation.start()
        simulation.addStep("cancel") { operation.cancel() }
        simulation.run()
        operation.finish()
        simulation.run()
      }
      // What takes two threads: the end is reported twice at once, or comes while a start is told.
      try exploreSchedules(interruptions: 1, depthFirst: 500, random: 0) { simulation in
        let operation = Early()
        for name in ["end", "again"] { simulation.addStep(name) { operation.end() } }
        simulation.run()
      }
      try exploreSchedules(interruptions: 1, depthFirst: 500, random: 0) { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        let operation = Late()
        operation.addObserver(RecordingObserver())
        queue.addOperation(operation)
        simulation.addStep("finish") { if operation.state == .executing { operation.finish() } }
        simulation.run()
        operation.finish()
        simulation.run()
      }
      // Or comes while the start is told by somebody else than its worker.
      try exploreSchedules(interruptions: 2, depthFirst: 2_000, random: 0) { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        let operation = Late()
        operation.addObserver(RecordingObserver())
        queue.addOperation(operation)
        simulation.addStep("sweep") { queue.cancelAllOperations() }
        simulation.addStep("finish") { if operation.state == .executing { operation.finish() } }
        simulation.run()
        operation.finish()
        simulation.run()
      }
    }
    print(recorder.table)
    #expect(recorder.missing == [], "\(recorder.missing)")
  }
}
#endif
