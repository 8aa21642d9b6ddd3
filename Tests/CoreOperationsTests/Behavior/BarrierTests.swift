import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Barriers` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue
  private let log = Log<String>()

  init() { queue = OperationQueue(executor: executor) }

  private func add(_ name: String, priority: Operation.QueuePriority = .normal) {
    let operation = BlockOperation { [log] in log.add(name) }
    operation.queuePriority = priority
    queue.addOperation(operation)
  }

  private func addBarrier(_ name: String) {
    queue.addBarrierBlock { [log] in log.add(name) }
  }

  @Test func `run after everything before and before everything behind`() {
    add("1")
    addBarrier("barrier")
    add("2", priority: .veryHigh)
    executor.runAll()
    #expect(log.entries == ["1", "barrier", "2"])
  }

  @Test func `keep their order, with and without operations between`() {
    addBarrier("a")
    addBarrier("b")
    add("1")
    add("2")
    addBarrier("c")
    addBarrier("d")
    add("3")
    executor.runAll()
    #expect(log.entries == ["a", "b", "1", "2", "c", "d", "3"])
  }

  @Test func `run in an empty queue at once`() async throws {
    let queue = OperationQueue()
    let ran = Gate()
    queue.addBarrierBlock { ran.open() }
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.isOpen)
  }

  @Test func `wait for asynchronous operations to say that they are over`() {
    let operation = SelfKept()
    queue.addOperation(operation)
    addBarrier("barrier")
    executor.runAll()
    #expect(log.entries.isEmpty)
    operation.end()
    executor.runAll()
    #expect(log.entries == ["barrier"])
  }

  @Test func `wait for what came between them and the barrier before`() {
    addBarrier("a")
    let operation = SelfKept()
    queue.addOperation(operation)
    addBarrier("b")
    executor.runAll()
    #expect(log.entries == ["a"])
    operation.end()
    executor.runAll()
    #expect(log.entries == ["a", "b"])
  }

  @Test func `don't wait for completion blocks`() {
    let operation = Operation()
    operation.completionBlock = { [log] in log.add("block") }
    queue.addOperation(operation)
    addBarrier("barrier")
    executor.runOne()
    #expect(log.entries == ["barrier"])
    executor.runAll()
    #expect(log.entries == ["barrier", "block"])
  }

  @Test func `run though what was between them was cancelled and left before the first`() {
    let holder = SelfKept()
    queue.addOperation(holder)
    addBarrier("a")
    let between = BlockOperation { [log] in log.add("2") }
    queue.addOperation(between)
    addBarrier("b")
    executor.runAll()
    between.cancel()
    executor.runAll()
    #expect(between.isFinished)
    #expect(log.entries.isEmpty)
    holder.end()
    executor.runAll()
    #expect(log.entries == ["a", "b"])
    add("3")
    executor.runAll()
    #expect(log.entries == ["a", "b", "3"])
  }

  @Test func `are no operations and are waited for`() async throws {
    let queue = OperationQueue()
    let gate = Gate()
    let started = Gate()
    queue.addBarrierBlock {
      started.open()
      gate.pass()
    }
    #expect(queue.operations.isEmpty)
    #expect(queue.operationCount == 0)
    await started.opened()
    #expect(queue.operationCount == 0)
    let wait = Task {
      try await queue.untilAllOperationsAreFinished()
      return gate.isOpen
    }
    gate.open()
    #expect(try await wait.value)
  }

  @Test func `obey suspension`() {
    queue.isSuspended = true
    addBarrier("barrier")
    executor.runAll()
    #expect(log.entries.isEmpty)
    queue.isSuspended = false
    executor.runAll()
    #expect(log.entries == ["barrier"])
  }

  @Test func `take a slot`() {
    queue.maxConcurrentOperationCount = 0
    addBarrier("barrier")
    executor.runAll()
    #expect(log.entries.isEmpty)
    queue.maxConcurrentOperationCount = 1
    executor.runAll()
    #expect(log.entries == ["barrier"])
  }

  @Test func `are not cancelled by cancelling all operations`() {
    add("1")
    addBarrier("barrier")
    add("2")
    queue.cancelAllOperations()
    executor.runAll()
    #expect(log.entries == ["barrier"])
    #expect(queue.operationCount == 0)
  }

  @Test func `adding from inside one goes behind all others`() {
    queue.addBarrierBlock { [queue, log] in
      log.add("a")
      queue.addOperation(BlockOperation { log.add("from a") })
      queue.addBarrierBlock { log.add("barrier from a") }
    }
    add("1")
    addBarrier("b")
    add("2")
    executor.runAll()
    #expect(log.entries == ["a", "1", "b", "2", "from a", "barrier from a"])
  }

  @Test func `run alone`() async throws {
    let queue = OperationQueue()
    let running = Tally()
    let crowd = Log<Int>()
    for _ in 0..<200 {
      for _ in 0..<5 {
        queue.addOperation(
          BlockOperation {
            running.add()
            running.add(-1)
          }
        )
      }
      queue.addBarrierBlock {
        crowd.add(running.add())
        running.add(-1)
      }
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(crowd.count == 200)
    #expect(crowd.entries.allSatisfy { $0 == 0 })
  }

  @Test func `hold back what becomes ready behind them, in the order of adding`() {
    let front = SelfKept()
    queue.addOperation(front)
    addBarrier("barrier")
    let gates = [Operation(), Operation()]
    for (number, gate) in gates.enumerated() {
      let operation = BlockOperation { [log] in log.add("\(number)") }
      operation.addDependency(gate)
      queue.addOperation(operation)
    }
    gates[1].start()
    gates[0].start()
    executor.runAll()
    #expect(log.entries.isEmpty)
    front.end()
    executor.runAll()
    #expect(log.entries == ["barrier", "0", "1"])
  }

  @Test func `a dependency that is added behind one holds after it`() {
    let front = SelfKept()
    let late = Operation()
    let behind = BlockOperation { [log] in log.add("behind") }
    queue.addOperation(front)
    addBarrier("barrier")
    queue.addOperation(behind)
    behind.addDependency(late)
    front.end()
    executor.runAll()
    #expect(log.entries == ["barrier"])
    late.start()
    executor.runAll()
    #expect(log.entries == ["barrier", "behind"])
  }

  @Test func `free what they captured outside of any lock`() async {
    let queue = OperationQueue()
    let ended = Gate()
    do {
      let token = Token {
        _ = queue.operationCount
        queue.addOperation(Operation())
        ended.open()
      }
      queue.addBarrierBlock { token.touch() }
    }
    await ended.opened()
  }
}
