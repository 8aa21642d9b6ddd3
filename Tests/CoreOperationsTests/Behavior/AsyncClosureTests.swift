import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `An async closure` {
  @Test func `an async closure runs as an operation of its queue`() async throws {
    let queue = OperationQueue()
    let ran = Tally()
    for _ in 0..<200 {
      queue.addOperation { () async -> Void in
        await Task.yield()
        ran.add()
      }
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 200)
  }

  @Test func `an async closure holds its slot until it returns`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let running = Tally()
    for _ in 0..<100 {
      queue.addOperation { () async -> Void in
        running.add()
        for _ in 0..<5 { await Task.yield() }
        running.add(-1)
      }
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(running.peak <= 2)
    #expect(running.now == 0)
  }

  @Test func `a suspended async closure is executing until it returns`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let started = Latch()
    let gate = Latch()
    let next = Operation()
    queue.addOperation { () async -> Void in
      started.open()
      await gate.opened()
    }
    queue.addOperation(next)
    await started.opened()
    let operation = try #require(queue.operations.first)
    #expect(operation.isExecuting)
    #expect(operation.isAsynchronous)
    #expect(!operation.isFinished)
    #expect(!next.isFinished)
    gate.open()
    try await next.untilFinished()
    #expect(operation.isFinished)
    #expect(!operation.isExecuting)
  }

  @Test func `cancelling an async closure's operation cancels its task`() async throws {
    let queue = OperationQueue()
    let started = Latch()
    let seen = Log<Bool>()
    let cancelled = Latch()
    queue.addOperation { () async -> Void in
      await withTaskCancellationHandler {
        started.open()
        await cancelled.opened()
        seen.add(Task.isCancelled)
      } onCancel: {
        cancelled.open()
      }
    }
    await started.opened()
    let operation = try #require(queue.operations.first)
    #expect(!operation.isCancelled)
    queue.cancelAllOperations()
    try await queue.untilAllOperationsAreFinished()
    #expect(seen.entries == [true])
    #expect(operation.isCancelled)
  }

  @Test func `a cancelled async closure keeps its slot until it returns`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let started = Latch()
    let gate = Latch()
    queue.addOperation { () async -> Void in
      started.open()
      await gate.opened()
    }
    await started.opened()
    let operation = try #require(queue.operations.first)
    let next = BlockOperation { #expect(gate.isOpen) }
    operation.cancel()
    queue.addOperation(next)
    gate.open()
    try await next.untilFinished()
  }

  @Test func `an async closure that is cancelled before its start never runs`() async throws {
    let queue = OperationQueue()
    queue.isSuspended = true
    let ran = Tally()
    for _ in 0..<20 { queue.addOperation { () async -> Void in ran.add() } }
    queue.cancelAllOperations()
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 0)
  }

  /// Calls a closure when the first job of a task comes, before the task is known to anybody.
  private final class TaskGate: OperationExecutor, TaskExecutor {
    private let manual = ManualExecutor()
    private let atFirst = Locked<(@Sendable () -> Void)?>(nil)

    func atFirstJob(_ body: @escaping @Sendable () -> Void) { atFirst.withLock { $0 = body } }
    func enqueue(_ worker: @escaping @Sendable () -> Void) { manual.enqueue(worker) }
    func runAll() { manual.runAll() }

    func enqueue(_ job: consuming ExecutorJob) {
      atFirst.withLock { $0.take() }?()
      let job = UnownedJob(job)
      manual.enqueue { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  @Test
  func `an async closure that is cancelled during task creation runs cancelled on its executor`() {
    let executor = TaskGate()
    let queue = OperationQueue(executor: executor)
    let seen = Log<Bool>()
    executor.atFirstJob { queue.cancelAllOperations() }
    queue.addOperation { () async -> Void in seen.add(Task.isCancelled) }
    executor.runAll()
    #expect(seen.entries == [true])
    #expect(queue.operationCount == 0)
  }

  @Test func `an async closure that is cancelled at any moment leaves once`() async throws {
    let queue = OperationQueue()
    let ran = Tally()
    for _ in 0..<Effort.rounds(300) {
      queue.addOperation { () async -> Void in
        ran.add()
        await Task.yield()
        ran.add(-1)
      }
      let operations = queue.operations
      for operation in operations { launchThreadFromPool { operation.cancel() } }
      for operation in operations { try await operation.untilFinished() }
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 0)
  }

  @Test func `an async closure is released after it has returned`() async {
    let live = LiveCount()
    let queue = OperationQueue()
    do {
      let token = Token(live)
      queue.addOperation { () async -> Void in
        await Task.yield()
        token.touch()
      }
    }
    await live.none()
    #expect(live.made == 1)
  }

  @Test func `an async closure may suspend only sometimes`() async throws {
    let queue = OperationQueue()
    let log = Log<String>()
    queue.maxConcurrentOperationCount = 1
    queue.addOperation { log.add("plain") }
    queue.addOperation {
      await Task.yield()
      log.add("async")
    }
    queue.addBarrierBlock { log.add("barrier") }
    try await queue.untilAllOperationsAreFinished()
    #expect(log.entries == ["plain", "async", "barrier"])
  }

  @Test func `an async closure sees a cancel before its first suspension`() async throws {
    let queue = OperationQueue()
    let started = Latch()
    queue.addOperation { () async -> Void in
      started.open()
      await blockUntilCancelled()
    }
    await started.opened()
    queue.cancelAllOperations()
    try await queue.untilAllOperationsAreFinished()
    #expect(queue.operationCount == 0)
  }
}
