import CoreOperations
import Dispatch
import TestSupport
import Testing

/// What holds for a closure that isn't async, whether or not the queue has an operation for it.
@Suite(.watched) struct `A closure in a queue` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue

  init() { queue = OperationQueue(executor: executor) }

  // MARK: Order

  @Test(arguments: [1, 4])
  func `a closure runs once in the order of adding`(limit: Int) {
    queue.maxConcurrentOperationCount = limit
    let log = Log<Int>()
    for number in 0..<200 { queue.addOperation { log.add(number) } }
    #expect(log.count == 0)
    executor.runAll()
    #expect(log.entries == Array(0..<200))
  }

  @Test(arguments: 0..<16)
  func `a closure keeps its place among ready operations of equal priority`(pattern: Int) {
    queue.maxConcurrentOperationCount = 1
    let log = Log<Int>()
    for number in 0..<64 {
      if pattern >> (number % 4) & 1 == 1 {
        queue.addOperation { log.add(number) }
      } else {
        queue.addOperation(BlockOperation { log.add(number) })
      }
      // The line is not only filled and then emptied.
      if number % 11 == 10 { executor.runOne() }
    }
    executor.runAll()
    #expect(log.entries == Array(0..<64))
  }

  @Test func `a closure runs after more urgent operations and before less urgent ones`() {
    queue.isSuspended = true
    queue.maxConcurrentOperationCount = 1
    let log = Log<String>()
    let low = BlockOperation { log.add("low") }
    low.queuePriority = .low
    let high = BlockOperation { log.add("high") }
    high.queuePriority = .high
    queue.addOperation { log.add("first") }
    queue.addOperation(low)
    queue.addOperation { log.add("second") }
    queue.addOperation(high)
    queue.addOperation { log.add("third") }
    queue.isSuspended = false
    executor.runAll()
    #expect(log.entries == ["high", "first", "second", "third", "low"])
  }

  @Test func `a closure runs after earlier operations even if they become ready later`() {
    queue.maxConcurrentOperationCount = 1
    let log = Log<String>()
    let (early, late) = (Operation(), Operation())
    let afterEarly = BlockOperation { log.add("ready before") }
    let afterLate = BlockOperation { log.add("ready later") }
    afterEarly.addDependency(early)
    afterLate.addDependency(late)
    queue.addOperations([afterEarly, afterLate])
    early.start()
    queue.addOperation { log.add("closure") }
    late.start()
    executor.runAll()
    #expect(log.entries == ["ready before", "ready later", "closure"])
  }

  // MARK: Counting

  @Test func `a closure counts as an operation until it has returned`() {
    queue.maxConcurrentOperationCount = 1
    let counts = Log<Int>()
    for number in 1...4 {
      queue.addOperation { [queue] in counts.add(queue.operationCount) }
      #expect(queue.operationCount == number)
    }
    executor.runAll()
    #expect(counts.entries == [4, 3, 2, 1])
    #expect(queue.operationCount == 0)
  }

  @Test func `a closure counts in the progress that restarts on an empty queue`() {
    let executor = ManualExecutor(operationsPerWorker: 1)
    let queue = OperationQueue(executor: executor)
    let progress = queue.progress
    let seen = Log<Int64>()
    for _ in 0..<4 { queue.addOperation { seen.add(progress.completedUnitCount) } }
    #expect(progress.totalUnitCount == 4)
    #expect(progress.completedUnitCount == 0)
    executor.runOne()
    #expect(progress.fractionCompleted == 0.25)
    executor.runAll()
    #expect(seen.entries == [0, 1, 2, 3])
    #expect(progress.fractionCompleted == 1)
    queue.addOperation {}
    queue.addOperation(Operation())
    #expect(progress.totalUnitCount == 2)
    #expect(progress.completedUnitCount == 0)
    executor.runAll()
    #expect(progress.completedUnitCount == 2)
  }

  @Test func `observers of the operation count are notified about closures`() {
    queue.addOperation {}
    let counts = Log<Int>()
    let token = queue.observe(\.operationCount, options: [.initial, .new]) { _, change in
      counts.add(change.newValue ?? -1)
    }
    queue.addOperation {}
    queue.addOperation {}
    #expect(counts.entries == [1, 2, 3])
    queue.maxConcurrentOperationCount = 1
    executor.runAll()
    #expect(counts.entries == [1, 2, 3, 2, 1, 0])
    token.invalidate()
    queue.addOperation {}
    executor.runAll()
    #expect(counts.count == 6)
  }

  // MARK: Slots

  @Test(arguments: [(1, ["begins", "ends", "next"]), (2, ["begins", "next", "ends"])])
  func `a closure holds one slot until it has returned`(limit: Int, order: [String]) {
    queue.maxConcurrentOperationCount = limit
    let log = Log<String>()
    queue.addOperation { [queue, executor] in
      log.add("begins")
      queue.addOperation { log.add("next") }
      // A worker finds the next one only if there is a slot for it.
      executor.runAll()
      log.add("ends")
    }
    executor.runAll()
    #expect(log.entries == order)
    #expect(queue.operationCount == 0)
  }

  @Test func `a closure shares the slots with operations`() {
    queue.maxConcurrentOperationCount = 2
    let holder = SelfKept()
    let log = Log<String>()
    queue.addOperation(holder)
    executor.runAll()
    queue.addOperation { [queue, executor] in
      queue.addOperation { log.add("next") }
      executor.runAll()
      log.add("ends")
    }
    executor.runAll()
    #expect(holder.isExecuting)
    #expect(log.entries == ["ends", "next"])
    holder.end()
    executor.runAll()
    #expect(queue.operationCount == 0)
  }

  @Test func `a closure waits while the limit is 0`() {
    queue.maxConcurrentOperationCount = 0
    let ran = Tally()
    queue.addOperation { [queue] in
      ran.add()
      queue.maxConcurrentOperationCount = 0
    }
    for _ in 0..<9 { queue.addOperation { ran.add() } }
    executor.runAll()
    #expect(ran.now == 0)
    queue.maxConcurrentOperationCount = 3
    executor.runAll()
    #expect(ran.now == 1)
    #expect(queue.operationCount == 9)
    queue.maxConcurrentOperationCount = OperationQueue.defaultMaxConcurrentOperationCount
    executor.runAll()
    #expect(ran.now == 10)
  }

  @Test(arguments: [1, 3])
  func `closures on threads reach the limit and never exceed it`(limit: Int) async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = limit
    let running = Tally()
    let all = Countdown(limit)
    for _ in 0..<limit {
      queue.addOperation {
        running.add()
        all.count()
        all.done.pass()
        running.add(-1)
      }
    }
    for _ in 0..<Effort.rounds(2_000) {
      queue.addOperation {
        running.add()
        running.add(-1)
      }
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(running.peak == limit)
  }

  @Test func `a raised limit starts a waiting closure immediately`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let (gate, started) = (Latch(), Latch())
    queue.addOperation {
      started.open()
      gate.pass()
    }
    queue.addOperation { gate.open() }
    await started.opened()
    queue.maxConcurrentOperationCount = 2
    try await queue.untilAllOperationsAreFinished()
  }

  // MARK: Suspension

  @Test func `a suspended queue starts no closure`() {
    queue.isSuspended = true
    let ran = Tally()
    for _ in 0..<10 { queue.addOperation { ran.add() } }
    executor.runAll()
    #expect(ran.now == 0)
    #expect(queue.operationCount == 10)
    queue.isSuspended = false
    executor.runAll()
    #expect(ran.now == 10)
  }

  @Test func `no closure starts after one that suspends its queue`() {
    queue.maxConcurrentOperationCount = 1
    let ran = Tally()
    queue.addOperation { [queue] in queue.isSuspended = true }
    for _ in 0..<10 { queue.addOperation { ran.add() } }
    executor.runAll()
    #expect(ran.now == 0)
    queue.isSuspended = false
    executor.runAll()
    #expect(ran.now == 10)
  }

  @Test func `a closure isn't started while starts are held`() {
    let ran = Tally()
    queue.addOperation { ran.add() }
    queue.withoutStarts {
      queue.addOperation { ran.add() }
      executor.runAll()
      #expect(ran.now == 0)
    }
    executor.runAll()
    #expect(ran.now == 2)
  }

  // MARK: Where it runs

  @Test func `a closure sees its queue as current again after a nested queue`() {
    let innerExecutor = ManualExecutor()
    let inner = OperationQueue(executor: innerExecutor)
    let seen = Log<OperationQueue?>()
    inner.addOperation { seen.add(.current) }
    queue.addOperation {
      seen.add(.current)
      innerExecutor.runAll()
      BlockOperation { seen.add(.current) }.start()
      seen.add(.current)
    }
    executor.runAll()
    #expect(seen.entries == [queue, inner, queue, queue])
    #expect(OperationQueue.current == nil)
  }

  @Test func `a closure runs on the underlying dispatch queue until that is removed`() async throws
  {
    let queue = OperationQueue()
    let dispatch = DispatchQueue(label: "closures")
    queue.underlyingQueue = dispatch
    for _ in 0..<100 {
      queue.addOperation { dispatchPrecondition(condition: .onQueue(dispatch)) }
    }
    try await queue.untilAllOperationsAreFinished()
    queue.underlyingQueue = nil
    for _ in 0..<100 {
      queue.addOperation { dispatchPrecondition(condition: .notOnQueue(dispatch)) }
    }
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `setting the underlying queue traps while a closure waits`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      queue.name = "uploads"
      queue.isSuspended = true
      queue.addOperation { () -> Void in }
      queue.underlyingQueue = DispatchQueue(label: "other")
    }
    try expectMessage(
      "underlyingQueue of queue “uploads” was set while it has operations. "
        + "Set it before adding any.",
      in: result
    )
  }

  @Test func `setting the underlying queue traps while a closure runs`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      queue.name = "uploads"
      queue.addOperation { queue.underlyingQueue = DispatchQueue(label: "other") }
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "underlyingQueue of queue “uploads” was set while it has operations.",
      in: result
    )
  }

  // MARK: Adding more

  @Test func `a closure may add closures that a wait includes`() async {
    let queue = OperationQueue()
    let ran = Tally()
    @Sendable func branch(_ depth: Int) {
      ran.add()
      if depth == 0 { return }
      for _ in 0..<2 { queue.addOperation { branch(depth - 1) } }
    }
    let count = await onThread {
      queue.addOperation { branch(11) }
      queue.waitUntilAllOperationsAreFinished()
      return ran.now
    }
    #expect(count == 4_095)
  }

  @Test func `closures may add ten thousand successors on a small stack`() async {
    let left = await onThread(stackSize: 512 * 1_024) { () -> Int in
      let executor = ManualExecutor()
      let queue = OperationQueue(executor: executor)
      let left = Tally()
      left.add(50_000)
      @Sendable func next() { if left.add(-1) > 1 { queue.addOperation { next() } } }
      queue.addOperation { next() }
      executor.runAll()
      return left.now
    }
    #expect(left == 0)
  }
}
