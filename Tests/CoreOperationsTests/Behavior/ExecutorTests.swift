import CoreOperations
import Dispatch
import TestSupport
import Testing

@Suite(.watched) struct `Executors` {
  @Test func `a queue requests one worker of its executor at a time`() {
    let executor = ManualExecutor(operationsPerWorker: 2_000)
    let queue = OperationQueue(executor: executor)
    let operations = (0..<1_000).map { _ in Operation() }
    for operation in operations { queue.addOperation(operation) }
    #expect(executor.waiting == 1)
    executor.runOne()
    #expect(operations.allSatisfy { $0.isFinished })
    // A second worker may have been asked for when the first began; it finds nothing.
    #expect(executor.requests.now <= 2)
    executor.runAll()
    #expect(executor.requests.now <= 2)
  }

  @Test func `a queue requests no worker while no operation can start`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    queue.isSuspended = true
    queue.addOperation(Operation())
    let waiting = Operation()
    waiting.addDependency(Operation())
    queue.addOperation(waiting)
    queue.maxConcurrentOperationCount = 1
    #expect(executor.requests.now == 0)
    queue.isSuspended = false
    #expect(executor.requests.now == 1)
  }

  @Test func `a queue requests no worker during a barrier or a full limit`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let asked = Log<Int>()
    queue.addBarrierBlock { [queue] in
      queue.addOperation(Operation())
      queue.addBarrierBlock {}
      queue.maxConcurrentOperationCount = 2
      asked.add(executor.waiting)
    }
    queue.addBarrierBlock { [queue] in
      queue.maxConcurrentOperationCount = 1
      queue.addOperation(Operation())
      asked.add(executor.waiting)
    }
    executor.runAll()
    #expect(asked.entries == [0, 0])
    let holder = SelfKept()
    queue.addOperation(holder)
    executor.runAll()
    let before = executor.requests.now
    for _ in 0..<5 { queue.addOperation(Operation()) }
    #expect(executor.requests.now == before)
    holder.end()
    executor.runAll()
    #expect(queue.operationCount == 0)
  }

  @Test func `an executor gets a worker back after its share of operations`() {
    let executor = ManualExecutor(operationsPerWorker: 10)
    let queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 1
    let ran = Tally()
    for _ in 0..<25 { queue.addOperation(BlockOperation { ran.add() }) }
    executor.runOne()
    #expect(ran.now == 10)
    executor.runOne()
    #expect(ran.now == 20)
    executor.runAll()
    #expect(ran.now == 25)
  }

  @Test func `an executor with a share of 0 still makes progress`() {
    let executor = ManualExecutor(operationsPerWorker: 0)
    let queue = OperationQueue(executor: executor)
    let ran = Tally()
    for _ in 0..<5 { queue.addOperation(BlockOperation { ran.add() }) }
    executor.runAll()
    #expect(ran.now == 5)
  }

  @Test func `executors alternate between queues`() {
    let executor = ManualExecutor(operationsPerWorker: 2)
    let log = Log<Int>()
    let queues = (0..<2).map { _ in OperationQueue(executor: executor) }
    for (number, queue) in queues.enumerated() {
      queue.maxConcurrentOperationCount = 1
      for _ in 0..<4 { queue.addOperation(BlockOperation { log.add(number) }) }
    }
    executor.runAll()
    #expect(log.entries == [0, 0, 1, 1, 0, 0, 1, 1])
  }

  @Test func `an executor of one thread runs everything`() async throws {
    let queue = OperationQueue(executor: OneThread())
    let running = Tally()
    let completions = Tally()
    let operations = (0..<500).map { _ in
      let operation = BlockOperation {
        running.add()
        running.add(-1)
      }
      operation.completionBlock = { completions.add() }
      return operation
    }
    queue.addOperations(operations)
    try await queue.untilAllOperationsAreFinished()
    #expect(running.peak == 1)
    #expect(completions.now == 500)
  }

  @Test func `an underlying queue runs the operations`() async throws {
    let key = DispatchSpecificKey<Int>()
    let underlying = DispatchQueue(label: "underlying")
    underlying.setSpecific(key: key, value: 7)
    let queue = OperationQueue()
    #expect(queue.underlyingQueue == nil)
    queue.underlyingQueue = underlying
    #expect(queue.underlyingQueue === underlying)
    let seen = Log<Int?>()
    for _ in 0..<10 {
      queue.addOperation(BlockOperation { seen.add(DispatchQueue.getSpecific(key: key)) })
    }
    queue.addBarrierBlock { seen.add(DispatchQueue.getSpecific(key: key)) }
    try await queue.untilAllOperationsAreFinished()
    #expect(seen.entries == Array(repeating: 7, count: 11))
    queue.underlyingQueue = nil
    queue.addOperation(BlockOperation { seen.add(DispatchQueue.getSpecific(key: key)) })
    try await queue.untilAllOperationsAreFinished()
    #expect(seen.entries.last == .some(nil))
  }

  @Test func `a worker of the former executor runs nothing after the change`() async throws {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let early = EndsInCancel()
    queue.addOperation(early)
    early.end()
    #expect(queue.operationCount == 0)
    #expect(executor.waiting == 1)
    queue.underlyingQueue = DispatchQueue(label: "underlying")
    let ran = Latch()
    queue.addOperation(BlockOperation { ran.open() })
    await ran.opened()
    executor.runAll()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `a worker of the former executor leaves later operations to the new one`()
    async throws
  {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let manually = Log<Bool>()
    let ran = Latch()
    let early = SelfKept { [queue] operation in
      operation.end()
      queue.underlyingQueue = DispatchQueue(label: "underlying")
      queue.addOperation(BlockOperation { ran.open() })
      ran.pass()
      queue.addOperation(
        BlockOperation { [thread = threadID()] in manually.add(thread == threadID()) }
      )
    }
    queue.addOperation(early)
    await onThread { executor.runAll() }
    try await queue.untilAllOperationsAreFinished()
    #expect(manually.entries == [false])
  }

  @Test func `a suspended worker of the former executor doesn't delay the new one`()
    async throws
  {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let next = Operation()
    let other = DispatchQueue(label: "other")
    other.suspend()
    // The queue is empty from the report of its end on, while its worker is still here.
    let last = SelfKept { last in
      last.end()
      queue.underlyingQueue = other
      queue.addOperation(next)
    }
    queue.addOperation(last)
    executor.runAll()
    #expect(last.isFinished && !next.isFinished)
    other.resume()
    try await queue.untilAllOperationsAreFinished()
    #expect(next.isFinished)
  }

  @Test func `operations survive the release of their queue`() async {
    let done = Countdown(101)
    do {
      let queue = OperationQueue()
      let operations = (0..<100).map { _ in BlockOperation { done.count() } }
      for (earlier, later) in zip(operations, operations.dropFirst()) {
        later.addDependency(earlier)
      }
      queue.addOperations(operations)
      queue.addBarrierBlock { done.count() }
    }
    await done.done.opened()
  }

  @Test func `a queue keeps the properties that were set`() {
    let queue = OperationQueue()
    queue.name = "import"
    #expect(queue.name == "import")
    #expect(queue.qualityOfService == .default)
    queue.qualityOfService = .utility
    #expect(queue.qualityOfService == .utility)
  }
}
