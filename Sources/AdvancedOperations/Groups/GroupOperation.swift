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
/// their own: their number is bounded by the group's own ``maxConcurrentOperationCount``. A cancel
/// cancels the children with the same reason; the group finishes when all of them have ended and no
/// body of theirs is going on.
///
/// The children of a group that never executes leave as cancelled, and it stays
/// ``AdvancedOperation/State/finishing`` until they have.
///
/// Groups can be children of groups. What children have done can be undone: see
/// ``AdvancedOperation/onRollback(_:)``.
///
/// A group keeps its ``children``, and their errors, until it has ended.
///
/// A subclass makes its children in its initialiser, or adds them in a first child; ``execute()``
/// is the group's own. It may override ``AdvancedOperation/finished(withErrors:)``.
open class GroupOperation: AdvancedOperation, @unchecked Sendable {
  // Sendable: `members` has a lock.

  /// What the group does when a child fails.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum ErrorPolicy: Sendable {
    /// The others go on; all errors are collected.
    case collectAll
    /// The others are cancelled with the reason ``SiblingFailed``, before any that depends on it
    /// starts.
    ///
    /// Those that had not begun to execute are counted in ``OperationFailure/notRunCount``.
    case failFast
  }

  final let members: Locked<GroupMembers>
  fileprivate let errorPolicy: ErrorPolicy

  /// Creates a group.
  ///
  /// A subclass without an initialiser of its own inherits this one, with a closure that returns an
  /// array: Swift 6.3 leaves the builder behind. Call it from an initialiser to have that.
  ///
  /// - Parameters:
  ///   - name: What the group is called.
  ///   - errorPolicy: What happens to the others when a child fails.
  ///   - maxConcurrentOperationCount: How many children may execute at once; -1 for as many as
  ///     there are threads.
  ///   - children: The first children, in no queue yet.
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

  // Groups may be in each other as deep as a program likes.
  deinit {
    // What points at children goes first, so that the list has the last references.
    _ = members.withLock { $0.takeErrors() }
    FlatRelease.release(members.withLock { $0.children.taken() })
  }

  // MARK: Children

  private func refuse(_ child: AdvancedOperation, of other: AdvancedOperation) -> Never {
    trap(
      "Operation “\(child.label)” was added to group “\(label)”, and is a child of "
        + "“\(other.label)” already. Make one for each group."
    )
  }

  /// Adds a child.
  ///
  /// - Before the group executes, the child waits for the start of the group.
  /// - While the group executes, the child may start at once.
  /// - When the group has been cancelled and hasn't executed, the child is cancelled on arrival
  ///   with the same reason.
  /// - When the group has executed and has cancelled its children, the operation doesn't become a
  ///   child. It is cancelled with the same reason and finishes, and the group doesn't wait for it.
  /// - When all children have ended, it is too late: nothing happens to the operation.
  ///
  /// It can be called from any thread, and by the children themselves.
  ///
  /// - Parameter operation: In no queue yet, and a child of no other group.
  /// - Returns: Whether the operation has become a child.
  /// - Precondition: The operation is a child of no group. It isn't this group, nor a group that
  ///   this one is a child of, however deep: each would wait for the end of the other.
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
    // The group adds it to a queue, and nothing else does that.
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
    // From here on the group, which may just start, finds it.
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

  /// Traps when a child is the group itself, or one that the group is a child of.
  ///
  /// Called when the child knows its group. Of two threads that make a cycle of two groups, each
  /// has added a child to one before it looks for children of the other; so at least one sees the
  /// cycle.
  private func checkIsNotAround(_ child: GroupOperation) {
    // A group without children is around no other.
    guard child === self || child.members.withLock({ $0.children.count > 0 }) else { return }
    guard sequence(first: self, next: \.parent).contains(where: { $0 === child }) else { return }
    trap(
      "GroupOperation “\(child.label)” was added to the group “\(label)”, "
        + (child === self ? "which is itself. " : "which is inside of it. ")
        + "Each would wait for the end of the other; add the operations to one group."
    )
  }

  /// The children that were taken in, in the order of adding, finished or not.
  public final var children: [Operation] { members.withLock { $0.children.operations } }

  /// How many children may execute at once; -1 for as many as there are threads.
  ///
  /// A change takes effect at once, also while the group executes. With 0 no child starts, except
  /// to leave as cancelled.
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

  /// Gives the queue the limit that is the latest, whichever thread comes last.
  private func applyLimit(to queue: AdvancedOperationQueue) {
    var limit: Int
    repeat {
      limit = maxConcurrentOperationCount
      queue.maxConcurrentOperationCount = limit
    } while limit != maxConcurrentOperationCount
  }

  /// Maps the errors of children, before the group records them.
  ///
  /// A later call replaces the closure of an earlier one. The errors are as they were thrown. One
  /// that came through another operation is an ``OperationFailure``: ask that with
  /// ``OperationFailure/first(_:)``.
  ///
  /// - Parameter transform: Called once for each error when the child's outcome is decided, before
  ///   any operation that depends on the child starts; on any thread, without a lock held. Returns
  ///   the error to record, or nil when the group has recovered from it.
  public final func mapChildErrors(
    _ transform: @escaping @Sendable (AdvancedOperation, any Error) -> (any Error)?
  ) {
    let old = members.withLock { exchange(&$0.hook, with: transform) }
    withExtendedLifetime(old) {}
  }

  // MARK: Running

  /// Starts the children.
  public final override func execute() {
    // First, because the name may be an override, which can do anything.
    let queue = makeQueue()
    // Whether the children run is decided together with every other end of the group.
    guard withCore({ $0.machine.childrenDue() }) else { return }
    bodyBegan()
    begin(in: queue, isLeaving: false)
  }

  /// A queue for the children, which has no threads of its own.
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

  /// Why children are cancelled that come or leave because of the group's own end.
  private var reasonOfChildren: (any Error)? {
    if isCancelled { return cancellationReason }
    let (failed, isLeaving) = members.withLock { ($0.firstFailed, $0.isLeaving) }
    return isLeaving ? withCore { $0.machine.failure } : failed
  }

  // MARK: Progress

  /// How far the children are: the sum of what they said with
  /// ``AdvancedOperation/updateProgress(completed:total:)``.
  ///
  /// A child that has said nothing counts as one unit, one that has ended as done, a group as the
  /// sum of its own children. Neither count goes back: a child that says less than before, as one
  /// that is tried again, counts as far as it had come. With a child that is added, or that says
  /// there is more to do, the total grows. Observers of the group are told of each change while it
  /// executes. The children of a group that never executes do nothing, and aren't counted as done.
  public final var progress: OperationProgress { members.withLock { $0.progress.sum } }

  /// Changes the sum, and tells of it in the order of the changes.
  ///
  /// The lock of the members is taken in that of the group, and that of a child in both.
  fileprivate final func changeProgress(_ body: (inout GroupProgress) -> Bool) -> ProgressNews? {
    says { members.withLock { body(&$0.progress) ? $0.progress.sum : nil } }
  }

  /// That the group finishes when its children have ended.
  public final override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  fileprivate final func cancelChildren(reason: (any Error)?) {
    let (children, queue) = members.withLock { members in
      members.children.stopped()
      return (members.children.operations, members.queue)
    }
    let cancel = { children.cancelTogether { self.cancel($0, reason: reason) } }
    // No dependent of a cancelled child slips through.
    if let queue { queue.withoutStarts(cancel) } else { cancel() }
  }

  /// Cancels a child because of the group's own cancel, or because of another child's failure.
  private func cancel(_ child: Operation, reason: (any Error)?) {
    // An advanced one is counted at its end, when it is known for sure.
    let willNotRun = !child.isCancelled && !child.isExecuting && !child.isFinished
    if reason is SiblingFailed, willNotRun, !(child is AdvancedOperation) {
      members.withLock { $0.plainChildWillNotRun(child) }
    }
    child.cancelAsChild(reason: reason)
  }

  private func childEnded(_ child: Operation, _ number: Int) {
    if !members.withLock({ $0.isLeaving }) {
      tellParents(changeProgress { $0.childCompleted(child) })
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

  /// Nothing of the group goes on: ends it, if its end isn't decided, or has that told.
  ///
  /// - Parameter elements: What rollbacks threw.
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
    // A child that has ended was counted as done, and so it stays.
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
    // A group inside has counted its own.
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

  /// The children leave as cancelled, and observers are notified of the end then.
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
  /// Why a child was cancelled: another child failed, and the group's policy is
  /// ``ErrorPolicy/failFast``.
  ///
  /// ```swift
  /// if let reason = upload.cancellationReason as? GroupOperation.SiblingFailed {
  ///   print("given up, because “\(reason.sibling)” failed: \(reason.failure.summary())")
  /// }
  /// ```
  public struct SiblingFailed: Error, ConsequentialError, CustomStringConvertible {
    /// The child that failed first.
    public var sibling: OperationLabel
    /// What went wrong with it.
    public var failure: OperationFailure

    var step: OperationFailure.Origin.Step? { .operation(sibling) }

    /// One sentence with the name of the child.
    public var description: String {
      "“\(sibling)”, of the same group, \(failure.isCancellation ? "was cancelled" : "failed")."
    }
  }
}
