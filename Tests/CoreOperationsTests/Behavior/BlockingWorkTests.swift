import CoreOperations
import Dispatch
import TestSupport
import Testing

/// Operations that block their threads get more of them.
@Suite(.watched, .heavy, .serialized) struct `Blocking work` {
  @Test func `40 blocked operations are signaled by the 41st`() async throws {
    let queue = OperationQueue()
    let semaphore = DispatchSemaphore(value: 0)
    for _ in 0..<40 { queue.addOperation(BlockOperation { semaphore.wait() }) }
    queue.addOperation(BlockOperation { for _ in 0..<40 { semaphore.signal() } })
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `64 operations that wait for each other all get a thread`() async throws {
    let queue = OperationQueue()
    let all = Countdown(64)
    for _ in 0..<64 {
      queue.addOperation(
        BlockOperation {
          all.count()
          all.done.pass()
        }
      )
    }
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `blocking work in one queue doesn't delay another queue`() async throws {
    let blocked = OperationQueue()
    let other = OperationQueue()
    let gate = Latch()
    for _ in 0..<20 { blocked.addOperation(BlockOperation { gate.pass() }) }
    let ran = Tally()
    for _ in 0..<200 { other.addOperation(BlockOperation { ran.add() }) }
    try await other.untilAllOperationsAreFinished()
    #expect(ran.now == 200)
    gate.open()
    try await blocked.untilAllOperationsAreFinished()
  }

  @Test func `a blocking completion block doesn't delay operations`() async throws {
    let queue = OperationQueue()
    let gate = Latch()
    let operations = (0..<20).map { _ in
      let operation = Operation()
      operation.completionBlock = { gate.pass() }
      return operation
    }
    queue.addOperations(operations)
    let last = BlockOperation { gate.open() }
    for operation in operations { last.addDependency(operation) }
    queue.addOperation(last)
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `an operation may block for later operations of its own queue`() async throws {
    let queue = OperationQueue()
    let ran = Tally()
    for _ in 0..<20 {
      queue.addOperation(
        BlockOperation {
          let inner = BlockOperation { ran.add() }
          queue.addOperation(inner)
          inner.waitUntilFinished()
        }
      )
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 20)
  }

  @Test(.needsThreadPool("Dispatch counts no thread as blocked that wakes again and again"))
  func `polling operations leave threads to the operation they wait for`() async throws {
    let queue = OperationQueue()
    let gate = Latch()
    let sawIt = Tally()
    for _ in 0..<8 {
      queue.addOperation(
        BlockOperation {
          // Some seconds, and longer on a machine that has other work.
          for _ in 0..<4_000 where !gate.isOpen { sleepForMicroseconds(500) }
          if gate.isOpen { sawIt.add() }
        }
      )
    }
    queue.addOperation(BlockOperation { gate.open() })
    try await queue.untilAllOperationsAreFinished()
    #expect(sawIt.now == 8)
  }
}
