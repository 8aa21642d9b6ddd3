import CoreOperations
import TestSupport
import Testing

/// A closure is an operation to all that look, from before it runs until it has returned.
@Suite(.watched) struct `A closure that is listed as an operation` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue

  init() {
    queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 1
  }

  private func identities(_ operations: [Operation]) -> [ObjectIdentifier] {
    operations.map { ObjectIdentifier($0) }
  }

  // MARK: While it waits

  @Test func `a queued closure is listed as the same ready block operation each time`() {
    for _ in 0..<5 { queue.addOperation {} }
    let operations = queue.operations
    #expect(operations.count == 5)
    #expect(operations.allSatisfy { type(of: $0) == BlockOperation.self })
    #expect(operations.allSatisfy { $0.isReady && !$0.isExecuting && !$0.isFinished })
    #expect(operations.allSatisfy { !$0.isCancelled && $0.queuePriority == .normal })
    #expect(operations.allSatisfy { queue.has($0) })
    #expect(identities(queue.operations) == identities(operations))
    #expect(Set(identities(operations)).count == 5)
    #expect(queue.operationCount == 5)
  }

  @Test func `a listed closure runs in its place among other closures`() {
    let log = Log<Int>()
    for number in 0..<3 { queue.addOperation { log.add(number) } }
    let operations = queue.operations
    for number in 3..<6 { queue.addOperation { log.add(number) } }
    #expect(Array(identities(queue.operations).prefix(3)) == identities(operations))
    let all = queue.operations
    executor.runAll()
    #expect(log.entries == Array(0..<6))
    #expect(all.allSatisfy { $0.isFinished && !$0.isExecuting && !$0.isCancelled })
    #expect(queue.operations.isEmpty)
  }

  @Test func `a listed closure can be cancelled and releases its captures`() throws {
    let (log, live) = (Log<Int>(), LiveCount())
    for number in 0..<3 {
      let token = Token(live)
      queue.addOperation {
        token.touch()
        log.add(number)
      }
    }
    let operations = queue.operations
    operations[1].cancel()
    executor.runAll()
    #expect(log.entries == [0, 2])
    #expect(operations.map { $0.isCancelled } == [false, true, false])
    #expect(operations.allSatisfy { $0.isFinished })
    #expect(live.alive == 0)
  }

  @Test func `a listed closure accepts a priority and a dependency`() {
    let log = Log<Int>()
    for number in 0..<4 { queue.addOperation { log.add(number) } }
    let operations = queue.operations
    operations[2].queuePriority = .veryHigh
    operations[0].addDependency(operations[3])
    executor.runAll()
    #expect(log.entries == [2, 1, 3, 0])
  }

  @Test func `a listed closure accepts another block that runs with it`() throws {
    let ran = Tally()
    queue.addOperation { ran.add() }
    let operation = try #require(queue.operations.first as? BlockOperation)
    #expect(operation.executionBlocks.count == 1)
    operation.addExecutionBlock { ran.add() }
    executor.runAll()
    #expect(ran.now == 2)
    #expect(operation.executionBlocks.isEmpty)
  }

  @Test func `closures are part of a queue's description`() {
    queue.name = "uploads"
    for _ in 0..<9 { queue.addOperation {} }
    #expect(queue.description == "uploads (9 operations)")
    #expect(queue.debugDescription.contains("BlockOperation"))
    #expect(queue.debugDescription.hasSuffix("and 1 more"))
  }

  // MARK: While it runs

  @Test func `a running closure is listed as the same executing operation each time`() throws {
    let (seen, others) = (Log<[Operation]>(), Log<Operation?>())
    queue.addOperation { [queue] in
      seen.add(queue.operations)
      others.add(CurrentCode.callers.first)
      others.add(CurrentCode.callers.first)
      seen.add(queue.operations)
      #expect(queue.operations.map { $0.isExecuting } == [true, false])
      #expect(queue.operations.map { $0.isFinished } == [false, false])
    }
    queue.addOperation {}
    executor.runAll()
    let operations = try #require(seen.entries.first)
    #expect(operations.count == 2)
    #expect(identities(try #require(seen.entries.last)) == identities(operations))
    #expect(others.entries.allSatisfy { $0 === operations[0] })
    #expect(operations.allSatisfy { $0.isFinished && !$0.isExecuting })
    #expect(queue.operationCount == 0)
  }

  @Test func `a running closure is the operation that was listed before`() throws {
    let seen = Log<Operation?>()
    queue.addOperation { seen.add(CurrentCode.callers.first) }
    queue.addOperation { [queue] in seen.add(queue.operations.first) }
    let operations = queue.operations
    executor.runAll()
    #expect(seen.count == 2)
    #expect(zip(seen.entries, operations).allSatisfy { $0 === $1 })
  }

  @Test func `a running closure has no blocks left and accepts none`() async throws {
    let blocks = Log<Int>()
    queue.addOperation { [queue] in
      blocks.add((queue.operations.first as? BlockOperation)?.executionBlocks.count ?? -1)
    }
    executor.runAll()
    #expect(blocks.entries == [0])
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      queue.addOperation {
        (queue.operations.first as? BlockOperation)?.addExecutionBlock {}
      }
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "addExecutionBlock(_:) was called on operation “BlockOperation”, which has started. ",
      in: result
    )
  }

  @Test func `a listed closure is executing until it has returned`() async throws {
    let queue = OperationQueue()
    for _ in 0..<100 {
      let (started, gate, returned) = (Latch(), Latch(), Tally())
      queue.addOperation {
        started.open()
        gate.pass()
        returned.add()
      }
      await started.opened()
      let operation = try #require(queue.operations.first)
      #expect(operation.isExecuting)
      #expect(queue.operationCount == 1)
      gate.open()
      try await operation.untilFinished()
      #expect(returned.now == 1)
      #expect(operation.isFinished)
      try await queue.untilAllOperationsAreFinished()
    }
  }

  @Test func `a listed closure's dependents run after it has returned`() async throws {
    let queue = OperationQueue()
    let log = Log<String>()
    let (started, gate) = (Latch(), Latch())
    queue.addOperation {
      started.open()
      gate.pass()
      log.add("closure")
    }
    await started.opened()
    let dependent = BlockOperation { log.add("dependent") }
    dependent.addDependency(try #require(queue.operations.first))
    queue.addOperation(dependent)
    gate.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(log.entries == ["closure", "dependent"])
  }

  @Test(arguments: [false, true])
  func `a listed closure runs its completion block and stays until that returns`(
    isLate: Bool
  ) {
    let log = Log<String>()
    let give: @Sendable (Operation?) -> Void = { [queue] operation in
      operation?.completionBlock = { log.add("completion \(queue.operationCount)") }
    }
    queue.addOperation { [queue] in
      if isLate { give(queue.operations.first) }
      log.add("closure \(queue.operationCount)")
    }
    if !isLate { give(queue.operations.first) }
    queue.whenEmpty { log.add("empty") }
    executor.runAll()
    #expect(log.entries == ["closure 1", "completion 1", "empty"])
  }

  @Test func `a listed closure notifies observers of its properties about its end`() {
    let log = Log<String>()
    queue.addOperation { [queue] in
      let tokens = queue.operations.prefix(1).flatMap { operation in
        [
          operation.observe(\.isExecuting, options: .new) { _, change in
            log.add("executing \(change.newValue == true)")
          },
          operation.observe(\.isFinished, options: .new) { _, change in
            log.add("finished \(change.newValue == true)")
          },
        ]
      }
      queue.addOperation { withExtendedLifetime(tokens) {} }
    }
    executor.runAll()
    #expect(Set(log.entries) == ["executing false", "finished true"])
    #expect(log.count == 2)
  }

  @Test func `a running closure is cancelled with all operations and keeps running`() throws {
    let (seen, ran) = (Log<[Bool]>(), Tally())
    queue.addOperation { [queue] in
      let own = queue.operations.first
      queue.cancelAllOperations()
      seen.add([own?.isCancelled, own?.isExecuting, own?.isFinished].map { $0 == true })
    }
    queue.addOperation { ran.add() }
    let operations = queue.operations
    executor.runAll()
    #expect(seen.entries == [[true, true, false]])
    #expect(ran.now == 0)
    #expect(operations.allSatisfy { $0.isFinished && $0.isCancelled })
  }

  @Test func `a listed closure is released by its queue after it has returned`() {
    let (kept, live) = (Log<@Sendable () -> Bool>(), LiveCount())
    let token = Token(live)
    queue.addOperation { [queue] in
      token.touch()
      for operation in queue.operations {
        kept.add({ [weak operation] in operation != nil })
      }
    }
    queue.addOperation {}
    executor.runAll()
    #expect(kept.entries.map { $0() } == [false, false])
  }

  // MARK: At any time

  @Test(.heavy) func `a closure that threads list during execution is one operation and ends`()
    async throws
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 3
    let ran = Tally()
    let seen = Locked<[ObjectIdentifier: Operation]>([:])
    let done = Countdown(3)
    let count = Effort.size(3_000, ordinarily: 1_000)
    for _ in 0..<2 {
      launchThread {
        for _ in 0..<count { queue.addOperation { ran.add() } }
        done.count()
      }
    }
    launchThread {
      for _ in 0..<Effort.rounds(300) {
        let operations = queue.operations
        #expect(Set(operations.map { ObjectIdentifier($0) }).count == operations.count)
        seen.withLock { seen in
          for operation in operations { seen[ObjectIdentifier(operation)] = operation }
        }
      }
      done.count()
    }
    await done.done.opened()
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 2 * count)
    #expect(queue.operationCount == 0)
    let all = seen.withLock { Array($0.values) }
    #expect(all.count <= 2 * count)
    #expect(all.allSatisfy { $0.isFinished && !$0.isExecuting })
  }
}
