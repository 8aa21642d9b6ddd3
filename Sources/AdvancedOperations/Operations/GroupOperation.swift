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
    let (isInTime, queue) = members.withLock { $0.childAdded(operation) }
    guard isInTime else { return false }
    if let child = operation as? AdvancedOperation {
      child.withCore { $0.makeExtra().group = self }
      child.afterQuiet { [weak self] in self?.childEnded($0) }
    } else {
      operation.whenFinished { [weak self] in self?.childEnded($0) }
    }
    if isCancelled || members.withLock({ $0.hasFailedFast }) {
      operation.cancelAsChild(reason: cancellationReason)
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
    if isCancelled { for child in waiting { child.cancelAsChild(reason: cancellationReason) } }
    queue.addOperations(waiting)
    RunTimeRings.lookAtChildren(waiting, in: queue)
    // The group itself counts as a child until here, so that it can't end in between.
    if members.withLock({ $0.childEnded() }) { endGroup() }
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
    // No dependent of a cancelled child slips through.
    queue?.isSuspended = true
    for child in children { child.cancelAsChild(reason: reason) }
    queue?.isSuspended = false
  }

  private func childEnded(_ child: Operation) {
    let (isAbandoned, isLast, hook) = members.withLock { members in
      (members.isAbandoned, members.isAbandoned && members.childEnded(), members.hook)
    }
    if isAbandoned {
      if isLast { bodyEnded() }
      return
    }
    tellParents(changeProgress { $0.childCompleted(child) })
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
    guard let child = child as? AdvancedOperation else { return [] }
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

  private func endGroup() {
    // Whatever finishes the group now finds its members closed, and lets go of them; this is for one
    // that has finished before.
    defer { if isFinished { releaseResources() } }
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
    // Not with the task-locals of the child that ended last, in whose task this may be.
    Task.detached(executorPreference: environment.taskExecutor) {
      let elements = await TaskOccupant.with(self) {
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

  override var hearsOfOutcome: Bool { true }

  /// Children of a group that never executed would never end: they leave as cancelled.
  override func outcomeDecided(_ outcome: OperationOutcome) {
    guard members.withLock({ $0.isWaiting }) else { return }
    // Not quiet before they are, so that whoever waits for the group's queue waits for them as well.
    bodyBegan()
    let waiting = members.withLock { $0.closedUnstarted() }
    let reason = isCancelled ? cancellationReason : outcome.failure
    for child in waiting { child.cancelAsChild(reason: reason) }
    AdvancedOperationQueue(environment: environment).addOperations(waiting)
    if members.withLock({ $0.childEnded() }) { bodyEnded() }
  }

  override func releaseResources() {
    let old = members.withLock { $0.released() }
    withExtendedLifetime(old) {}
  }
}
