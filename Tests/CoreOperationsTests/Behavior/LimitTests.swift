import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `The limit` {
  @Test func `the limit of a queue is the default unless it is set`() {
    let queue = OperationQueue()
    #expect(queue.maxConcurrentOperationCount == -1)
    #expect(OperationQueue.defaultMaxConcurrentOperationCount == -1)
    for limit in [0, 1, 7, Int.max, -1] {
      queue.maxConcurrentOperationCount = limit
      #expect(queue.maxConcurrentOperationCount == limit)
    }
  }

  @Test(arguments: [1, 3])
  func `the limit of a queue is reached and never exceeded`(limit: Int) async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = limit
    let running = Tally()
    let all = Countdown(limit)
    for _ in 0..<limit {
      queue.addOperation(
        BlockOperation {
          running.add()
          all.count()
          all.done.pass()
          running.add(-1)
        }
      )
    }
    for _ in 0..<Effort.rounds(2_000) {
      queue.addOperation(
        BlockOperation {
          running.add()
          running.add(-1)
        }
      )
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(running.peak == limit)
  }

  @Test func `a raised limit starts more operations immediately`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let gate = Latch()
    let started = Latch()
    // The first ends only when the second runs beside it.
    queue.addOperation(
      BlockOperation {
        started.open()
        gate.pass()
      }
    )
    queue.addOperation(BlockOperation { gate.open() })
    await started.opened()
    queue.maxConcurrentOperationCount = 2
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `a lowered limit starts none until enough operations have finished`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 3
    let holders = (0..<3).map { _ in SelfKept() }
    let later = (0..<3).map { _ in SelfKept() }
    queue.addOperations(holders + later)
    executor.runAll()
    #expect(holders.allSatisfy { $0.isExecuting })
    queue.maxConcurrentOperationCount = 1
    for holder in holders[..<2] {
      holder.end()
      executor.runAll()
      #expect(!later[0].isExecuting)
    }
    holders[2].end()
    executor.runAll()
    #expect(later.map { $0.isExecuting } == [true, false, false])
    for operation in later {
      operation.end()
      executor.runAll()
    }
    #expect(queue.operationCount == 0)
  }

  @Test func `a limit of 0 starts nothing until it is raised`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 0
    let operations = (0..<3).map { _ in Operation() }
    queue.addOperations(operations)
    let barrier = Tally()
    queue.addBarrierBlock { barrier.add() }
    executor.runAll()
    #expect(operations.allSatisfy { !$0.isFinished })
    queue.maxConcurrentOperationCount = 1
    executor.runAll()
    #expect(operations.allSatisfy { $0.isFinished })
    #expect(barrier.now == 1)
  }

  @Test func `an operation may lower the limit for the next operations`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let ran = Tally()
    queue.addOperation(BlockOperation { [queue] in queue.maxConcurrentOperationCount = 0 })
    for _ in 0..<10 { queue.addOperation(BlockOperation { ran.add() }) }
    executor.runAll()
    #expect(ran.now == 0)
    queue.maxConcurrentOperationCount = OperationQueue.defaultMaxConcurrentOperationCount
    executor.runAll()
    #expect(ran.now == 10)
  }

  @Test func `a limit that many threads set is in force as it reads`() async throws {
    for _ in 0..<Effort.rounds(300) {
      let executor = ManualExecutor()
      let queue = OperationQueue(executor: executor)
      let done = Countdown(2)
      for limit in 1...2 {
        launchThreadFromPool {
          queue.maxConcurrentOperationCount = limit
          done.count()
        }
      }
      await done.done.opened()
      let operations = (0..<4).map { _ in SelfKept() }
      queue.addOperations(operations)
      executor.runAll()
      #expect(operations.count { $0.isExecuting } == queue.maxConcurrentOperationCount)
      for operation in operations { operation.end() }
    }
  }

  @Test func `a constantly changing limit is never exceeded`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 4
    let running = Tally()
    let changes = Countdown(1)
    launchThread {
      for round in 0..<Effort.rounds(2_000) { queue.maxConcurrentOperationCount = round % 5 }
      queue.maxConcurrentOperationCount = 4
      changes.count()
    }
    for _ in 0..<5_000 {
      queue.addOperation(
        BlockOperation {
          running.add()
          running.add(-1)
        }
      )
    }
    await changes.done.opened()
    try await queue.untilAllOperationsAreFinished()
    #expect(running.peak <= 4)
    #expect(running.now == 0)
  }
}
