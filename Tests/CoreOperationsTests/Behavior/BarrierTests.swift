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

  @Test func `barriers run after all earlier operations and before all later ones`() {
    add("1")
    addBarrier("barrier")
    add("2", priority: .veryHigh)
    executor.runAll()
    #expect(log.entries == ["1", "barrier", "2"])
  }

  @Test func `barriers keep their order with or without operations between them`() {
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

  @Test func `a barrier runs immediately in an empty queue`() async throws {
    let queue = OperationQueue()
    let ran = Latch()
    queue.addBarrierBlock { ran.open() }
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.isOpen)
  }

  @Test func `a barrier waits until asynchronous operations report their end`() {
    let operation = SelfKept()
    queue.addOperation(operation)
    addBarrier("barrier")
    executor.runAll()
    #expect(log.entries.isEmpty)
    operation.end()
    executor.runAll()
    #expect(log.entries == ["barrier"])
  }

  @Test func `a barrier waits for operations behind the previous barrier`() {
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

  @Test func `a barrier doesn't wait for completion blocks`() {
    let operation = Operation()
    operation.completionBlock = { [log] in log.add("block") }
    queue.addOperation(operation)
    addBarrier("barrier")
    executor.runOne()
    #expect(log.entries == ["barrier"])
    executor.runAll()
    #expect(log.entries == ["barrier", "block"])
  }

  @Test func `a barrier runs even if operations before it were cancelled and left`() {
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

  @Test func `a barrier isn't counted as an operation but waits include it`() async throws {
    let queue = OperationQueue()
    let gate = Latch()
    let started = Latch()
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

  @Test func `a barrier doesn't run in a suspended queue`() {
    queue.isSuspended = true
    addBarrier("barrier")
    executor.runAll()
    #expect(log.entries.isEmpty)
    queue.isSuspended = false
    executor.runAll()
    #expect(log.entries == ["barrier"])
  }

  @Test func `a barrier takes a slot`() {
    queue.maxConcurrentOperationCount = 0
    addBarrier("barrier")
    executor.runAll()
    #expect(log.entries.isEmpty)
    queue.maxConcurrentOperationCount = 1
    executor.runAll()
    #expect(log.entries == ["barrier"])
  }

  @Test func `cancelling all operations doesn't cancel barriers`() {
    add("1")
    addBarrier("barrier")
    add("2")
    queue.cancelAllOperations()
    executor.runAll()
    #expect(log.entries == ["barrier"])
    #expect(queue.operationCount == 0)
  }

  @Test func `operations that a barrier adds run after all others`() {
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

  @Test func `a barrier runs alone`() async throws {
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

  @Test func `operations that become ready behind a barrier run in adding order`() {
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

  @Test func `a dependency that is added behind a barrier applies after it`() {
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

  @Test func `a barrier releases its captures outside of locks`() async {
    let queue = OperationQueue()
    let ended = Latch()
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
