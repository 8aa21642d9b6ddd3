import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Cancelling all operations` {
  @Test func `cancelling all operations marks each one and lets none run`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let ran = Tally()
    let operations = (0..<50).map { _ in BlockOperation { ran.add() } }
    for (earlier, later) in zip(operations, operations.dropFirst()) {
      later.addDependency(earlier)
    }
    queue.addOperations(operations)
    queue.cancelAllOperations()
    #expect(operations.allSatisfy { $0.isCancelled })
    executor.runAll()
    #expect(operations.allSatisfy { $0.isFinished })
    #expect(ran.now == 0)
  }

  @Test func `an operation that cancels all prevents later operations from running`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let ran = Tally()
    let first = BlockOperation { [queue] in queue.cancelAllOperations() }
    let others = (0..<20).map { _ in BlockOperation { ran.add() } }
    for other in others[10...] { other.addDependency(first) }
    queue.addOperations([first] + others)
    executor.runAll()
    #expect(first.isCancelled)
    #expect(ran.now == 0)
    #expect(queue.operationCount == 0)
  }

  @Test func `a cancel of all operations lets no dependent start`() async throws {
    let queue = OperationQueue()
    let ran = Tally()
    for _ in 0..<100 {
      let executing = Latch()
      let heads = (0..<4).map { _ in EndsInCancel(.strings) { _ in executing.open() } }
      let dependents = heads.map { head in
        let dependent = BlockOperation { ran.add() }
        dependent.addDependency(head)
        return dependent
      }
      queue.addOperations(heads + dependents)
      await executing.opened()
      queue.cancelAllOperations()
      try await queue.untilAllOperationsAreFinished()
    }
    #expect(ran.now == 0)
  }

  @Test func `cancelling all operations doesn't affect later additions`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    queue.addOperation(Operation())
    queue.cancelAllOperations()
    let later = Operation()
    queue.addOperation(later)
    executor.runAll()
    #expect(later.isFinished)
    #expect(!later.isCancelled)
  }

  @Test func `cancelling all operations of an empty queue does nothing`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    queue.cancelAllOperations()
    let operation = Operation()
    queue.addOperation(operation)
    executor.runAll()
    #expect(operation.isFinished)
  }

  @Test func `an override of cancel may use the queue`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    queue.isSuspended = true
    // It cancels itself again through its queue; the second time there is nothing left to flag.
    final class Once: Operation, @unchecked Sendable {
      private let queue: OperationQueue
      private let cancels = Tally()
      init(_ queue: OperationQueue) { self.queue = queue }
      override func cancel() {
        super.cancel()
        guard cancels.add() == 0 else { return }
        queue.addOperation(Operation())
        queue.cancelAllOperations()
      }
    }
    let operation = Once(queue)
    queue.addOperation(operation)
    queue.cancelAllOperations()
    #expect(queue.operations.allSatisfy { $0.isCancelled })
    #expect(queue.operationCount == 2)
    queue.isSuspended = false
    executor.runAll()
    #expect(queue.operationCount == 0)
  }

  @Test
  func `cancelling all operations during additions and ends leaves nothing behind`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 3
    let done = Countdown(2)
    let completions = Tally()
    launchThread {
      for _ in 0..<2_000 {
        let operation = Operation()
        operation.completionBlock = { completions.add() }
        queue.addOperation(operation)
      }
      done.count()
    }
    launchThread {
      for _ in 0..<Effort.rounds(200) { queue.cancelAllOperations() }
      done.count()
    }
    await done.done.opened()
    try await queue.untilAllOperationsAreFinished()
    #expect(completions.now == 2_000)
    #expect(queue.operations.isEmpty)
  }
}
