import CoreOperations
import Testing

@Test func `observe: the closure is notified of the end of an operation`() {
  let print = Lines()
  let operation = BlockOperation {}

  let token = operation.observe(\.isFinished, options: .new) { operation, change in
    print("\(operation): finished \(change.newValue ?? false)")
  }

  operation.start()
  token.invalidate()
  #expect(print.all == ["BlockOperation (finished): finished true"])
}

@Test func `KeyValueObservable: queues can be observed too`() async throws {
  let print = Lines()
  let queue = OperationQueue()

  let token = queue.observe(\.operationCount) { queue, _ in
    print("\(queue.operationCount) to do")
  }

  queue.isSuspended = true
  queue.addOperation {}
  #expect(print.all == ["1 to do"])
  queue.isSuspended = false
  try await queue.untilAllOperationsAreFinished()
  token.invalidate()
}

@Test func `ObservedChange: a change has the old and the new value if these were requested`() {
  let print = Lines()
  let operation = BlockOperation {}

  let token = operation.observe(\.queuePriority, options: [.old, .new]) { _, change in
    if let old = change.oldValue, let new = change.newValue { print("\(old) → \(new)") }
  }

  operation.queuePriority = .veryHigh
  token.invalidate()
  #expect(print.all == ["normal → veryHigh"])
}

@Test func `ObservationToken: the closure isn't called after invalidating`() {
  let print = Lines()
  let operation = BlockOperation {}

  let token = operation.observe(\.isCancelled) { operation, _ in print(operation) }
  operation.cancel()
  token.invalidate()

  operation.start()
  #expect(print.all == ["BlockOperation (cancelled)"])
}
