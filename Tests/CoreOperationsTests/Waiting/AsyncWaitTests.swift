import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Waiting in a task` {
  @Test func `a task's wait for an operation ends with the operation`() async throws {
    let queue = OperationQueue()
    let operation = Operation()
    let waits = (0..<100).map { _ in Task { try await operation.untilFinished() } }
    queue.addOperation(operation)
    for wait in waits { try await wait.value }
    #expect(operation.isFinished)
    try await operation.untilFinished()
  }

  @Test func `a task's wait for a queue ends when the queue is empty`() async throws {
    let queue = OperationQueue()
    try await queue.untilAllOperationsAreFinished()
    let operations = (0..<100).map { _ in Operation() }
    queue.addOperations(operations)
    try await queue.untilAllOperationsAreFinished()
    #expect(operations.allSatisfy { $0.isFinished })
    #expect(queue.operationCount == 0)
  }

  @Test func `a cancelled task's wait ends and its operation continues`() async throws {
    let queue = OperationQueue()
    let gate = Latch()
    let operation = BlockOperation { gate.pass() }
    queue.addOperation(operation)
    let wait = Task { try await operation.untilFinished() }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
    #expect(!operation.isCancelled)
    #expect(!operation.isFinished)
    gate.open()
    try await operation.untilFinished()
  }

  @Test func `a cancelled task's wait for a queue ends and its operations continue`() async throws {
    let queue = OperationQueue()
    let gate = Latch()
    let operation = BlockOperation { gate.pass() }
    queue.addOperation(operation)
    let wait = Task { try await queue.untilAllOperationsAreFinished() }
    wait.cancel()
    await #expect(throws: CancellationError.self) { try await wait.value }
    #expect(!operation.isCancelled)
    gate.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(operation.isFinished)
  }

  @Test func `a cancelled task leaves no waiter on the operation`() async {
    let operation = Operation()
    let steps = ManualTasks()
    let waits = (0..<10).map { _ in
      Task(executorPreference: steps) { try await operation.untilFinished() }
    }
    steps.runAll()
    #expect(operation.hasDependents)
    for wait in waits.dropLast() { wait.cancel() }
    #expect(operation.hasDependents)
    waits[9].cancel()
    #expect(!operation.hasDependents)
    steps.runAll()
    for wait in waits { await #expect(throws: CancellationError.self) { try await wait.value } }
  }

  @Test func `a cancelled wait removes itself once`() async {
    let steps = ManualTasks()
    let removed = Log<ObjectIdentifier>()
    let wait = AsyncWait()
    let task = Task(executorPreference: steps) {
      try await wait.run { _ in
        true
      } unregister: {
        removed.add(ObjectIdentifier($0))
      }
    }
    steps.runAll()
    #expect(removed.count == 0)
    task.cancel()
    wait.finish()
    steps.runAll()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(removed.entries == [ObjectIdentifier(wait)])
  }

  @Test func `a wait in a cancelled task throws immediately`() async {
    let never = Operation()
    let gate = Latch()
    let wait = Task {
      await gate.opened()
      try await never.untilFinished()
    }
    wait.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await wait.value }
  }

  @Test func `a wait that is cancelled at any moment ends once`() async throws {
    for round in 0..<Effort.rounds(500) {
      let operation = Operation()
      let wait = Task { try await operation.untilFinished() }
      for _ in 0..<(round % 7) { await Task.yield() }
      launchThreadFromPool { operation.start() }
      wait.cancel()
      switch await wait.result {
      case .success: #expect(operation.isFinished)
      case .failure(let error): #expect(error is CancellationError)
      }
      try await operation.untilFinished()
    }
  }

  @Test func `cancelling thousands of waits doesn't scan all waits`() async throws {
    let operation = Operation()
    let queue = OperationQueue()
    let gate = Latch()
    queue.addOperation(BlockOperation { gate.pass() })
    let waits = (0..<Effort.size(20_000)).map { number in
      Task {
        if number.isMultiple(of: 2) {
          try await operation.untilFinished()
        } else {
          try await queue.untilAllOperationsAreFinished()
        }
      }
    }
    for wait in waits.dropFirst(2) { wait.cancel() }
    var cancelled = 0
    for wait in waits.dropFirst(2) {
      if case .failure(is CancellationError) = await wait.result { cancelled += 1 }
    }
    #expect(cancelled == waits.count - 2)
    operation.start()
    gate.open()
    for wait in waits.prefix(2) { try await wait.value }
  }

  @Test func `waiting in a task doesn't block a thread`() async throws {
    // Far more waits than there are threads for tasks.
    let operation = Operation()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<Effort.rounds(500) { group.addTask { try await operation.untilFinished() } }
      group.addTask { operation.start() }
      try await group.waitForAll()
    }
  }
}
