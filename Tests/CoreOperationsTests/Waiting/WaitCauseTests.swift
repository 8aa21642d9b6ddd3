import CoreOperations
import TestSupport
import Testing

/// What an operation says when somebody asks why it isn't running.
@Suite(.watched) struct `Why an operation waits` {
  private func named(_ name: String) -> BlockOperation {
    let operation = BlockOperation {}
    operation.name = name
    return operation
  }

  private func queue(_ executor: ManualExecutor) -> OperationQueue {
    let queue = OperationQueue(executor: executor)
    queue.name = "uploads"
    return queue
  }

  @Test func `the debug description says that an operation isn't in a queue`() {
    #expect(named("a").debugDescription == "a (ready): isn't in a queue")
  }

  @Test func `the debug description names dependencies and the missing queue`() {
    let operation = named("b")
    operation.addDependency(named("a"))
    #expect(operation.debugDescription == "b (waiting): waits for a, isn't in a queue")
  }

  @Test func `the debug description says that the queue is suspended`() {
    let queue = queue(ManualExecutor())
    queue.isSuspended = true
    let operation = named("a")
    queue.addOperation(operation)
    #expect(operation.debugDescription == "a (ready): waits for queue “uploads” to be resumed")
  }

  @Test func `the debug description names the suspended queue next to dependencies`() {
    let queue = queue(ManualExecutor())
    queue.isSuspended = true
    let operation = named("b")
    operation.addDependency(named("a"))
    queue.addOperation(operation)
    #expect(
      operation.debugDescription
        == "b (waiting): waits for a, waits for queue “uploads” to be resumed"
    )
  }

  @Test func `a cancelled operation waits only for its queue`() {
    let queue = queue(ManualExecutor())
    queue.isSuspended = true
    let operation = named("b")
    operation.addDependency(named("a"))
    queue.addOperation(operation)
    operation.cancel()
    #expect(operation.debugDescription == "b (cancelled): waits for queue “uploads” to be resumed")
  }

  @Test func `the wait causes name the limit and the operations that use it up`() {
    let executor = ManualExecutor()
    let queue = queue(executor)
    queue.maxConcurrentOperationCount = 1
    let second = named("second")
    let said = Log<String>()
    let first = BlockOperation { said.add(second.debugDescription) }
    first.name = "first"
    queue.addOperations([first, second])
    executor.runAll()
    #expect(
      said.entries == [
        "second (ready): waits for a slot of queue “uploads”, whose limit of 1 is used up by first"
      ]
    )
    #expect(second.debugDescription == "second (finished)")
  }

  @Test func `the debug description says that the limit is 0`() {
    let queue = queue(ManualExecutor())
    queue.maxConcurrentOperationCount = 0
    let operation = named("a")
    queue.addOperation(operation)
    #expect(
      operation.debugDescription
        == "a (ready): waits for a slot of queue “uploads”, whose limit is 0"
    )
  }

  @Test func `the wait causes name a barrier and the operations that delay it`() {
    let executor = ManualExecutor()
    let queue = queue(executor)
    let before = named("before")
    let behind = named("behind")
    let said = Log<String>()
    queue.addOperation(before)
    queue.addBarrierBlock { said.add(behind.debugDescription) }
    queue.addOperation(behind)
    #expect(
      behind.debugDescription
        == "behind (ready): waits behind a barrier of queue “uploads”, which waits for before"
    )
    executor.runAll()
    #expect(
      said.entries == ["behind (ready): waits behind a barrier of queue “uploads” that is running"]
    )
  }

  @Test func `the wait causes name a barrier that uses up the only slot`() {
    let executor = ManualExecutor()
    let queue = queue(executor)
    queue.maxConcurrentOperationCount = 1
    let cancelled = named("cancelled")
    let said = Log<String>()
    queue.addBarrierBlock {
      queue.addOperation(cancelled)
      cancelled.cancel()
      said.add(cancelled.debugDescription)
    }
    executor.runAll()
    // It needs no slot and no barrier to leave.
    #expect(said.entries == ["cancelled (cancelled): waits for a worker of queue “uploads”"])
  }

  @Test func `the debug description says that an operation's own readiness is false`() {
    final class NotYet: Operation, @unchecked Sendable {
      override var isReady: Bool { false }
    }
    let executor = ManualExecutor()
    let queue = queue(executor)
    let operation = NotYet()
    queue.addOperation(operation)
    executor.runAll()
    #expect(operation.debugDescription == "NotYet (waiting): is not ready")
  }

  @Test func `the debug description names the worker that an operation waits for`() {
    let queue = queue(ManualExecutor())
    let operation = named("a")
    queue.addOperation(operation)
    #expect(operation.debugDescription == "a (ready): waits for a worker of queue “uploads”")
  }

  @Test func `the debug description names the operation that code waits for`() async throws {
    let queue = OperationQueue()
    let inner = named("inner")
    let outer = BlockOperation { inner.waitUntilFinished() }
    outer.name = "outer"
    queue.addOperation(outer)
    await eventually { outer.isExecuting && !outer.waitCauses.isEmpty }
    #expect(outer.debugDescription == "outer (executing): has code that waits for inner")
    queue.addOperation(inner)
    try await queue.untilAllOperationsAreFinished()
    #expect(outer.debugDescription == "outer (finished)")
  }

  @Test func `the wait causes list eight dependencies and count the others`() {
    let operation = Operation()
    for number in 0..<10 { operation.addDependency(named("\(number)")) }
    #expect(
      operation.waitCauses.first?.description == "waits for 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
    )
  }
}
