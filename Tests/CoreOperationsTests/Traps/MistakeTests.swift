import CoreOperations
import Dispatch
import TestSupport
import Testing

/// Programmer errors end the process with one clear sentence.
@Suite(.watched) struct `Mistakes trap with one sentence` {
  @Test func `adding an operation to a queue twice traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = OperationQueue()
      queue.isSuspended = true
      let operation = Operation()
      operation.name = "fetch"
      queue.addOperations([operation, operation])
    }
    try expectMessage(
      "Operation “fetch” was added to a queue, but it is in one already. "
        + "An operation belongs to one queue, once; create a new operation for each run.",
      in: result
    )
  }

  @Test func `adding an operation to two queues traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let operation = Operation()
      operation.addDependency(Operation())
      OperationQueue().addOperation(operation)
      OperationQueue().addOperation(operation)
    }
    try expectMessage(
      "Operation “Operation” was added to a queue, but it is in one already. "
        + "An operation belongs to one queue, once; create a new operation for each run.",
      in: result
    )
  }

  @Test func `adding an operation after a manual start traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let operation = Operation()
      operation.start()
      OperationQueue().addOperation(operation)
    }
    try expectMessage(
      "Operation “Operation” was added to a queue after it had started or finished. "
        + "An operation runs once; create a new operation for each run.",
      in: result
    )
  }

  @Test func `starting an operation that is in a queue traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = OperationQueue()
      queue.isSuspended = true
      let operation = Operation()
      queue.addOperation(operation)
      operation.start()
    }
    try expectMessage(
      "start() was called on operation “Operation”, which is in a queue. "
        + "Its queue starts it; remove the call.",
      in: result
    )
  }

  @Test func `starting an operation that is executing traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let operation = BlockOperation()
      operation.addExecutionBlock { [unowned operation] in operation.start() }
      operation.start()
    }
    try expectMessage(
      "start() was called on operation “BlockOperation”, which is executing. "
        + "An operation runs once; remove the second call.",
      in: result
    )
  }

  @Test func `starting an operation that isn't ready traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let operation = Operation()
      operation.addDependency(Operation())
      operation.start()
    }
    try expectMessage(
      "start() was called on operation “Operation”, which is not ready. "
        + "Wait until its dependencies have finished, or add all of them to a queue.",
      in: result
    )
  }

  @Test func `adding a block to a started operation traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let operation = BlockOperation()
      operation.addExecutionBlock { [unowned operation] in operation.addExecutionBlock {} }
      operation.start()
    }
    try expectMessage(
      "addExecutionBlock(_:) was called on operation “BlockOperation”, which has started. "
        + "Add all blocks before the operation is added to a queue or started.",
      in: result
    )
  }

  @Test func `setting a negative limit traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = OperationQueue()
      queue.name = "import"
      queue.maxConcurrentOperationCount = -2
    }
    try expectMessage(
      "maxConcurrentOperationCount of queue “import” was set to -2. "
        + "Set a number from 0 up, or defaultMaxConcurrentOperationCount.",
      in: result
    )
  }

  @Test func `setting the underlying queue of a queue with operations traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = OperationQueue()
      queue.isSuspended = true
      queue.addOperation(Operation())
      queue.underlyingQueue = .global()
    }
    try expectMessage(
      "underlyingQueue of queue “OperationQueue” was set while it has operations. "
        + "Set it before adding any.",
      in: result
    )
  }

  #if DEBUG
  @Test func `setting the underlying queue just after an operation was added traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = OperationQueue()
      let isFirst = Locked(true)
      // Where the setter wants its first lock.
      let thread = Preemption.Thread {
        let comes = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        if comes { queue.addOperation(SelfKept()) }
      }
      Preemption.run(thread) { queue.underlyingQueue = .global() }
    }
    try expectMessage(
      "underlyingQueue of queue “OperationQueue” was set while it has operations. "
        + "Set it before adding any.",
      in: result
    )
  }
  #endif

  @Test func `waiting for the queue in its completion block traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = OperationQueue()
      let operation = Operation()
      operation.completionBlock = { queue.waitUntilAllOperationsAreFinished() }
      queue.addOperation(operation)
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilAllOperationsAreFinished() was called on queue “OperationQueue” in a completion "
        + "block of one of its operations, for which it would wait. "
        + "Wait somewhere else, or add a barrier block.",
      in: result
    )
  }

  @Test func `waiting for the queue in its barrier traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = OperationQueue()
      queue.addBarrierBlock { queue.waitUntilAllOperationsAreFinished() }
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilAllOperationsAreFinished() was called on queue “OperationQueue” by a barrier block "
        + "that queue “OperationQueue” waits for, so the wait would never end. "
        + "Wait somewhere else, or let the barrier return.",
      in: result
    )
  }

  @Test func `waiting in a barrier for an operation behind it traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = OperationQueue()
      queue.addBarrierBlock {
        let next = BlockOperation {}
        next.name = "next"
        queue.addOperation(next)
        next.waitUntilFinished()
      }
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilFinished() was called on next by a barrier block that next waits for, "
        + "so the wait would never end. Wait somewhere else, or let the barrier return.",
      in: result
    )
  }

  @Test func `waiting in a barrier for earlier or other operations doesn't trap`()
    async throws
  {
    let (queue, other) = (OperationQueue(), OperationQueue())
    let (before, elsewhere) = (BlockOperation {}, BlockOperation {})
    queue.addOperation(before)
    queue.addBarrierBlock {
      other.addOperation(elsewhere)
      elsewhere.waitUntilFinished()
      before.waitUntilFinished()
      other.waitUntilAllOperationsAreFinished()
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(before.isFinished && elsewhere.isFinished)
  }
}
