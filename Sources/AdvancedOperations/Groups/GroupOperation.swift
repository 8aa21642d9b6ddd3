public import CoreOperations

/// An operation that runs other operations, its children, and finishes when they have finished.
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
/// Children start when the group starts. Children take no slots of the group's queue and have no separate
/// threads. The group's ``maxConcurrentOperationCount`` limits their number. Cancelling the group cancels the
/// children with the same reason. The group finishes when all children have ended and none of their bodies is
/// running.
///
/// If a group never executes, its children are cancelled and leave without executing. The group stays
/// ``AdvancedOperation/State/finishing`` until they have left.
///
/// Groups can be children of groups. To undo the work of children, see ``AdvancedOperation/onRollback(_:)``.
///
/// A group keeps its ``children`` and their errors until it has ended.
///
/// A subclass creates its children in its initializer, or adds them in a first child, because it can't
/// override ``execute()``. A subclass may override ``AdvancedOperation/finished(withErrors:)``.
open class GroupOperation: AdvancedOperation, @unchecked Sendable {
  // Sendable: `members` has a lock.

  /// The group's reaction to the failure of a child.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum ErrorPolicy: Sendable {
    /// The other children keep running, and the group collects all errors.
    case collectAll
    /// The other children are cancelled with the reason ``SiblingFailed``.
    ///
    /// They are cancelled before any child that depends on the failed child starts. Children that had not
    /// begun to execute are counted in ``OperationFailure/notRunCount``.
    case failFast
  }

  final let members: Locked<GroupMembers>
  fileprivate let errorPolicy: ErrorPolicy

  /// Creates a group.
  ///
  /// A subclass without its own initializer inherits this initializer, but with a plain closure that returns
  /// an array, because Swift 6.3 doesn't inherit the result builder. To use the builder, call this
  /// initializer from an initializer of the subclass.
  ///
  /// - Parameters:
  ///   - name: The name of the group.
  ///   - errorPolicy: The group's reaction to the failure of a child.
  ///   - maxConcurrentOperationCount: The number of children that may execute at the same time; -1 for the
  ///     number of threads.
  ///   - children: The first children, which aren't in a queue yet.
  /// - Precondition: The limit is -1 or more.
  public init(
    name: String? = nil,
    errorPolicy: ErrorPolicy = .collectAll,
    maxConcurrentOperationCount: Int = OperationQueue.defaultMaxConcurrentOperationCount,
    @OperationBuilder _ children: () -> [Operation] = { [] }
  ) {
    Self.check(maxConcurrentOperationCount, of: name ?? "")
    members = Locked(GroupMembers(limit: maxConcurrentOperationCount))
    self.errorPolicy = errorPolicy
    super.init()
    run(childrenBy: self)
    withCore { $0.machine.childrenExpected() }
    if let name { self.name = name }
    for child in children() { addOperation(child) }
  }

  private static func check(_ limit: Int, of name: String) {
    if limit >= OperationQueue.defaultMaxConcurrentOperationCount { return }
    trap(
      "GroupOperation “\(name)” was given the limit \(limit). "
        + "Give a number from 0 up, or -1 for as many as there are threads."
    )
  }

  // Groups may be nested to any depth.
  deinit {
    // Errors also reference children. The errors are released first, so that the list has the last
    // references.
    _ = members.withLock { $0.takeErrors() }
    FlatRelease.release(members.withLock { $0.children.taken() })
  }

  // MARK: Children

  private func refuse(_ child: AdvancedOperation, of other: AdvancedOperation) -> Never {
    trap(
      "Operation “\(child.label)” was added to group “\(label)”, and is a child of "
        + "“\(other.label)” already. Create an operation for each group."
    )
  }

  /// Adds a child.
  ///
  /// - Before the group executes, the child waits for the start of the group.
  /// - While the group executes, the child may start immediately.
  /// - When the group has been cancelled and hasn't executed, the child is cancelled on arrival with the same
  ///   reason.
  /// - When the group has executed and has cancelled its children, the operation doesn't become a child. The
  ///   operation is cancelled with the same reason and finishes, and the group doesn't wait for it.
  /// - When all children have ended, the call does nothing and returns false.
  ///
  /// You can call this method from any thread, including from the children.
  ///
  /// - Parameter operation: An operation that isn't in a queue and isn't a child of another group.
  /// - Returns: Whether the operation has become a child.
  /// - Precondition: The operation isn't a child of a group. The operation is neither this group nor a group
  ///   that contains this group at any depth, because each would wait for the end of the other.
  @discardableResult
  public final func addOperation(_ operation: Operation) -> Bool {
    switch comes(operation) {
    case .take: true
    case .turnAway, .refuseAsTooLate: false
    }
  }

  fileprivate final func comes(_ operation: Operation) -> Children.ComingAction {
    let action = members.withLock { $0.childComes(operation) }
    switch action {
    case .take(let number): takeIn(operation, number)
    case .turnAway:
      environment.turnAway([operation]) { _ in operation.cancelAsChild(reason: reasonOfChildren) }
    case .refuseAsTooLate: break
    }
    return action
  }

  private func takeIn(_ operation: Operation, _ number: Int) {
    // The group adds the operation to a queue, and no other code can do that.
    _ = operation.claim()
    if let child = operation as? AdvancedOperation {
      let other = child.withCore { core -> AdvancedOperation? in
        let extra = core.makeExtra()
        if let other = extra.group { return other }
        extra.group = self
        extra.numberInGroup = number
        core.isChild = true
        return nil
      }
      if let other { refuse(child, of: other) }
      if let inner = child as? GroupOperation { checkIsNotAround(inner) }
    }
    operation.whenIdle { [weak self] in self?.childEnded($0, number) }
    // From here on the group, which may be starting on another thread, finds the child.
    let queue = members.withLock { $0.childCame(number) }
    if isCancelled || members.withLock({ $0.firstFailed != nil || $0.isLeaving }) {
      cancel(operation, reason: reasonOfChildren)
    }
    if let queue {
      tellParents(changeProgress { $0.childCame() })
      queue.addOperation(operation)
      RunTimeCycles.checkChildren(CollectionOfOne(operation), in: queue.scheduler)
    } else {
      (operation as? AdvancedOperation)?.noteWait(for: self)
      RunTimeCycles.checkWait(of: operation)
    }
  }

  /// Traps if a child is the group itself, or a group that contains this group.
  ///
  /// The child already knows its group when this method is called. If two threads create a cycle of two
  /// groups, each thread has added a child to one group before it searches for children of the other group.
  /// So at least one thread sees the cycle.
  private func checkIsNotAround(_ child: GroupOperation) {
    // A group without children doesn't contain another group.
    guard child === self || child.members.withLock({ $0.children.count > 0 }) else { return }
    guard sequence(first: self, next: \.parent).contains(where: { $0 === child }) else { return }
    trap(
      "GroupOperation “\(child.label)” was added to the group “\(label)”, "
        + (child === self ? "which is itself. " : "which is inside of it. ")
        + "Each would wait for the end of the other; add the operations to one group."
    )
  }

  /// The children that were added, in the order of adding, even if they have finished.
  public final var children: [Operation] { members.withLock { $0.children.operations } }

  /// The number of children that may execute at the same time; -1 for the number of threads.
  ///
  /// A change takes effect immediately, even while the group executes. With a limit of 0, no child executes.
  /// Cancelled children leave nevertheless.
  ///
  /// - Precondition: -1 or more.
  public final var maxConcurrentOperationCount: Int {
    get { members.withLock { $0.limit } }
    set {
      Self.check(newValue, of: label)
      let queue = members.withLock { members in
        members.limit = newValue
        return members.queue
      }
      if let queue { applyLimit(to: queue) }
    }
  }

  /// Sets the latest limit on the queue, even if several threads change the limit at the same time.
  private func applyLimit(to queue: AdvancedOperationQueue) {
    var limit: Int
    repeat {
      limit = maxConcurrentOperationCount
      queue.maxConcurrentOperationCount = limit
    } while limit != maxConcurrentOperationCount
  }

  /// Maps the errors of children, before the group records them.
  ///
  /// A later call replaces the closure of an earlier call. The closure receives each error as it was thrown.
  /// An error that passed through another operation is an ``OperationFailure``: use
  /// ``OperationFailure/first(_:)`` to search it for an error type.
  ///
  /// - Parameter transform: A closure that returns the error to record, or nil if the group has recovered
  ///   from it. The group calls the closure once for each error when the child's outcome is decided, before
  ///   an operation that depends on the child starts. The closure is called on any thread, while no lock is
  ///   held.
  public final func mapChildErrors(
    _ transform: @escaping @Sendable (AdvancedOperation, any Error) -> (any Error)?
  ) {
    let old = members.withLock { exchange(&$0.hook, with: transform) }
    withExtendedLifetime(old) {}
  }

  // MARK: Running

  /// Starts the children.
  public final override func execute() {
    // The queue is created first, because the name may be an override, which can run any code.
    let queue = makeQueue()
    // The state machine decides in one step whether the children run or another end of the group came first.
    guard withCore({ $0.machine.childrenDue() }) else { return }
    bodyBegan()
    begin(in: queue, isLeaving: false)
  }

  /// Creates a queue for the children, which has no separate threads.
  fileprivate final func makeQueue() -> AdvancedOperationQueue {
    let queue = AdvancedOperationQueue(environment: environment)
    queue.name = label
    return queue
  }

  fileprivate final func begin(in queue: AdvancedOperationQueue, isLeaving: Bool) {
    let children = members.withLock { members in
      members.childrenBegin(in: queue, of: self, isLeaving: isLeaving)
    }
    applyLimit(to: queue)
    if isCancelled || isLeaving {
      children.cancelTogether { $0.cancelAsChild(reason: reasonOfChildren) }
    }
    queue.addOperations(children)
    RunTimeCycles.checkChildren(children, in: queue.scheduler)
    follow(members.withLock { $0.children.begun() })
  }

  /// The reason for cancelling children that are added late or that leave because of the group's end.
  private var reasonOfChildren: (any Error)? {
    if isCancelled { return cancellationReason }
    let (failed, isLeaving) = members.withLock { ($0.firstFailed, $0.isLeaving) }
    return isLeaving ? withCore { $0.machine.failure } : failed
  }

  // MARK: Progress

  /// The sum of the progress that the children reported with
  /// ``AdvancedOperation/updateProgress(completed:total:)``.
  ///
  /// A child that has reported no progress counts as one unit, and a child that has ended counts as
  /// completed. A nested group counts as the sum of its children. Neither count decreases: a child that
  /// reports less than before, such as a retried operation, keeps its earlier progress. The total grows when
  /// a child is added or reports a larger total. Observers of the group are notified of each change while it
  /// executes. The children of a group that never executes don't count as completed.
  public final var progress: OperationProgress { members.withLock { $0.progress.sum } }

  /// Changes the sum, and delivers the changes in their order.
  ///
  /// The lock of the members is acquired while the lock of the group is held. The lock of a child is acquired
  /// while both are held.
  fileprivate final func changeProgress(
    isEndOfChild: Bool = false,
    _ body: (inout GroupProgress) -> Bool
  ) -> ProgressNews? {
    says(isEndOfChild: isEndOfChild) {
      members.withLock { body(&$0.progress) ? $0.progress.sum : nil }
    }
  }

  /// The policy by which the group finishes when its children have ended.
  public final override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  fileprivate final func cancelChildren(reason: (any Error)?) {
    let (children, queue) = members.withLock { members in
      members.children.stopped()
      return (members.children.operations, members.queue)
    }
    let cancel = { children.cancelTogether { self.cancel($0, reason: reason) } }
    // Without starts, a dependent of a cancelled child can't start before it is cancelled itself.
    if let queue { queue.withoutStarts(cancel) } else { cancel() }
  }

  /// Cancels a child because of the group's own cancel, or because of another child's failure.
  private func cancel(_ child: Operation, reason: (any Error)?) {
    // An advanced operation is counted when it ends, because only then it is certain that it didn't run.
    let willNotRun = !child.isCancelled && !child.isExecuting && !child.isFinished
    if reason is SiblingFailed, willNotRun, !(child is AdvancedOperation) {
      members.withLock { $0.plainChildWillNotRun(child) }
    }
    child.cancelAsChild(reason: reason)
  }

  private func childEnded(_ child: Operation, _ number: Int) {
    if !members.withLock({ $0.isLeaving }) {
      tellParents(changeProgress(isEndOfChild: true) { $0.childCompleted(child) })
    }
    follow(members.withLock { $0.children.ended(number) })
  }

  private func follow(_ action: Children.EndAction) {
    switch action {
    case .none, .wake: action.wake()
    case .close:
      members.withLock { $0.childrenClosed() }
      childrenHaveEnded()
    }
  }

  /// Ends the group after all its children and rollbacks: decides its end, or delivers an end that was
  /// decided before.
  ///
  /// - Parameter elements: The errors that rollbacks threw.
  final func end(_ elements: [OperationFailure.Element]) {
    if members.withLock({ $0.isLeaving }) {
      withCore { core in
        core.machine.childrenLeft(elements)
        core.appendEnd()
      }
      deliver()
      return
    }
    finish(withElements: elements)
    bodyEnded()
  }
}

