import CoreOperations
import Testing

/// Holds one reading of its priority, after the value was fetched, until told to go on.
private final class SlowPriority: Operation, @unchecked Sendable {
  private let isArmed = Locked(false)
  let isReading = Gate()
  let mayGoOn = Gate()

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

@Suite(.watched) struct `The order of what observers are told` {
  @Test func `a value that was read before a change is not told after it`() async {
    let operation = SlowPriority()
    let log = Log<Operation.QueuePriority?>()
    let token = operation.observe(\.queuePriority, options: .new) { _, change in
      log.add(change.newValue)
    }
    let done = Gate()
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

  @Test func `a queue tells each count in order, the last one too`() {
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

  @Test func `a change that is made while a value is told is told afterwards`() {
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
}
