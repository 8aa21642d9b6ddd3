import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `A suspended queue` {
  @Test func `a suspended queue starts nothing until it resumes`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    #expect(!queue.isSuspended)
    queue.isSuspended = true
    #expect(queue.isSuspended)
    let operations = (0..<10).map { _ in Operation() }
    operations[1].addDependency(operations[0])
    queue.addOperations(operations)
    executor.runAll()
    #expect(operations.allSatisfy { !$0.isFinished && $0.isReady == ($0 != operations[1]) })
    queue.isSuspended = false
    executor.runAll()
    #expect(operations.allSatisfy { $0.isFinished })
  }

  @Test func `a queue that an operation suspends starts no other operation`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let ran = Tally()
    for number in 0..<400 {
      queue.addOperation(
        BlockOperation { [queue] in
          ran.add()
          if number == 4 { queue.isSuspended = true }
        }
      )
    }
    executor.runAll()
    #expect(ran.now == 5)
    queue.isSuspended = false
    executor.runAll()
    #expect(ran.now == 400)
  }

  @Test
  func `a suspended queue lets executing operations and completion blocks end`() async throws {
    let queue = OperationQueue()
    let started = Latch()
    let gate = Latch()
    let completed = Latch()
    let operation = BlockOperation {
      started.open()
      gate.pass()
    }
    operation.completionBlock = { completed.open() }
    let dependent = Operation()
    dependent.addDependency(operation)
    queue.addOperations([operation, dependent])
    await started.opened()
    queue.isSuspended = true
    gate.open()
    await completed.opened()
    #expect(operation.isFinished)
    #expect(dependent.isReady)
    #expect(!dependent.isFinished)
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    #expect(dependent.isFinished)
  }

  /// Runs workers on threads of its own and knows when the last has left.
  private final class Workshop: OperationExecutor {
    private let state = Locked((inside: 0, whenEmpty: [Latch]()))

    func enqueue(_ worker: @escaping @Sendable () -> Void) {
      state.withLock { $0.inside += 1 }
      launchThread {
        worker()
        self.left()
      }
    }

    private func left() {
      let gates = state.withLock { state -> [Latch] in
        state.inside -= 1
        guard state.inside == 0 else { return [] }
        defer { state.whenEmpty = [] }
        return state.whenEmpty
      }
      for gate in gates { gate.open() }
    }

    /// Waits until no worker is inside.
    func empty() async {
      let gate = Latch()
      let isEmpty = state.withLock { state in
        if state.inside > 0 { state.whenEmpty.append(gate) }
        return state.inside == 0
      }
      if !isEmpty { await gate.opened() }
    }
  }

  @Test(arguments: [1, 4])
  func `a suspended queue with a large backlog starts only decided operations`(
    limit: Int
  ) async throws {
    let workshop = Workshop()
    let queue = OperationQueue(executor: workshop)
    queue.maxConcurrentOperationCount = limit
    let total = 20_000
    let starts = Tally()
    let some = Countdown(100)
    for _ in 0..<total {
      queue.addOperation(
        BlockOperation {
          starts.add()
          some.count()
        }
      )
    }
    await some.done.opened()
    queue.isSuspended = true
    let atReturn = starts.now
    await workshop.empty()
    #expect(starts.now <= atReturn + limit)
    #expect(queue.operationCount == total - starts.now)
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    #expect(starts.now == total)
  }

  @Test func `a queue that repeatedly suspends and resumes runs everything once`() async throws {
    let queue = OperationQueue()
    let ran = Tally()
    let done = Countdown(1)
    launchThread {
      for round in 0..<Effort.rounds(2_000) { queue.isSuspended = round.isMultiple(of: 2) }
      queue.isSuspended = false
      done.count()
    }
    for _ in 0..<5_000 { queue.addOperation(BlockOperation { ran.add() }) }
    await done.done.opened()
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 5_000)
  }
}
