public import CoreOperations

/// An operation that is done when its children are.
///
/// ```swift
/// let sync = GroupOperation(name: "sync", maxConcurrentOperationCount: 2) {
///   download
///   parse
///   for table in tables { Store(table) }
/// }
/// queue.addOperation(sync)
/// ```
///
/// Children start when the group does. They take no slots of the group's queue and no threads of
/// their own: their number is bounded by the group's own limit. A cancel cancels the children with
/// the same reason; the group finishes when all of them have ended and no body of theirs is going on.
open class GroupOperation: AdvancedOperation, @unchecked Sendable {
  // Sendable: `members` has a lock.

  /// What the group does when a child fails.
  public enum ErrorPolicy: Sendable {
    /// The others go on; all errors are collected.
    case collectAll
    /// The others are cancelled.
    case failFast
  }

  final let members: Locked<GroupMembers>
  private let errorPolicy: ErrorPolicy
  private let limit: Int

  /// Creates a group.
  ///
  /// - Parameters:
  ///   - name: What the group is called.
  ///   - errorPolicy: What happens to the others when a child fails.
  ///   - maxConcurrentOperationCount: How many children may execute at once; -1 for as many as there
  ///     are threads.
  ///   - children: The first children, in no queue yet.
  /// - Precondition: The limit is -1 or more.
  public init(
    name: String? = nil,
    errorPolicy: ErrorPolicy = .collectAll,
    maxConcurrentOperationCount: Int = -1,
    @OperationBuilder _ children: () -> [Operation] = { [] }
  ) {
    guard maxConcurrentOperationCount >= OperationQueue.defaultMaxConcurrentOperationCount else {
      trap(
        "GroupOperation “\(name ?? "")” was made with the limit \(maxConcurrentOperationCount). "
          + "Give a number from 0 up, or -1 for as many as there are threads."
      )
    }
    members = Locked(GroupMembers())
    self.errorPolicy = errorPolicy
    limit = maxConcurrentOperationCount
    super.init()
    if let name { self.name = name }
    for child in children() { _ = addOperation(child) }
  }

  // MARK: Children

  /// Adds a child.
  ///
  /// It starts with the group, or at once when that is executing; a child that is added to a
  /// cancelled group is cancelled on arrival.
  ///
  /// - Parameter operation: In no queue yet.
  /// - Returns: Whether it was still in time; the group knows nothing of a child that wasn't.
  public final func addOperation(_ operation: Operation) -> Bool {
    let (isInTime, queue) = members.withLock { $0.childAdded(operation) }
    guard isInTime else { return false }
    // The child is alive when it calls these, and would own itself if they did.
    if let child = operation as? AdvancedOperation {
      child.core.withLock { $0.makeExtra().group = self }
      child.afterQuiet { [weak self, unowned child] in self?.childEnded(child) }
    } else {
      afterFinish(of: operation) { [weak self, unowned operation] in self?.childEnded(operation) }
    }
    if isCancelled || members.withLock({ $0.hasFailedFast }) {
      cancel(child: operation, reason: cancellationReason)
    }
    queue?.addOperation(operation)
    return true
  }

  /// All that were added in time, in that order, finished or not.
  public final var children: [Operation] { members.withLock { $0.children } }

  /// Sets what becomes of the errors of children.
  ///
  /// - Parameter hook: Called once for each error when the child has ended, on any thread, without a
  ///   lock held. Returns the error to record, or nil when the group has recovered from it.
  public final func onChildError(
    _ hook: @escaping @Sendable (AdvancedOperation, any Error) -> (any Error)?
  ) {
    let old = members.withLock { members in
      defer { members.hook = hook }
      return members.hook
    }
    withExtendedLifetime(old) {}
  }

  /// Registers what undoes something that a child has done.
  ///
  /// Unless the group succeeds, all that were registered run once, in reverse order, after all
  /// children have ended and before observers are told that the group will finish. What they throw
  /// is an error of the group.
  public final func onRollback(_ body: @escaping @Sendable () async throws -> Void) {
    members.withLock { $0.rollbacks.append(body) }
  }

  // MARK: Running

