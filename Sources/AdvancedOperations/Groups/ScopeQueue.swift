import CoreOperations

/// The queue of an ``OperationScope``, which collects errors and knows when no more operations can be added.
final class ScopeQueue: AdvancedOperationQueue, @unchecked Sendable {
  // Sendable: `members` has a lock.
  private struct Members {
    /// The operations of the scope, which report their errors after they have left the queue.
    var children = Children(isListed: false)
    /// The reason for cancelling operations that are added; nil if they aren't cancelled.
    var stopReason: (any Error)?
    /// A Boolean value that indicates whether the closure has returned, so that operations that would be
    /// cancelled are turned away.
    var isClosing = false
    /// A Boolean value that indicates whether the stop has cancelled an operation, or turned it away.
    var hasCutShort = false
  }

  private let members = Locked(Members())
  /// The deadline of the operations in the scope, by the clock of its environment.
  let deadline: Duration?
  /// The operation in whose body the scope was opened.
  weak let opener: AdvancedOperation?

  init(
    maxConcurrentOperationCount: Int,
    deadline: Duration? = nil,
    environment: OperationEnvironment
  ) {
    self.deadline = deadline
    opener = .current
    super.init(maxConcurrentOperationCount: maxConcurrentOperationCount, environment: environment)
  }

  // MARK: Adding

  override func addOperation(_ op: Operation) { add([op]) { super.addOperation(op) } }
  override func addOperations(_ ops: [Operation]) { add(ops) { super.addOperations(ops) } }

  private func add(_ operations: [Operation], _ enqueue: () -> Void) {
    let (action, stopReason) = members.withLock { members in
      // While the closure runs, the scope waits for it anyway, and so also for added operations.
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
    // A stop that came in between didn't find these operations.
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
    // A scope may run for as long as the process, and would otherwise keep every operation that has failed in
    // it.
    let thinned = crowd.thinnedOut()
    members.withLock { members in
      members.children.errors.putBack(thinned)
      return members.children.ended(number)
    }
    .wake()
  }

  /// Cancels all operations in the scope, and operations that are added later.
  func stop(reason: any Error) {
    let isFirst = members.withLock { members in
      if members.stopReason != nil || members.children.phase == .closed { return false }
      members.stopReason = reason
      return true
    }
    if isFirst { cancelAll(reason: reason) }
  }

  /// Waits until all operations have ended, even in a cancelled task; the scope accepts no operations after
  /// that.
  func close() async {
    members.withLock { $0.isClosing = true }
    while true {
      let count = members.withLock { $0.children.count }
      await withCheckedContinuation { continuation in whenEmpty { continuation.resume() } }
      await members.untilAllEnded(\.children)
      // If an operation was produced in the meantime, the operation that produced it was still in the scope.
      if members.withLock({ $0.children.closes(with: count) }) { return }
      await Task.yield()
    }
  }

  /// Throws if an operation failed or was cut short.
  func checkOutcomes() throws {
    let (errors, cut) = members.withLock { members in
      (members.children.errors, members.hasCutShort ? members.stopReason : nil)
    }
    let failure = errors.thinnedSummary()
    if !failure.elements.isEmpty { throw failure }
    if let timeout = cut as? OperationTimeout {
      throw timeout.failure
    }
    if cut != nil { throw CancellationError() }
  }
}