extension GroupOperation: ChildRunner {
  final var openChildren: [Operation] { children.filter(\.isOpenAsChild) }

  final var hasWaitingChildren: Bool {
    members.withLock { $0.children.phase == .waiting && !$0.children.operations.isEmpty }
  }

  final func adopt(_ operation: AdvancedOperation, of owner: AdvancedOperation) -> Bool {
    switch comes(operation) {
    case .take, .turnAway: true
    case .refuseAsTooLate: false
    }
  }

  final func child(
    _ child: AdvancedOperation,
    didUpdateProgress update: OperationProgress,
    of owner: AdvancedOperation
  ) -> ProgressNews? {
    // A child that has ended counts as completed and keeps counting as completed.
    changeProgress {
      child.withCore { $0.machine.state < .finished } && $0.childUpdated(child, update)
    }
  }

  final func childEnds(_ child: AdvancedOperation) {
    let (isLeaving, hasFailedFast, hook) = members.withLock { members in
      (members.isLeaving, members.firstFailed != nil, members.hook)
    }
    if isLeaving { return }
    let elements = child.elementsForParent(isCancelledByParent: isCancelled || hasFailedFast)
      .inChild(child, hook)
    let failure = child.outcome?.failure ?? OperationFailure(elements: [])
    // A nested group has counted its own operations.
    var notRunCount = failure.notRunCount
    if elements.isEmpty, child.cancellationReason is SiblingFailed,
      !child.withCore({ $0.machine.hasStarted })
    {
      notRunCount += 1
    }
    let number = child.withCore { $0.extra?.numberInGroup ?? 0 }
    let reason = SiblingFailed(sibling: child.nameAndTag, failure: failure)
    let failsFast =
      errorPolicy == .failFast && !elements.isEmpty && !child.awaitsRecovery(in: self)
    let isFirst = members.withLock { members in
      members.children.errors
        .record(elements, notRunCount: notRunCount, of: child, number: number)
      return failsFast && members.failsFast(because: reason)
    }
    if isFirst && !isCancelled { cancelChildren(reason: reason) }
  }

