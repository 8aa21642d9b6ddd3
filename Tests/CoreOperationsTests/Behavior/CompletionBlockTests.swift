import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `A completion block` {
  @Test func `a completion block runs once after the end`() async throws {
    let queue = OperationQueue()
    let seen = Log<Bool>()
    let operation = Operation()
    operation.completionBlock = { [unowned operation] in
      seen.add(operation.isFinished)
      seen.add(operation.completionBlock == nil)
    }
    #expect(operation.completionBlock != nil)
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    #expect(seen.entries == [true, true])
    #expect(operation.completionBlock == nil)
  }

  @Test func `a completion block runs on another thread than the reported end`() async {
    let completed = Latch()
    let returned = Latch()
    // The reporting stack waits for the block: on the same thread that would never end.
    let operation = SelfKept { operation in
      operation.end()
      completed.pass()
      returned.open()
    }
    operation.completionBlock = { completed.open() }
    OperationQueue().addOperation(operation)
    await returned.opened()
  }

  @Test func `a manually started operation runs its completion block`() async {
    let completed = Latch()
    let operation = Operation()
    operation.completionBlock = { completed.open() }
    operation.start()
    await completed.opened()
  }

  @Test func `a completion block keeps membership without delaying dependents or slots`() {
    let executor = ManualExecutor(operationsPerWorker: 1)
    let queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 1
    let seen = Log<String>()
    let operation = Operation()
    let dependent = BlockOperation { seen.add("dependent") }
    dependent.addDependency(operation)
    operation.completionBlock = { [queue, unowned operation] in
      seen.add("block, \(queue.operations == [operation])")
    }
    queue.addOperations([operation, dependent])
    executor.runOne()
    #expect(operation.isFinished)
    #expect(queue.operations.contains(operation))
    executor.runAll()
    #expect(seen.entries == ["dependent", "block, true"])
    #expect(queue.operationCount == 0)
  }

  @Test func `a blocking completion block delays the queue's wait and not the operation's`()
    async throws
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let gate = Latch()
    let operation = Operation()
    operation.completionBlock = { gate.pass() }
    let dependent = Operation()
    dependent.addDependency(operation)
    queue.addOperations([operation, dependent])
    try await operation.untilFinished()
    try await dependent.untilFinished()
    let queueIsEmpty = Latch()
    let waiting = Task {
      try await queue.untilAllOperationsAreFinished()
      queueIsEmpty.open()
    }
    // The first two have given back the only slot when this has it.
    let members = Log<[Operation]>()
    let later = BlockOperation { [queue] in members.add(queue.operations) }
    queue.addOperation(later)
    try await later.untilFinished()
    #expect(members.entries == [[operation, later]])
    #expect(!queueIsEmpty.isOpen)
    gate.open()
    try await waiting.value
    #expect(queue.operationCount == 0)
  }

  @Test func `a replaced completion block doesn't run`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let seen = Log<Int>()
    let operation = Operation()
    operation.completionBlock = { seen.add(1) }
    operation.completionBlock = { seen.add(2) }
    let silenced = Operation()
    silenced.completionBlock = { seen.add(3) }
    silenced.completionBlock = nil
    queue.addOperations([operation, silenced])
    executor.runAll()
    #expect(seen.entries == [2])
  }

  @Test func `a completion block that is set after the end isn't kept`() async {
    let live = LiveCount()
    let operation = Operation()
    operation.start()
    do {
      let token = Token(live)
      operation.completionBlock = { token.touch() }
    }
    #expect(operation.completionBlock == nil)
    #expect(live.made == 1)
    #expect(live.alive == 0)
  }

  @Test func `a completion block that a completion block sets never runs`() async throws {
    let queue = OperationQueue()
    let runs = Tally()
    let operation = Operation()
    operation.completionBlock = { [unowned operation] in
      runs.add()
      operation.completionBlock = { runs.add() }
    }
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    #expect(runs.now == 1)
    #expect(operation.completionBlock == nil)
  }

  @Test func `a completion block may add operations to its queue`() async throws {
    let queue = OperationQueue()
    let ran = Tally()
    let operation = Operation()
    operation.completionBlock = { [queue] in
      for _ in 0..<10 { queue.addOperation(BlockOperation { ran.add() }) }
    }
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 10)
  }

  @Test func `a completion block releases its captures outside of locks`() async throws {
    let queue = OperationQueue()
    let other = OperationQueue()
    let count = 2_000
    let ends = Countdown(count)
    let operations = (0..<count).map { _ in
      let token = Token {
        other.addOperation(Operation())
        _ = queue.operationCount
        ends.count()
      }
      let operation = Operation()
      operation.completionBlock = { token.touch() }
      return operation
    }
    queue.addOperations(operations)
    await ends.done.opened()
    try await queue.untilAllOperationsAreFinished()
    try await other.untilAllOperationsAreFinished()
  }
}
