import CoreOperations
import TestSupport
import Testing

/// Waits that the code of an operation begins, and that could never end.
@Suite(.watched) struct `Cycles that exist only at run time` {
  private func named(_ name: String, _ body: @escaping @Sendable () -> Void = {}) -> BlockOperation
  {
    let operation = BlockOperation(block: body)
    operation.name = name
    return operation
  }

  /// Runs an async wait as an operation of a queue, and returns what it threw.
  private func thrown(
    in queue: OperationQueue = OperationQueue(),
    _ wait: @escaping @Sendable () async throws -> Void
  ) async throws -> (any Error)? {
    let error = Log<(any Error)?>()
    queue.addOperation {
      do {
        try await wait()
        error.add(nil)
      } catch let thrown { error.add(thrown) }
    }
    try await queue.untilAllOperationsAreFinished()
    return try #require(error.entries.first)
  }

  // MARK: Async waits throw

  @Test func `an async closure that waits for its own queue gets a cycle error`() async throws {
    let queue = OperationQueue()
    let error = try await thrown(in: queue) { try await queue.untilAllOperationsAreFinished() }
    let cycle = try #require(error as? OperationCycleError)
    #expect(cycle.path == ["AsyncBlockOperation", "AsyncBlockOperation"])
  }

  @Test
  func `an async closure that waits for an operation needing its slot gets an error`() async throws
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let next = named("next")
    let error = try await thrown(in: queue) {
      queue.addOperation(next)
      try await next.untilFinished()
    }
    let cycle = try #require(error as? OperationCycleError)
    #expect(cycle.path == ["AsyncBlockOperation", "next", "AsyncBlockOperation"])
    #expect(next.isFinished && !next.isCancelled)
  }

  @Test func `an async closure that waits behind its own barrier gets a cycle error`() async throws
  {
    let queue = OperationQueue()
    let behind = named("behind")
    let error = try await thrown(in: queue) {
      queue.addBarrierBlock {}
      queue.addOperation(behind)
      try await behind.untilFinished()
    }
    #expect(error is OperationCycleError)
    #expect(behind.isFinished)
  }

  @Test func `one of two closures that wait for each other gets a cycle error`() async throws {
    let queue = OperationQueue()
    let errors = Log<(any Error)?>()
    let bothRun = Countdown(2)
    let operations = Locked<[Operation]>([])
    queue.isSuspended = true
    for number in 0..<2 {
      queue.addOperation {
        bothRun.count()
        await bothRun.done.opened()
        let other = operations.withLock { $0[1 - number] }
        do {
          try await other.untilFinished()
          errors.add(nil)
        } catch { errors.add(error) }
      }
    }
    operations.withLock { $0 = queue.operations }
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    // Both, when each began before the other was refused.
    #expect(errors.entries.contains { $0 is OperationCycleError })
    #expect(errors.entries.allSatisfy { $0 == nil || $0 is OperationCycleError })
  }

  // MARK: Waits that do end

  @Test func `waiting for an operation of a queue with a free slot works`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let next = named("next")
    let error = try await thrown(in: queue) {
      queue.addOperation(next)
      try await next.untilFinished()
    }
    #expect(error == nil)
  }

  @Test func `waiting for a slot works while another holder keeps running`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let begun = Latch()
    let go = Latch()
    queue.addOperation {
      begun.open()
      await go.opened()
    }
    let next = named("next")
    let error = try await thrown(in: queue) {
      await begun.opened()
      queue.addOperation(next)
      // Everything that it would see is as it is when it waits.
      Task { go.open() }
      try await next.untilFinished()
    }
    #expect(error == nil)
  }

  @Test func `a task that the body created may wait for the operation`() async throws {
    let queue = OperationQueue()
    let ended = Latch()
    queue.addOperation {
      Task {
        try? await queue.untilAllOperationsAreFinished()
        ended.open()
      }
    }
    await ended.opened()
    #expect(queue.operationCount == 0)
  }

  @Test func `an operation may wait for operations of suspended or closed queues`()
    async throws
  {
    for closed in [true, false] {
      let outer = OperationQueue()
      let inner = OperationQueue()
      inner.isSuspended = closed
      inner.maxConcurrentOperationCount = 0
      let operation = named("operation")
      inner.addOperation(operation)
      let begun = Latch()
      outer.addOperation {
        begun.open()
        try? await operation.untilFinished()
      }
      await begun.opened()
      inner.isSuspended = false
      inner.maxConcurrentOperationCount = 1
      try await outer.untilAllOperationsAreFinished()
      #expect(operation.isFinished)
    }
  }

  @Test func `waiting for a cancelled operation of a full queue ends`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let next = named("next")
    let error = try await thrown(in: queue) {
      queue.addOperation(next)
      next.cancel()
      try await next.untilFinished()
    }
    #expect(error == nil)
  }

  // MARK: Cycles that something else closes

  @Test func `an awaited operation leaves when a dependency completes the cycle`() async throws {
    let queue = OperationQueue()
    let awaited = named("awaited")
    let waits = BlockOperation { awaited.waitUntilFinished() }
    waits.name = "waits"
    queue.addOperation(waits)
    // By then the wait has been looked at.
    await eventually { awaited.hasDependents }
    awaited.addDependency(waits)
    queue.addOperation(awaited)
    try await queue.untilAllOperationsAreFinished()
    #expect(awaited.isCancelled)
    let cycle = try #require(awaited.cancellationReason as? OperationCycleError)
    #expect(cycle.path == ["awaited", "waits", "awaited"])
  }

  @Test func `an awaited operation leaves when it is added to a full queue`()
    async throws
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let awaited = named("awaited")
    let waits = BlockOperation { awaited.waitUntilFinished() }
    waits.name = "waits"
    queue.addOperation(waits)
    // By then the wait has been looked at.
    await eventually { awaited.hasDependents }
    queue.addOperation(awaited)
    try await queue.untilAllOperationsAreFinished()
    #expect(awaited.cancellationReason is OperationCycleError)
    #expect(!waits.isCancelled)
  }

  // MARK: Blocking waits trap

  @Test func `an operation that waits for itself traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let operation = BlockOperation()
      operation.name = "fetch"
      operation.addExecutionBlock { [unowned operation] in operation.waitUntilFinished() }
      operation.start()
    }
    try expectMessage(
      "waitUntilFinished() was called on fetch by an operation that fetch waits for: "
        + "fetch → fetch. The wait would never end. Add a dependency instead, or wait outside of "
        + "the operation.",
      in: result
    )
  }

  @Test func `waiting for a dependent traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      let last = BlockOperation {}
      last.name = "last"
      let middle = BlockOperation {}
      middle.name = "middle"
      let first = BlockOperation { last.waitUntilFinished() }
      first.name = "first"
      last.addDependency(middle)
      middle.addDependency(first)
      queue.addOperations([last, middle, first])
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilFinished() was called on last by an operation that last waits for: "
        + "first → last → middle → first. ",
      in: result
    )
  }

  @Test func `waiting for an operation that needs the only slot traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      let outer = BlockOperation {
        let inner = BlockOperation {}
        inner.name = "inner"
        queue.addOperations([inner], waitUntilFinished: true)
      }
      outer.name = "outer"
      queue.addOperations([outer])
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilFinished() was called on inner by an operation that inner waits for: "
        + "outer → inner → outer. Only a higher limit would end the wait: set it before. Or add a "
        + "dependency instead, or wait outside of the operation.",
      in: result
    )
  }

  @Test func `waiting for the operation's own queue traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      queue.name = "uploads"
      let operation = BlockOperation { queue.waitUntilAllOperationsAreFinished() }
      operation.name = "fetch"
      queue.addOperations([operation])
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilAllOperationsAreFinished() was called on queue “uploads” by an operation that "
        + "queue “uploads” waits for: fetch → fetch. ",
      in: result
    )
  }

  @Test func `waiting across two serial queues that wait for each other traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let left = OperationQueue()
      let right = OperationQueue()
      left.maxConcurrentOperationCount = 1
      right.maxConcurrentOperationCount = 1
      let bothRun = Countdown(2)
      for (own, other) in [(left, right), (right, left)] {
        own.addOperation {
          bothRun.count()
          bothRun.done.pass()
          other.addOperations([BlockOperation {}], waitUntilFinished: true)
        }
      }
      try await left.untilAllOperationsAreFinished()
      try await right.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilFinished() was called on BlockOperation by an operation",
      in: result
    )
  }

  @Test func `any block that waits for its own operation traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      let operation = BlockOperation {}
      operation.name = "fetch"
      for _ in 0..<2 {
        operation.addExecutionBlock { [unowned operation] in operation.waitUntilFinished() }
      }
      queue.addOperations([operation])
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage("waitUntilFinished() was called on fetch by an operation", in: result)
  }

  @Test func `waiting in a nested manual start for the outer operation traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = OperationQueue()
      let outer = BlockOperation()
      outer.name = "outer"
      outer.addExecutionBlock { [unowned outer] in
        let inner = BlockOperation { outer.waitUntilFinished() }
        inner.name = "inner"
        inner.start()
      }
      queue.addOperations([outer])
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage("waitUntilFinished() was called on outer by an operation", in: result)
  }
}