  /// Lets the children leave as cancelled.
  ///
  /// Observers are notified of the group's end after that.
  final func letChildrenLeave() { begin(in: makeQueue(), isLeaving: true) }

  final func stop(reason: (any Error)?) { cancelChildren(reason: reason) }

  final func ownerIsIdle() {
    let old = members.withLock { $0.released() }
    withExtendedLifetime(old) {}
  }

  final func abandoned() {
    let old = members.withLock { $0.abandoned() }
    withExtendedLifetime(old) {}
  }
}

extension GroupOperation {
  /// The reason for cancelling children of a group with the policy ``ErrorPolicy/failFast`` after another
  /// child failed.
  ///
  /// ```swift
  /// if let reason = upload.cancellationReason as? GroupOperation.SiblingFailed {
  ///   print("given up, because “\(reason.sibling)” failed: \(reason.failure.summary())")
  /// }
  /// ```
  public struct SiblingFailed: Error, ConsequentialError, CustomStringConvertible {
    /// The child that failed first.
    public var sibling: OperationLabel
    /// The failure of that child.
    public var failure: OperationFailure

    var step: OperationFailure.Origin.Step? { .operation(sibling) }

    /// A sentence with the name of the child.
    public var description: String {
      "“\(sibling)”, of the same group, \(failure.isCancellation ? "was cancelled" : "failed")."
    }
  }
}
