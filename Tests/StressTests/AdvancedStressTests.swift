import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// An advanced operation that is counted, and counts how often its end was told.
private final class CountedWork: AdvancedOperation, @unchecked Sendable {
  // Sendable: all stored properties are immutable.
  private let live: CoreStress.Live
  let ends = CoreStress.Tally()
  let executions = CoreStress.Tally()

  init(_ live: CoreStress.Live) {
    self.live = live
    super.init()
    live.born()
    addObserver(BlockObserver(didFinish: { [ends] _, _ in ends.add() }))
  }

  deinit { live.died() }

  override func execute() {
    executions.add()
    finish()
  }
}

/// Something that went wrong on purpose.
private struct Flaw: Error {}

@Suite(.heavy, .serialized) struct `AdvancedStress: attacks` {
  /// The condition is still being asked when the cancel comes, and answers only afterwards.
  @Test func `an operation with a slow condition can be cancelled right after adding`()
    async throws
  {
    let live = CoreStress.Live()
    let probe = ConditionProbe()
    let queue = AdvancedOperationQueue()
    for round in 0..<CoreStress.scaled(10_000) {
      let operation = CountedWork(live)
      operation.addCondition(probe)
      queue.addOperation(operation)
      operation.cancel(withError: Flaw())
      if round % 16 == 0 {
        try await operation.untilFinished()
        #expect(operation.ends.now == 1)
        #expect(operation.executions.now == 0)
        guard case .cancelled(let failure) = operation.outcome else {
          Issue.record("it ended as \(String(describing: operation.outcome))")
          return
        }
        #expect(failure.elements.first?.origin == .cancel)
      }
    }
    try await queue.untilAllOperationsAreFinished()
    probe.answer(.satisfied)
    await live.ended()
    #expect(live.now == 0)
  }

  @Test func `a simultaneous cancel, finish and condition result cause one end and outcome`()
    async throws
  {
    let live = CoreStress.Live()
    let queue = AdvancedOperationQueue()
    for _ in 0..<CoreStress.scaled(100_000) {
      let probe = ConditionProbe()
      let operation = OpenWork(live)
      operation.addCondition(probe)
      queue.addOperation(operation)
      await withTaskGroup { group in
        group.addTask { operation.cancel(withError: Flaw()) }
        group.addTask { probe.answer(.satisfied) }
        group.addTask { operation.finishIfExecuting() }
      }
      operation.finishIfExecuting()
      try await operation.untilFinished()
      #expect(operation.ends.now == 1)
      if case .cancelled = operation.outcome {
        #expect(operation.isCancelled)
        #expect(operation.errors.count == 1)
      } else {
        #expect(!operation.isCancelled)
        #expect(operation.errors.isEmpty)
      }
    }
    try await queue.untilAllOperationsAreFinished()
    await live.ended()
  }

  @Test func `observers, cancels and finishes from many threads never overlap`() async throws {
    for _ in 0..<CoreStress.scaled(1_000) {
      let inside = CoreStress.Tally()
      let told = CoreStress.Tally()
      let operation = OpenWork(CoreStress.Live())
      let watch: @Sendable (AdvancedOperation) -> Void = { operation in
        inside.add()
        told.add()
        operation.updateProgress(completed: 1, total: 2)
        inside.add(-1)
      }
      operation.addObserver(
        BlockObserver(
          didEnqueue: watch,
          didStart: watch,
          didUpdateProgress: { _, _ in
            inside.add(); inside.add(-1)
          },
          didCancel: { operation, _ in watch(operation) },
          willFinish: { operation, _ in watch(operation) },
          didFinish: { operation, _ in watch(operation) }
        )
      )
      let queue = AdvancedOperationQueue()
      await withTaskGroup { group in
        group.addTask { queue.addOperation(operation) }
        for _ in 0..<3 { group.addTask { operation.cancel() } }
        group.addTask { operation.finishIfExecuting() }
      }
      operation.finishIfExecuting()
      try await operation.untilFinished()
      #expect(inside.peak == 1)
      #expect(told.now >= 3)
    }
  }
}

/// Stays in its work until it is told to finish.
private final class OpenWork: AdvancedOperation, @unchecked Sendable {
  // Sendable: all stored properties are immutable.
  private let live: CoreStress.Live
  let ends = CoreStress.Tally()
  private let wantsEnd = Locked(false)
  private let isExecutingBody = Locked(false)

  init(_ live: CoreStress.Live) {
    self.live = live
    super.init()
    live.born()
    addObserver(BlockObserver(didFinish: { [ends] _, _ in ends.add() }))
  }

  deinit { live.died() }

  override func execute() {
    isExecutingBody.withLock { $0 = true }
    if wantsEnd.withLock({ $0 }) { finish() }
  }

  /// Ends the work now, or when it begins.
  func finishIfExecuting() {
    wantsEnd.withLock { $0 = true }
    if isExecutingBody.withLock({ $0 }) { finish() }
  }
}
