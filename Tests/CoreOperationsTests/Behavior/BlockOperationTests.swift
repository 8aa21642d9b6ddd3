import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `A block operation` {
  /// Blocks that end only when all of them have begun.
  private func rendezvous(_ count: Int, _ running: Tally = Tally()) -> BlockOperation {
    let all = Countdown(count)
    let operation = BlockOperation()
    for _ in 0..<count {
      operation.addExecutionBlock {
        running.add()
        all.count()
        all.done.pass()
        running.add(-1)
      }
    }
    return operation
  }

  @Test(arguments: [2, 3, 8])
  func `a block operation runs its blocks at the same time`(count: Int) async throws {
    let running = Tally()
    let operation = rendezvous(count, running)
    #expect(operation.executionBlocks.count == count)
    OperationQueue().addOperation(operation)
    try await operation.untilFinished()
    #expect(running.peak == count)
    #expect(running.now == 0)
    #expect(operation.executionBlocks.isEmpty)
  }

  @Test func `a manually started block operation returns after all its blocks`() async {
    let operation = rendezvous(4)
    let first = Log<UInt>()
    let (isFinished, thread) = await onThread {
      let whole = BlockOperation { first.add(threadID()) }
      whole.start()
      operation.start()
      return (operation.isFinished, threadID())
    }
    #expect(isFinished)
    #expect(first.entries == [thread])
  }

  @Test func `a block operation isn't finished before its last block ends`() async throws {
    let gates = (0..<2).map { _ in Latch() }
    let begun = Countdown(2)
    let operation = BlockOperation()
    for gate in gates {
      operation.addExecutionBlock {
        begun.count()
        gate.pass()
      }
    }
    let queue = OperationQueue()
    queue.addOperation(operation)
    await begun.done.opened()
    gates[0].open()
    #expect(!operation.isFinished)
    #expect(operation.isExecuting)
    gates[1].open()
    try await operation.untilFinished()
  }

  @Test func `a block operation takes one slot for any number of blocks`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let running = Tally()
    let operations = [rendezvous(3, running), rendezvous(2, running)]
    queue.addOperations(operations)
    try await queue.untilAllOperationsAreFinished()
    #expect(running.peak == 3)
  }

  @Test func `a block operation without blocks finishes`() async throws {
    let operation = BlockOperation()
    #expect(operation.executionBlocks.isEmpty)
    OperationQueue().addOperation(operation)
    try await operation.untilFinished()
  }

  @Test func `a block operation returns its blocks until it starts`() {
    let ran = Tally()
    let operation = BlockOperation { ran.add() }
    operation.addExecutionBlock { ran.add(10) }
    for block in operation.executionBlocks { block() }
    #expect(ran.now == 11)
    operation.start()
    #expect(ran.now == 22)
    #expect(operation.executionBlocks.isEmpty)
  }

  @Test func `a cancelled block operation runs none of its blocks`() {
    let ran = Tally()
    let operation = BlockOperation { ran.add() }
    operation.addExecutionBlock { ran.add() }
    operation.cancel()
    operation.start()
    #expect(operation.isFinished)
    #expect(ran.now == 0)
    #expect(operation.executionBlocks.isEmpty)
  }

  @Test func `a block operation runs all its blocks even on a single thread`() async throws {
    let queue = OperationQueue(executor: OneThread())
    let ran = Tally()
    let operation = BlockOperation { ran.add() }
    for _ in 0..<9 { operation.addExecutionBlock { ran.add() } }
    queue.addOperation(operation)
    try await operation.untilFinished()
    #expect(ran.now == 10)
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `a block operation runs each of many blocks once`() async throws {
    let queue = OperationQueue()
    let ran = Log<Int>()
    let operations = (0..<20).map { part in
      let operation = BlockOperation()
      for number in 0..<50 { operation.addExecutionBlock { ran.add(part * 50 + number) } }
      return operation
    }
    queue.addOperations(operations)
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.entries.sorted() == Array(0..<1_000))
  }

  @Test func `a block may cancel its operation while the other blocks run on`() async throws {
    let ran = Tally()
    let operation = BlockOperation()
    for _ in 0..<4 {
      operation.addExecutionBlock { [unowned operation] in
        operation.cancel()
        ran.add()
      }
    }
    OperationQueue().addOperation(operation)
    try await operation.untilFinished()
    #expect(ran.now == 4)
    #expect(operation.isCancelled)
  }
}
