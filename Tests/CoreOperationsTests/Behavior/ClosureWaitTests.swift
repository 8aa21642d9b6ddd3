import CoreOperations
import TestSupport
import Testing

/// Waits for closures, waits in closures, and what is alive when they are over.
@Suite(.watched) struct `Waiting for closures` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue

  init() { queue = OperationQueue(executor: executor) }

  // MARK: Waits

  @Test func `waiting for closures ends when all have returned`() async throws {
    let queue = OperationQueue()
    let ran = Tally()
    for round in 1...200 {
      for _ in 0..<10 { queue.addOperation { ran.add() } }
      if round.isMultiple(of: 2) {
        try await queue.untilAllOperationsAreFinished()
      } else {
        await onThread { queue.waitUntilAllOperationsAreFinished() }
      }
      #expect(ran.now == round * 10)
      #expect(queue.operationCount == 0)
    }
  }

  @Test func `waiting that begins while a closure runs ends with the last closure`() {
    queue.maxConcurrentOperationCount = 1
    let log = Log<String>()
    queue.addOperation { [queue] in queue.whenEmpty { log.add("empty") } }
    queue.addOperation { log.add("second") }
    queue.addOperation { [queue] in
      log.add("third")
      queue.addOperation { log.add("fourth") }
    }
    executor.runAll()
    #expect(log.entries == ["second", "third", "fourth", "empty"])
    queue.whenEmpty { log.add("at once") }
    #expect(log.entries.last == "at once")
  }

  @Test func `waiting for closures includes barriers in their order`() {
    queue.maxConcurrentOperationCount = 2
    let log = Log<String>()
    queue.addOperation { [queue, executor] in
      queue.addBarrierBlock { log.add("barrier") }
      queue.addOperation { log.add("behind") }
      // There is a slot, but neither may run yet.
      executor.runAll()
      log.add("before")
    }
    queue.addOperation { log.add("beside") }
    executor.runAll()
    #expect(log.entries == ["beside", "before", "barrier", "behind"])
    #expect(queue.operationCount == 0)
  }

  /// In a process of its own: a state that has both waiting closures and members traps.
  @Test func `a barrier has all earlier closures in front of it`() async {
    await #expect(processExitsWith: .success) {
      let (executor, log) = (ManualExecutor(), Log<String>())
      let queue = OperationQueue(executor: executor)
      queue.maxConcurrentOperationCount = 2
      queue.addOperation {
        queue.addBarrierBlock { log.add("barrier") }
        // There is a slot, but the barrier may not run yet, nor before the other one.
        executor.runAll()
        log.add("before")
      }
      queue.addOperation { log.add("beside") }
      executor.runAll()
      try #require(log.entries == ["beside", "before", "barrier"])
    }
  }

  @Test func `waiting for closures before a barrier ends after all have returned`() async throws {
    let queue = OperationQueue()
    let (before, behind, early, late) = (Tally(), Tally(), Tally(), Tally())
    for round in 1...100 {
      for _ in 0..<20 { queue.addOperation { before.add() } }
      queue.addBarrierBlock {
        if before.now != round * 20 { early.add() }
        if behind.now != (round - 1) * 20 { late.add() }
      }
      for _ in 0..<20 { queue.addOperation { behind.add() } }
      try await queue.untilAllOperationsAreFinished()
    }
    #expect(behind.now == 2_000)
    #expect((early.now, late.now) == (0, 0))
  }

  // MARK: Waits in closures

  @Test(.heavy) func `40 blocked closures are released by the 41st`() async throws {
    let queue = OperationQueue()
    let gate = Latch()
    for _ in 0..<40 { queue.addOperation { gate.pass() } }
    queue.addOperation { gate.open() }
    try await queue.untilAllOperationsAreFinished()
  }

  @Test(.heavy) func `64 closures that wait for each other all get a thread`() async throws {
    let queue = OperationQueue()
    let all = Countdown(64)
    for _ in 0..<64 {
      queue.addOperation {
        all.count()
        all.done.pass()
      }
    }
    try await queue.untilAllOperationsAreFinished()
  }

  @Test(.heavy) func `a closure may wait for operations behind it in its queue`() async throws {
    let queue = OperationQueue()
    let ran = Tally()
    for _ in 0..<20 {
      queue.addOperation {
        let inner = BlockOperation { ran.add() }
        queue.addOperation(inner)
        inner.waitUntilFinished()
      }
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 20)
  }

  @Test func `a closure may wait for another queue's closures`() async throws {
    let (queue, other) = (OperationQueue(), OperationQueue())
    let ran = Tally()
    let seen = Log<Int>()
    queue.addOperation {
      for _ in 0..<50 { other.addOperation { ran.add() } }
      other.waitUntilAllOperationsAreFinished()
      seen.add(ran.now)
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(seen.entries == [50])
  }

  @Test func `an operation is cancelled if a closure in the only slot waits for it`()
    async throws
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let awaited = BlockOperation {}
    queue.addOperation { awaited.waitUntilFinished() }
    // By then the wait has been looked at.
    await eventually { awaited.hasDependents }
    queue.addOperation(awaited)
    try await queue.untilAllOperationsAreFinished()
    #expect(awaited.cancellationReason is OperationCycleError)
  }

  @Test func `a closure that waits for its own queue traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      queue.name = "uploads"
      queue.addOperation { queue.waitUntilAllOperationsAreFinished() }
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilAllOperationsAreFinished() was called on queue “uploads” by an operation that "
        + "queue “uploads” waits for: BlockOperation → BlockOperation. ",
      in: result
    )
  }

  @Test func `a closure in the only slot that waits for a queued operation traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      queue.addOperation {
        let inner = BlockOperation {}
        inner.name = "inner"
        queue.addOperations([inner], waitUntilFinished: true)
      }
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilFinished() was called on inner by an operation that inner waits for: "
        + "BlockOperation → inner → BlockOperation. ",
      in: result
    )
  }

  @Test func `a closure that waits behind its own barrier traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      queue.addOperation {
        let behind = BlockOperation {}
        behind.name = "behind"
        queue.addBarrierBlock {}
        queue.addOperations([behind], waitUntilFinished: true)
      }
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilFinished() was called on behind by an operation that behind waits for: ",
      in: result
    )
  }

  // MARK: Memory

  private func addToken(_ live: LiveCount, atEnd: @escaping @Sendable () -> Void = {}) {
    let token = Token(live, atEnd: atEnd)
    queue.addOperation { token.touch() }
  }

  @Test func `a closure's captures are released before the next closure and the wait's end`() {
    queue.maxConcurrentOperationCount = 1
    let live = LiveCount()
    let alive = Log<Int>()
    for _ in 0..<3 {
      addToken(live)
      queue.addOperation { alive.add(live.alive) }
    }
    queue.whenEmpty { alive.add(live.alive) }
    executor.runAll()
    #expect(alive.entries == [2, 1, 0, 0])
    #expect(live.made == 3)
  }

  @Test func `a closure's captures may use the queue while they are released`() {
    queue.maxConcurrentOperationCount = 1
    let live = LiveCount()
    let counts = Log<Int>()
    for _ in 0..<3 { addToken(live) { [queue] in counts.add(queue.operationCount) } }
    executor.runAll()
    #expect(counts.entries == [3, 2, 1])
  }

  @Test func `cancelled closures never run and their captures may use the queue`() {
    let live = LiveCount()
    let (ran, counts) = (Tally(), Log<Int>())
    for _ in 0..<3 {
      let token = Token(live) { [queue] in counts.add(queue.operationCount) }
      queue.addOperation {
        token.touch()
        ran.add()
      }
    }
    queue.cancelAllOperations()
    queue.addOperation { ran.add(10) }
    executor.runAll()
    #expect(ran.now == 10)
    #expect(live.alive == 0)
    #expect(counts.count == 3)
    #expect(queue.operationCount == 0)
  }

  @Test func `a closure that cancels all stops earlier closures and no later ones`() {
    queue.maxConcurrentOperationCount = 1
    let live = LiveCount()
    let (ran, later) = (Tally(), Tally())
    queue.addOperation { [queue] in
      queue.cancelAllOperations()
      queue.addOperation { later.add() }
    }
    for _ in 0..<20 {
      let token = Token(live)
      queue.addOperation {
        token.touch()
        ran.add()
      }
    }
    executor.runAll()
    #expect(ran.now == 0)
    #expect(later.now == 1)
    #expect(live.alive == 0)
    #expect(queue.operationCount == 0)
  }

  @Test func `closures keep their queue alive until the last has run`() {
    let (live, ran) = (LiveCount(), Tally())
    do {
      let queue = CountedQueue(live, executor)
      queue.maxConcurrentOperationCount = 1
      for _ in 0..<3 { queue.addOperation { ran.add() } }
    }
    #expect(live.alive == 1)
    executor.runAll()
    #expect(ran.now == 3)
    #expect(live.alive == 0)
  }
}
