import CoreOperations
import TestSupport
import Testing

/// Holds one reading of its priority, after the value was fetched, until told to go on.
private final class SlowPriority: Operation, @unchecked Sendable {
  private let isArmed = Locked(false)
  let isReading = Latch()
  let mayGoOn = Latch()

  func arm() { isArmed.withLock { $0 = true } }

  override var queuePriority: QueuePriority {
    get {
      let value = super.queuePriority
      let isHeld = isArmed.withLock { isArmed in
        defer { isArmed = false }
        return isArmed
      }
      if isHeld {
        isReading.open()
        mayGoOn.pass()
      }
      return value
    }
    set { super.queuePriority = newValue }
  }
}

@Suite(.watched) struct `The order of notifications of observers` {
  @Test func `observers don't receive an outdated value after a change`() async {
    let operation = SlowPriority()
    let log = Log<Operation.QueuePriority?>()
    let token = operation.observe(\.queuePriority, options: .new) { _, change in
      log.add(change.newValue)
    }
    let done = Latch()
    operation.arm()
    launchThreadFromPool {
      operation.queuePriority = .low
      done.open()
    }
    await operation.isReading.opened()
    operation.queuePriority = .high
    operation.mayGoOn.open()
    await done.opened()
    withExtendedLifetime(token) {}
    #expect(log.entries.last == .some(.high))
  }

  @Test func `observers receive each operation count in order`() {
    let executor = ManualExecutor(operationsPerWorker: 1)
    let queue = OperationQueue(executor: executor)
    let counts = Log<Int?>()
    let token = queue.observe(\.operationCount, options: .new) { _, change in
      counts.add(change.newValue)
    }
    for _ in 0..<3 { queue.addOperation(Operation()) }
    executor.runAll()
    withExtendedLifetime(token) {}
    #expect(counts.entries == [1, 2, 3, 2, 1, 0])
  }

  @Test func `a change during a notification is delivered afterwards`() {
    let operation = Operation()
    let log = Log<Operation.QueuePriority?>()
    let token = operation.observe(\.queuePriority, options: .new) { operation, change in
      if change.newValue == .low { operation.queuePriority = .veryHigh }
      log.add(change.newValue)
    }
    operation.queuePriority = .low
    withExtendedLifetime(token) {}
    #expect(log.entries == [.low, .veryHigh])
  }

  @Test func `a wait that begins at the end returns while observers run`() async throws {
    let operation = Operation()
    let (isCalled, mayReturn, done) = (Latch(), Latch(), Latch())
    let token = operation.observe(\.isFinished) { _, _ in
      isCalled.open()
      mayReturn.pass()
    }
    launchThreadFromPool {
      operation.start()
      done.open()
    }
    await isCalled.opened()
    try await operation.untilFinished()
    await onThread { operation.waitUntilFinished() }
    mayReturn.open()
    await done.opened()
    token.invalidate()
  }

  @Test func `an operation leaves its queue after its end's observers returned`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let operation = Operation()
    let counts = Log<Int>()
    let token = operation.observe(\.isFinished) { [queue] _, _ in counts.add(queue.operationCount) }
    queue.addOperation(operation)
    executor.runAll()
    token.invalidate()
    #expect(counts.entries == [1])
    #expect(queue.operationCount == 0)
  }

  @Test
  func `a thread that is calling an observer also delivers the end`()
    async throws
  {
    let queue = OperationQueue()
    let (isExecuting, mayEnd) = (Latch(), Latch())
    let operation = BlockOperation {
      isExecuting.open()
      mayEnd.pass()
    }
    let (isCalled, mayReturn, done) = (Latch(), Latch(), Latch())
    let told = Log<Bool>()
    queue.addOperation(operation)
    await isExecuting.opened()
    // Its text changes with the cancel, and again with the end.
    let token = operation.observe(\.description) { operation, _ in
      told.add(operation.isFinished)
      isCalled.open()
      mayReturn.pass()
    }
    launchThreadFromPool {
      operation.cancel()
      done.open()
    }
    await isCalled.opened()
    mayEnd.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(told.entries == [false])
    mayReturn.open()
    await done.opened()
    token.invalidate()
    #expect(told.entries == [false, true])
  }
}
