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
///
/// The children of a group that never executes leave as cancelled, and it stays
/// ``AdvancedOperation/State/finishing`` until they have.
open class GroupOperation: AdvancedOperation, @unchecked Sendable {
  // Sendable: `members` has a lock.

  /// What the group does when a child fails.
  public enum ErrorPolicy: Sendable {
    /// The others go on; all errors are collected.
    case collectAll
    /// The others are cancelled, before any that depends on it starts.
    case failFast
  }

  final let members: Locked<GroupMembers>
  private let number = ObjectNumber()
  private let errorPolicy: ErrorPolicy
  private let limit: Int

  /// Creates a group.
  ///
  /// A subclass without an initialiser of its own inherits this one, with a closure that returns an
  /// array: Swift 6.3 leaves the builder behind. Call it from an initialiser to have that.
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
    withCore { $0.machine.childrenExpected() }
    if let name { self.name = name }
    for child in children() { _ = addOperation(child) }
  }

  // Groups may be in each other as deep as a program likes.
  deinit { FlatRelease.release(members.withLock { $0.childrenTaken() }) }

  // MARK: Children

  /// Adds a child.
  ///
  /// It starts with the group, or at once when that is executing; a child that is added to a
  /// cancelled group is cancelled on arrival.
  ///
  /// - Parameter operation: In no queue yet.
  /// - Returns: Whether it was still in time; the group knows nothing of a child that wasn't.
  public final func addOperation(_ operation: Operation) -> Bool {
    guard let number = members.withLock({ $0.childComes(operation) }) else { return false }
    // The group adds it to a queue, and nothing else does that.
    _ = operation.claim()
    if let child = operation as? AdvancedOperation {
      child.withCore { core in
        core.makeExtra().group = self
        core.isChild = true
      }
      child.afterQuiet { [weak self] in self?.childEnded($0, number) }
    } else {
      operation.whenFinished { [weak self] in self?.childEnded($0, number) }
    }
    // From here on the group, which may just start, finds it.
    let queue = members.withLock { $0.childCame(number) }
    if isCancelled || members.withLock({ $0.hasFailedFast || $0.isLeaving }) {
      operation.cancelAsChild(reason: reasonOfChildren)
    }
    if let queue {
      queue.addOperation(operation)
      RunTimeRings.lookAtChildren(CollectionOfOne(operation), in: queue)
    } else {
      (operation as? AdvancedOperation)?.noteWait(for: self)
      RunTimeRings.lookAtOther(of: operation)
    }
    return true
  }

  /// All that were added in time, in that order, finished or not.
  public final var children: [Operation] { members.withLock { $0.children } }

  /// Sets what becomes of the errors of children.
  ///
  /// - Parameter hook: Called once for each error when the child's outcome is decided, before any
  ///   operation that depends on the child starts; on any thread, without a lock held. Returns the
  ///   error to record, or nil when the group has recovered from it.
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
  /// children have ended and before observers are told that the group will finish, also when the group
  /// never executed. One that a rollback registers runs next. What they throw is an error of the group,
  /// unless its end was decided before by a `finish()` from outside.
  ///
  /// - Parameter body: What undoes it.
  /// - Returns: Whether it was still in time; otherwise it will not be run, and what it would undo is
  ///   the caller's affair. Children are always in time.
  @discardableResult
  public final func onRollback(_ body: @escaping @Sendable () async throws -> Void) -> Bool {
    members.withLock { $0.rollbackAdded(body) }
  }

  // MARK: Running

  /// Starts the children.
  public final override func execute() {
    let queue = AdvancedOperationQueue(environment: environment)
    queue.name = label
    queue.maxConcurrentOperationCount = limit
    // Whether the children run is decided together with every other end of the group.
    guard withCore({ $0.machine.childrenDue() }) else { return }
    bodyBegan()
    begin(in: queue, isLeaving: false)
  }

  /// The end was decided before: the children leave as cancelled, and then it is told.
  override func letChildrenLeave() {
    let queue = AdvancedOperationQueue(environment: environment)
    queue.name = label
    begin(in: queue, isLeaving: true)
  }

  private func begin(in queue: AdvancedOperationQueue, isLeaving: Bool) {
    let children = members.withLock { members in
      members.childrenBegin(in: queue, of: self, isLeaving: isLeaving)
    }
    if isCancelled || isLeaving {
      for child in children { child.cancelAsChild(reason: reasonOfChildren) }
    }
    queue.addOperations(children)
    RunTimeRings.lookAtChildren(children, in: queue)
    if members.withLock({ $0.childrenBegan() }) { childrenHaveEnded() }
  }

  /// Why children are cancelled that come or leave because of the group's own end.
  private var reasonOfChildren: (any Error)? {
    if isCancelled { return cancellationReason }
    return members.withLock { $0.isLeaving } ? withCore { $0.machine.failure } : nil
  }

  // MARK: Progress

  /// How far the children are: the sum of what they said with
  /// ``AdvancedOperation/updateProgress(completed:total:)``.
  ///
  /// A child that has said nothing counts as one unit, one that has ended as done, a group as the sum
  /// of its own children. Observers of the group are told of each change while it executes.
  public final var progress: OperationProgressUpdate { members.withLock { $0.progress } }

  override func child(
    _ child: AdvancedOperation,
    didUpdateProgress update: OperationProgressUpdate
  ) -> ProgressNews? {
    // One that has ended was counted as done, and so it stays.
    changeProgress { members in
      child.withCore { $0.machine.state < .finished } && members.childUpdated(child, update)
    }
  }

  /// Changes the sum, and tells of it in the order of the changes.
  ///
  /// The lock of the members is taken in that of the group, and that of a child in both.
  private func changeProgress(_ body: (inout GroupMembers) -> Bool) -> ProgressNews? {
    let (group, progress) = withCore { core -> (AdvancedOperation?, OperationProgressUpdate) in
      let (isNew, progress) = members.withLock { members in (body(&members), members.progress) }
      guard isNew, core.machine.state == .executing else { return (nil, progress) }
      if !core.observers.isEmpty { core.line.append(.progress(progress)) }
      return (core.extra?.group, progress)
    }
    deliver()
    return group.map { ProgressNews(child: self, parent: $0, update: progress) }
  }

  override func adopt(_ operation: AdvancedOperation) -> Bool { addOperation(operation) }

  /// That the group finishes when its children have ended.
  public final override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  override var parentNumber: ObjectNumber? { number }
  override var openChildren: [Operation] {
    children.filter { child in
      guard let child = child as? AdvancedOperation else { return !child.isFinished }
      return !child.withCore { $0.machine.isQuiet }
    }
  }

  override var hasWaitingChildren: Bool {
    members.withLock { $0.isWaiting && !$0.children.isEmpty }
  }

  override func stopBody() { cancelChildren(reason: cancellationReason) }

  private func cancelChildren(reason: (any Error)?) {
    let (children, queue) = members.withLock { ($0.children, $0.queue) }
    let cancel = { for child in children { child.cancelAsChild(reason: reason) } }
    // No dependent of a cancelled child slips through.
    if let queue { queue.withoutStarts(cancel) } else { cancel() }
  }

  override func childEnds(_ child: AdvancedOperation) {
    let (isLeaving, hook) = members.withLock { ($0.isLeaving, $0.hook) }
    if isLeaving { return }
    let elements = errors(of: child, hook: hook)
    // A group inside has counted its own.
    let notRunCount = child.outcome?.failure?.notRunCount ?? 0
    let isFirst = members.withLock { members in
      members.recorded(
        elements,
        notRunCount: notRunCount,
        of: child,
        failsFast: errorPolicy == .failFast
      )
    }
    if isFirst && !isCancelled { cancelChildren(reason: nil) }
  }

  private func childEnded(_ child: Operation, _ number: Int) {
    if !members.withLock({ $0.isLeaving }) {
      tellParents(changeProgress { $0.childCompleted(child) })
    }
    if members.withLock({ $0.childEnded(number) }) { childrenHaveEnded() }
  }

  /// What a child adds to the group's errors.
  private func errors(
    of child: AdvancedOperation,
    hook: (@Sendable (AdvancedOperation, any Error) -> (any Error)?)?
  ) -> [OperationFailure.Element] {
    let isCancelledByGroup = isCancelled || members.withLock { $0.hasFailedFast }
    let label = child.label
    return child.elementsForParent(isCancelledByParent: isCancelledByGroup).compactMap { element in
      var element = element.inChild(label)
      if let hook {
        guard let error = hook(child, element.error) else { return nil }
        element.error = error
      }
      return element
    }
  }

  /// Undoes what has to be undone, and ends.
  private func childrenHaveEnded() {
    let failure = members.withLock { $0.summary() }
    var dropped: [GroupMembers.Rollback] = []
    if endsWell(failure, { dropped = members.withLock { $0.rollbacksDropped() } }) {
      withExtendedLifetime(dropped) {}
      return end([])
    }
    guard let last = members.withLock({ $0.nextRollback() }) else { return end([]) }
    // Not with the task-locals of the child that ended last, in whose task this may be.
    Task.detached(executorPreference: environment.bodyExecutor) {
      let elements = await TaskOccupant.with(self) {
        var elements: [OperationFailure.Element] = []
        var next: GroupMembers.Rollback? = last
        while let rollback = next {
          do { try await rollback() } catch {
            elements.append(.init(origin: .body, error: error))
          }
          next = self.members.withLock { $0.nextRollback() }
        }
        return elements
      }
      self.end(elements)
    }
  }

  /// Decides the outcome as a success, if it isn't decided and nothing speaks against that.
  ///
  /// Otherwise what the children came to is kept, so that a `finish()` that comes while things are
  /// undone doesn't make a success of it.
  ///
  /// - Parameters:
  ///   - failure: What the children came to.
  ///   - drop: Called in the same step, so that none is registered that would be neither run nor refused.
  /// - Returns: Whether nothing is to be undone.
  private func endsWell(_ failure: OperationFailure, _ drop: () -> Void) -> Bool {
    if members.withLock({ !$0.isLeaving }), failure.elements.isEmpty, finishAsSuccess(drop) {
      return true
    }
    return withCore { core in
      // `finish()` may have been called from outside before.
      let isGood =
        core.machine.holdsChildren ? core.machine.endsWell : core.machine.outcome?.isSuccess == true
      if isGood {
        drop()
      } else {
        core.machine.record(failure.elements, notRunCount: failure.notRunCount)
      }
      return isGood
    }
  }

  /// Nothing of the group goes on: ends it, if its end isn't decided, or has that told.
  ///
  /// - Parameter elements: What rollbacks threw.
  private func end(_ elements: [OperationFailure.Element]) {
    if members.withLock({ $0.isLeaving }) {
      withCore { core in
        core.machine.childrenLeft(elements)
        core.appendEnd()
      }
      deliver()
      return
    }
    // What finishes the group lets go of what it doesn't need; this is for one that has finished before.
    defer { if isFinished { releaseResources() } }
    finish(withElements: elements)
    bodyEnded()
  }

  override func releaseResources() {
    let old = members.withLock { $0.released() }
    withExtendedLifetime(old) {}
  }
}
