import CoreOperations

/// The queue of an ``OperationScope``: knows what went wrong in it, and when nothing more can come.
final class ScopeQueue: AdvancedOperationQueue, @unchecked Sendable {
  // Sendable: `members` has a lock.
  private struct Members {
    var addedCount = 0
    /// How many of those have not told how they ended; they leave the queue before they do.
    var open = OpenCount()
    /// How many threads are between having asked and having added.
    var addingCount = 0
    var isClosed = false
    /// Why what comes is cancelled; nil while it isn't.
    var stopReason: (any Error)?
    /// Whether the stop has cancelled something.
    var hasCutShort = false
    /// The operation in whose body the scope was opened.
    weak var opener: AdvancedOperation?
    var failures: [(number: Int, operation: Operation, elements: [OperationFailure.Element])] = []
    var notRunCount = 0
  }

  private let members = Locked(Members())

  /// The operation in whose body the scope was opened.
  var opener: AdvancedOperation? {
    get { members.withLock { $0.opener } }
    set { members.withLock { $0.opener = newValue } }
  }

  // MARK: Adding

  override func addOperation(_ op: Operation) { add([op]) { super.addOperation(op) } }
  override func addOperations(_ ops: [Operation]) { add(ops) { super.addOperations(ops) } }

  private func add(_ operations: [Operation], _ enqueue: () -> Void) {
    let (first, stopReason) = members.withLock { members -> (Int?, (any Error)?) in
      if members.isClosed { return (nil, nil) }
      defer {
        members.addedCount += operations.count
        members.open.add(operations.count)
      }
      members.addingCount += 1
      return (members.addedCount, members.stopReason)
    }
    guard let first else {
      trap(
        "Operation “\(operations.first?.label ?? "")” was added to a scope of withOperations that "
          + "has ended. Add it before the closure returns, or from an operation in the scope."
      )
    }
    for (index, operation) in operations.enumerated() { watch(operation, number: first + index) }
    if let stopReason {
      operations.cancelTogether { $0.cancelAsChild(reason: stopReason, isFromParent: false) }
    }
    enqueue()
    // One that came in between found nothing of them.
    let lateReason = members.withLock { members in
      members.addingCount -= 1
      return members.stopReason
    }
    guard stopReason == nil, let lateReason else { return }
    operations.cancelTogether { $0.cancelAsChild(reason: lateReason, isFromParent: false) }
  }

  private func watch(_ operation: Operation, number: Int) {
    if let operation = operation as? AdvancedOperation {
      operation.afterQuiet { [weak self] in self?.ended($0, number: number) }
    } else {
      operation.whenFinished { [weak self] in self?.ended($0, number: number) }
    }
  }

  // MARK: Ending

  private func ended(_ operation: Operation, number: Int) {
    let advanced = operation as? AdvancedOperation
    let isStopped = members.withLock { $0.stopReason != nil }
    let elements =
      advanced?.elementsForParent(isCancelledByParent: isStopped, isPlainCancelAnError: false) ?? []
    let isCutShort = isStopped && operation.isCancelled
    let notRunCount = advanced?.outcome?.failure?.notRunCount ?? 0
    let label = operation.label
    let next = members.withLock { members in
      if isCutShort { members.hasCutShort = true }
      members.notRunCount += notRunCount
      if !elements.isEmpty {
        members.failures.append((number, operation, elements.map { $0.inChild(label) }))
      }
      return members.open.ended()
    }
    next?.resume()
  }

  /// Cancels all that is there, and what will come.
  func stop(reason: any Error) {
    let isFirst = members.withLock { members in
      if members.stopReason != nil || members.isClosed { return false }
      members.stopReason = reason
      return true
    }
    if isFirst { cancelAll(reason: reason) }
  }

  /// Waits until everything is over, and takes in nothing from then on; also in a cancelled task.
  func close() async {
    while true {
      let count = members.withLock { $0.addedCount }
      await withCheckedContinuation { continuation in whenEmpty { continuation.resume() } }
      await members.untilAllEnded(\.open)
      let isClosed = members.withLock { members in
        // What was produced meanwhile was added by something that was still there.
        if members.addingCount == 0 && members.addedCount == count { members.isClosed = true }
        return members.isClosed
      }
      if isClosed { return }
      await Task.yield()
    }
  }

  /// Throws if an operation failed, or was cut short.
  func checkOutcomes() throws {
    let (failures, notRunCount, hasCutShort) = members.withLock { members in
      (members.failures, members.notRunCount, members.hasCutShort)
    }
    let remaining = failures.filter { ($0.operation as? AdvancedOperation)?.isRecovered != true }
    var failure = OperationFailure.rootCauses(
      remaining.sorted { $0.number < $1.number }.map { ($0.operation, $0.elements) }
    )
    failure.notRunCount += notRunCount
    guard failure.elements.isEmpty else {
      throw failure
    }
    if hasCutShort { throw CancellationError() }
  }
}

extension OperationFailure {
  /// What went wrong with operations that were together, without what one inherited from another:
  /// such an operation is counted.
  static func rootCauses(
    _ failures: [(operation: Operation, elements: [Element])]
  ) -> OperationFailure {
    let failed = Set(failures.map { ObjectIdentifier($0.operation) })
    var all: [Element] = []
    var notRunCount = 0
    for (operation, elements) in failures where !elements.isEmpty {
      let followsSibling = operation.dependencies.contains {
        failed.contains(ObjectIdentifier($0))
      }
      let roots = elements.filter { !($0.isInherited && followsSibling) }
      if roots.isEmpty { notRunCount += 1 }
      all += roots
    }
    return OperationFailure(elements: all, notRunCount: notRunCount)
  }
}