  /// Starts the children.
  public final override func execute() {
    let queue = AdvancedOperationQueue(environment: environment)
    queue.name = label
    queue.maxConcurrentOperationCount = limit
    bodyBegan()
    let waiting = members.withLock { $0.started(in: queue) }
    if isCancelled { for child in waiting { cancel(child: child, reason: cancellationReason) } }
    queue.addOperations(waiting)
    // The group itself counts as a child until here, so that it can't end in between.
    if members.withLock({ $0.childEnded() }) { endGroup() }
  }

  /// That the group finishes when its children have ended.
  public final override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  private func cancel(child: Operation, reason: (any Error)?) {
    if let child = child as? AdvancedOperation {
      child.cancel(forwarding: reason)
    } else {
      child.cancel()
    }
  }

  override func stopBody() { cancelChildren(reason: cancellationReason) }

  private func cancelChildren(reason: (any Error)?) {
    let (children, queue) = members.withLock { ($0.children, $0.queue) }
    // No dependent of a cancelled child slips through.
    queue?.isSuspended = true
    for child in children { cancel(child: child, reason: reason) }
    queue?.isSuspended = false
  }

  private func childEnded(_ child: Operation) {
    let (isAbandoned, hook) = members.withLock { ($0.isAbandoned, $0.hook) }
    if isAbandoned { return }
    let policy = errorPolicy
    let elements = errors(of: child, hook: hook)
    let failsFast = policy == .failFast && !elements.isEmpty
    // A group inside has counted its own.
    let notRunCount = (child as? AdvancedOperation)?.outcome?.failure?.notRunCount ?? 0
    let isFirst = members.withLock { members in
      members.notRunCount += notRunCount
      return members.recorded(elements, of: child, failsFast: failsFast)
    }
    if failsFast && isFirst && !isCancelled { cancelChildren(reason: nil) }
    if members.withLock({ $0.childEnded() }) { endGroup() }
  }

  /// What a child adds to the group's errors.
  private func errors(
    of child: Operation,
    hook: (@Sendable (AdvancedOperation, any Error) -> (any Error)?)?
  ) -> [OperationFailure.Element] {
    guard let child = child as? AdvancedOperation, let outcome = child.outcome else { return [] }
    let wasCancelledByGroup = isCancelled || members.withLock { $0.hasFailedFast }
    var elements: [OperationFailure.Element]
    switch outcome {
    case .succeeded, .skipped: return []
    case .failed(let failure): elements = failure.elements
    case .cancelled(let failure):
      elements = failure.elements
      if wasCancelledByGroup {
        elements.removeAll { $0.origin == .cancel }
      } else if elements.isEmpty {
        elements = [.init(origin: .cancel, error: CancellationError())]
      }
    }
    let label = child.label
    return elements.compactMap { element in
      guard let error = hook.map({ $0(child, element.error) }) ?? element.error else { return nil }
      return .init(
        origin: .child(label, element.origin),
        error: error,
        isInherited: element.isInherited
      )
    }
  }

  private func endGroup() {
    let (elements, notRunCount, rollbacks) = members.withLock { $0.summary() }
    if rollbacks.isEmpty {
      finish(withElements: elements, notRunCount: notRunCount)
      bodyEnded()
      return
    }
    // Somebody else may have called `finish()` before.
    if (elements.isEmpty && finishAsSuccess()) || outcome?.isSuccess == true {
      bodyEnded()
      return
    }
    Task(executorPreference: environment.taskExecutor) {
      // Not the child that ended last, in whose task this may have been created.
      let elements = await Self.$taskCurrent.withValue(self) {
        var elements = elements
        for rollback in rollbacks.reversed() {
          do { try await rollback() } catch {
            elements.append(.init(origin: .body, error: error))
          }
        }
        return elements
      }
      self.finish(withElements: elements, notRunCount: notRunCount)
      self.bodyEnded()
    }
  }

  /// Children of a group that never executed would never end: they leave as cancelled.
  override func outcomeDecided(_ outcome: OperationOutcome) {
    let waiting = members.withLock { $0.closedUnstarted() }
    if waiting.isEmpty { return }
    let reason = isCancelled ? cancellationReason : outcome.failure
    for child in waiting { cancel(child: child, reason: reason) }
    AdvancedOperationQueue(environment: environment).addOperations(waiting)
  }

  override func releaseResources() {
    let old = members.withLock { $0.released() }
    withExtendedLifetime(old) {}
  }
}
