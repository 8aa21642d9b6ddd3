import CoreOperations
import Dispatch
import TestSupport
import Testing

@Suite(.watched) struct `The current queue` {
  @Test func `the current queue is nil outside of any queue`() async {
    #expect(OperationQueue.current == nil)
    #expect(await onThread { OperationQueue.current == nil })
    let seen = Log<Bool>()
    let operation = BlockOperation { seen.add(OperationQueue.current == nil) }
    operation.start()
    #expect(seen.entries == [true])
  }

  @Test func `the current queue is the main queue on the main thread`() async {
    let isMain = await MainActor.run { OperationQueue.current == .main }
    #expect(isMain)
    let isMainInBlock = await withCheckedContinuation { continuation in
      DispatchQueue.main.async { continuation.resume(returning: OperationQueue.current == .main) }
    }
    #expect(isMainInBlock)
    let seen = Log<OperationQueue?>()
    await MainActor.run { BlockOperation { seen.add(.current) }.start() }
    #expect(seen.entries == [.main])
  }

  @Test
  func `the current queue on the main thread is the running operation's queue`() async throws {
    let queue = OperationQueue()
    let seen = Log<OperationQueue?>()
    queue.addOperation { () async -> Void in
      await MainActor.run {
        seen.add(.current)
        BlockOperation { seen.add(.current) }.start()
      }
    }
    try await queue.untilAllOperationsAreFinished()
    let executor = ManualExecutor()
    let stepped = OperationQueue(executor: executor)
    stepped.addOperation(BlockOperation { seen.add(.current) })
    await MainActor.run { executor.runAll() }
    #expect(seen.entries == [queue, queue, stepped])
  }

  @Test func `the current queue is known in bodies, blocks, barriers and async closures`()
    async throws
  {
    let queue = OperationQueue()
    let seen = Log<Bool>()
    let all = Countdown(3)
    let blocks = BlockOperation()
    for _ in 0..<3 {
      blocks.addExecutionBlock {
        all.count()
        all.done.pass()
        seen.add(OperationQueue.current === queue)
      }
    }
    queue.addOperation(blocks)
    queue.addBarrierBlock { seen.add(OperationQueue.current === queue) }
    queue.addOperation { () -> Void in seen.add(OperationQueue.current === queue) }
    queue.addOperation { () async -> Void in
      seen.add(OperationQueue.current === queue)
      await Task.yield()
      seen.add(OperationQueue.current === queue)
      let child = Task { OperationQueue.current === queue }
      seen.add(await child.value)
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(seen.entries == Array(repeating: true, count: 8))
    #expect(OperationQueue.current == nil)
  }

  @Test func `the current queue is known in a queue that repeatedly runs empty`()
    async throws
  {
    let unknown = Tally()
    let queue = OperationQueue()
    for _ in 0..<Effort.rounds(3_000) {
      let operation = BlockOperation { if OperationQueue.current !== queue { unknown.add() } }
      let ender = EndsInCancel()
      queue.addOperation(ender)
      ender.cancel()
      queue.addOperation(operation)
      try await operation.untilFinished()
    }
    #expect(unknown.now == 0)
  }

  @Test func `a nested queue is the current one until it returns`() {
    let outerExecutor = ManualExecutor()
    let innerExecutor = ManualExecutor()
    let outer = OperationQueue(executor: outerExecutor)
    let inner = OperationQueue(executor: innerExecutor)
    let seen = Log<Bool>()
    inner.addOperation(BlockOperation { seen.add(OperationQueue.current === inner) })
    outer.addOperation(
      BlockOperation {
        innerExecutor.runAll()
        seen.add(OperationQueue.current === outer)
      }
    )
    outerExecutor.runAll()
    #expect(seen.entries == [true, true])
    #expect(OperationQueue.current == nil)
  }

  @Test func `the main queue is the current one in its serial operations`() async throws {
    let queue = OperationQueue.main
    #expect(queue === OperationQueue.main)
    #expect(queue.maxConcurrentOperationCount == 1)
    #expect(queue.underlyingQueue?.label == DispatchQueue.main.label)
    #expect(queue.name == "main")
    let running = Tally()
    let seen = Log<Bool>()
    let operations = (0..<20).map { _ in
      BlockOperation {
        dispatchPrecondition(condition: .onQueue(.main))
        MainActor.assumeIsolated { _ = running.add() }
        seen.add(OperationQueue.current === OperationQueue.main)
        running.add(-1)
      }
    }
    queue.addOperations(operations)
    for operation in operations { try await operation.untilFinished() }
    #expect(seen.entries == Array(repeating: true, count: 20))
    #expect(running.peak == 1)
  }

  @Test func `completion blocks of the main queue run off the main thread`() async {
    let completed = Latch()
    let operation = Operation()
    operation.completionBlock = {
      dispatchPrecondition(condition: .notOnQueue(.main))
      completed.open()
    }
    OperationQueue.main.addOperation(operation)
    await completed.opened()
  }

  @Test func `the main queue's limit and underlying queue can't be changed`() async throws {
    let queue = OperationQueue.main
    queue.maxConcurrentOperationCount = 4
    queue.maxConcurrentOperationCount = OperationQueue.defaultMaxConcurrentOperationCount
    queue.isSuspended = true
    queue.underlyingQueue = DispatchQueue(label: "another one")
    queue.underlyingQueue = nil
    queue.name = "renamed"
    #expect(queue.maxConcurrentOperationCount == 1)
    #expect(!queue.isSuspended)
    #expect(queue.underlyingQueue?.label == DispatchQueue.main.label)
    #expect(queue.name == "main")
    let operation = BlockOperation { dispatchPrecondition(condition: .onQueue(.main)) }
    queue.addOperation(operation)
    try await operation.untilFinished()
  }
}
