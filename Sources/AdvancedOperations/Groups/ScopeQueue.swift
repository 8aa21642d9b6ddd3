import CoreOperations

/// The queue of an ``OperationScope``: knows what went wrong in it, and when nothing more can come.
final class ScopeQueue: AdvancedOperationQueue, @unchecked Sendable {
  // Sendable: `members` has a lock.
  private struct Members {
    /// They tell how they ended after they have left the queue.
    var children = Children(isListed: false)
    /// Why what comes is cancelled; nil while it isn't.
    var stopReason: (any Error)?
    /// Whether the closure has returned: what comes then, and is to be cancelled, is turned away.
    var isClosing = false
    /// Whether the stop has cancelled something, or turned it away.
    var hasCutShort = false
    /// The operation in whose body the scope was opened.
    weak var opener: AdvancedOperation?
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
    let (action, stopReason) = members.withLock { members in
      // While the closure runs, it is waited for anyway, and so is what comes.
      if members.isClosing, members.stopReason != nil {
        members.hasCutShort = true
        return (Children.ComingAction.turnAway, members.stopReason)
      }
      return (members.children.comes(operations), members.stopReason)
    }
    let first: Int
    switch action {
    case .take(let number): first = number
    case .turnAway:
      environment.turnAway(operations) { _ in cancel(operations, because: stopReason) }
      return
    case .refuseAsTooLate:
      trap(
        "Operation “\(operations.first?.label ?? "")” was added to a scope of withOperations that "
          + "has ended. Add it before the closure returns, or from an operation in the scope."
      )
    }
    for (index, operation) in operations.enumerated() {
      operation.whenIdle { [weak self] in self?.ended($0, number: first + index) }
    }
    if let stopReason { cancel(operations, because: stopReason) }
    enqueue()
    // One that came in between found nothing of them.
    let lateReason = members.withLock { members in
      members.children.came(first..<first + operations.count)
      return members.stopReason
    }
    if stopReason == nil, let lateReason { cancel(operations, because: lateReason) }
  }

  private func cancel(_ operations: [Operation], because reason: (any Error)?) {
    operations.cancelTogether { $0.cancelAsChild(reason: reason, isFromParent: false) }
  }

  // MARK: Ending

  private func ended(_ operation: Operation, number: Int) {
    let advanced = operation as? AdvancedOperation
    let isStopped = members.withLock { $0.stopReason != nil }
    let elements =
      advanced?.elementsForParent(isCancelledByParent: isStopped, isPlainCancelAnError: false) ?? []
    let isCutShort = isStopped && operation.isCancelled
    let notRunCount = advanced?.outcome?.failure?.notRunCount ?? 0
    let inScope = elements.inChild(operation)
    let (crowd, action) = members.withLock {
      members -> (ChildErrors.Crowd?, Children.EndAction) in
      if isCutShort { members.hasCutShort = true }
      members.children.errors
        .record(inScope, notRunCount: notRunCount, of: operation, number: number)
      if let crowd = members.children.errors.takeCrowd() { return (crowd, .none) }
      return (nil, members.children.ended(number))
    }
    guard let crowd else { return action.wake() }
    // A scope may go on for as long as the process, and would keep all that has failed in it.
    let thinned = crowd.thinnedOut()
    members.withLock { members in
      members.children.errors.putBack(thinned)
      return members.children.ended(number)
    }
    .wake()
  }

  /// Cancels all that is there, and what will come.
  func stop(reason: any Error) {
    let isFirst = members.withLock { members in
      if members.stopReason != nil || members.children.phase == .closed { return false }
      members.stopReason = reason
      return true
    }
    if isFirst { cancelAll(reason: reason) }
  }

  /// Waits until everything is over, and takes in nothing from then on; also in a cancelled task.
  func close() async {
    members.withLock { $0.isClosing = true }
    while true {
      let count = members.withLock { $0.children.count }
      await withCheckedContinuation { continuation in whenEmpty { continuation.resume() } }
      await members.untilAllEnded(\.children)
      // What was produced meanwhile was added by something that was still there.
      if members.withLock({ $0.children.closes(with: count) }) { return }
      await Task.yield()
    }
  }

  /// Throws if an operation failed, or was cut short.
  func checkOutcomes() throws {
    let (errors, hasCutShort) = members.withLock { ($0.children.errors, $0.hasCutShort) }
    let failure = errors.thinnedSummary()
    if !failure.elements.isEmpty { throw failure }
    if hasCutShort { throw CancellationError() }
  }
}
