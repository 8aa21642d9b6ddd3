import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Waiting that blocks` {
  @Test func `a blocking wait for an operation ends with the operation`() async {
    let queue = OperationQueue()
    let gate = Latch()
    let operation = BlockOperation { gate.pass() }
    let waiting = Countdown(3)
    let ends = Countdown(3)
    for _ in 0..<3 {
      launchThread {
        waiting.count()
        operation.waitUntilFinished()
        #expect(operation.isFinished)
        ends.count()
      }
    }
    await waiting.done.opened()
    queue.addOperation(operation)
    #expect(!ends.done.isOpen)
    gate.open()
    await ends.done.opened()
  }

  @Test func `a blocking wait for a finished operation returns immediately`() {
    let operation = Operation()
    operation.start()
    operation.waitUntilFinished()
  }

  @Test func `a blocking wait for a cancelled operation ends when it has left`() async {
    let queue = OperationQueue()
    let operation = Operation()
    operation.addDependency(Operation())
    queue.addOperation(operation)
    operation.cancel()
    await onThread { operation.waitUntilFinished() }
    #expect(operation.isFinished)
  }

  @Test func `adding operations with waiting returns when all have finished`() async {
    let queue = OperationQueue()
    let ran = Tally()
    let operations = (0..<100).map { _ in BlockOperation { ran.add() } }
    for (earlier, later) in zip(operations, operations.dropFirst()) { earlier.addDependency(later) }
    await onThread { queue.addOperations(operations, waitUntilFinished: true) }
    #expect(ran.now == 100)
    await onThread { queue.addOperations([], waitUntilFinished: true) }
  }

  @Test func `a blocking wait for a queue ends when the queue is empty`() async {
    let queue = OperationQueue()
    let gate = Latch()
    let last = Latch()
    // Each adds the next: the queue is never empty in between.
    @Sendable func add(_ count: Int) {
      queue.addOperation(
        BlockOperation {
          gate.pass()
          if count > 0 { add(count - 1) } else { last.open() }
        }
      )
    }
    add(50)
    let isOpen = await onThread {
      gate.open()
      queue.waitUntilAllOperationsAreFinished()
      return last.isOpen
    }
    #expect(isOpen)
    #expect(queue.operationCount == 0)
  }

  @Test func `a blocking wait for an empty queue returns immediately`() async {
    await onThread { OperationQueue().waitUntilAllOperationsAreFinished() }
  }

  @Test func `a blocking wait for a suspended queue continues until it resumes`() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    queue.addOperation(Operation())
    let isSuspended = await onThread {
      launchThread { queue.isSuspended = false }
      queue.waitUntilAllOperationsAreFinished()
      return queue.isSuspended
    }
    #expect(!isSuspended)
  }

  @Test func `an operation may block for an operation of another queue`() async throws {
    let inner = OperationQueue()
    let outer = OperationQueue()
    outer.maxConcurrentOperationCount = 1
    inner.maxConcurrentOperationCount = 1
    let ran = Tally()
    for _ in 0..<50 {
      outer.addOperation(
        BlockOperation {
          let operation = BlockOperation { ran.add() }
          inner.addOperation(operation)
          operation.waitUntilFinished()
        }
      )
    }
    try await outer.untilAllOperationsAreFinished()
    #expect(ran.now == 50)
  }
}
