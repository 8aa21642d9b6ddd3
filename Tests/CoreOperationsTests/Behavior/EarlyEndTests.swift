import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Overrides that finish early` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue

  init() { queue = OperationQueue(executor: executor) }

  enum Moment: CaseIterable, Sendable {
    case created, waiting, ready, executing, suspended, behindBarrier, heldBack
  }

  @Test(arguments: Moment.allCases)
  func `an override of cancel may finish the operation at any moment`(moment: Moment) async {
    await check(moment, EndsInCancel()) { $0.cancel() }
  }

  @Test(arguments: Moment.allCases)
  func `an operation may finish at any moment without a cancel`(moment: Moment) async {
    await check(moment, EndsInCancel()) { $0.end() }
  }

  @Test(arguments: Moment.allCases)
  func `an operation may finish and be cancelled repeatedly at any moment`(moment: Moment) async {
    await check(moment, EndsInCancel()) { operation in
      for _ in 0..<3 {
        operation.end()
        operation.cancel()
      }
    }
  }

  private func check(
    _ moment: Moment,
    _ operation: EndsInCancel,
    _ end: (EndsInCancel) -> Void
  ) async {
    let completions = Tally()
    let completed = Latch()
    operation.completionBlock = {
      completions.add()
      completed.open()
    }
    let dependent = Operation()
    dependent.addDependency(operation)
    let never = Operation()
    bring(operation, to: moment, never)
    end(operation)
    if moment == .created { queue.addOperation(operation) }
    queue.addOperation(dependent)
    queue.isSuspended = false
    executor.runAll()
    await completed.opened()
    #expect(operation.isFinished)
    #expect(completions.now == 1)
    #expect(!queue.operations.contains(operation))
    if moment != .behindBarrier && moment != .heldBack { #expect(dependent.isFinished) }
    never.start()
    executor.runAll()
    #expect(dependent.isFinished)
    #expect(queue.operationCount == 0)
    #expect(operation.starts.now <= 1)
  }

  private func bring(_ operation: EndsInCancel, to moment: Moment, _ never: Operation) {
    switch moment {
    case .created: return
    case .waiting:
      operation.addDependency(never)
      queue.addOperation(operation)
    case .ready: queue.addOperation(operation)
    case .executing:
      queue.addOperation(operation)
      executor.runAll()
    case .suspended:
      queue.isSuspended = true
      queue.addOperation(operation)
    case .behindBarrier, .heldBack:
      let front = Operation()
      front.addDependency(never)
      queue.addOperation(front)
      queue.addBarrierBlock {}
      if moment == .behindBarrier { operation.addDependency(never) }
      queue.addOperation(operation)
      executor.runAll()
    }
  }

  @Test func `an operation that ended before it was added isn't accepted`() {
    let operation = SelfKept()
    operation.end()
    queue.addOperation(operation)
    #expect(queue.operationCount == 0)
    executor.runAll()
    #expect(operation.starts.now == 0)
  }

  @Test func `an operation that ends while a worker is about to start it leaves once`() {
    /// Ends when its queue asks whether it is ready.
    final class EndsWhenAsked: SelfKept, @unchecked Sendable {
      override var isReady: Bool {
        end()
        return super.isReady
      }
    }
    let operation = EndsWhenAsked()
    let dependent = Operation()
    dependent.addDependency(operation)
    queue.maxConcurrentOperationCount = 1
    queue.addOperations([operation, dependent])
    executor.runAll()
    #expect(operation.starts.now == 0)
    #expect(dependent.isFinished)
    #expect(queue.operationCount == 0)
  }

  /// Ends operations one by one while they are being added.
  @Test(arguments: [1, 20, 200])
  func `operations whose ends race with their adding all leave`(count: Int) async throws {
    let queue = OperationQueue()
    for _ in 0..<(2_000 / count) {
      let operations = (0..<count).map { _ in SelfKept { $0.end() } }
      let dependents = operations.map { operation in
        let dependent = Operation()
        dependent.addDependency(operation)
        return dependent
      }
      let bothBegun = Countdown(2)
      let bothEnded = Countdown(2)
      launchThread {
        bothBegun.count()
        bothBegun.done.pass()
        for operation in operations { operation.end() }
        bothEnded.count()
      }
      launchThread {
        bothBegun.count()
        bothBegun.done.pass()
        queue.addOperations(operations + dependents)
        bothEnded.count()
      }
      await bothEnded.done.opened()
      for dependent in dependents { try await dependent.untilFinished() }
      try await queue.untilAllOperationsAreFinished()
    }
    #expect(queue.operationCount == 0)
  }
}
