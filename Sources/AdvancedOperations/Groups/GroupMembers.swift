import CoreOperations

/// The state of a group, including its children: a plain value behind the group's lock.
struct GroupMembers {
  var children = Children()
  var progress = GroupProgress()
  /// The queue in which the children run or leave; nil before they are added to it.
  private(set) var queue: AdvancedOperationQueue?
  /// A Boolean value that indicates whether the group's end was decided before it started its children, which
  /// leave as cancelled.
  private(set) var isLeaving = false
  /// The child whose failure made the group fail fast.
  private(set) var firstFailed: GroupOperation.SiblingFailed?
  var hook: ChildErrors.Hook?
  var rollbacks = RollbackList()
  /// The number of children that may execute at the same time; -1 for the number of threads.
  var limit: Int
  /// The group itself while it runs children, because the children don't retain it and maybe no other object
  /// does.
  private var owner: GroupOperation?
  /// The children that are plain operations and were cancelled because another child failed.
  private var unstarted: Set<ObjectIdentifier> = []

  init(limit: Int) { self.limit = limit }

  /// Records that a child is being added.
  ///
  /// A call of ``childCame(_:)`` follows.
  ///
  /// - Returns: The group's answer to the child.
  mutating func childComes(_ child: Operation) -> Children.ComingAction {
    if isLeaving { return .refuseAsTooLate }
    let action = children.comes(CollectionOfOne(child))
    if action == .turnAway, firstFailed != nil { children.errors.notRunCount += 1 }
    return action
  }

  /// Records that a child has been added, so that the group may use it.
  ///
  /// - Returns: The queue to add the child to, in which case the progress doesn't count the child yet; nil if
  ///   the group will add the child to a queue later.
  mutating func childCame(_ number: Int) -> AdvancedOperationQueue? {
    children.came(number..<number + 1)
    if queue == nil { _ = progress.childCame() }
    return queue
  }

  /// Records that the children run or leave from now on.
  ///
  /// - Parameters:
  ///   - queue: The queue in which the children run.
  ///   - owner: The group that the children belong to.
  ///   - isLeaving: A Boolean value that indicates whether the end of the group was decided before.
  /// - Returns: The children to add to the queue.
  mutating func childrenBegin(
    in queue: AdvancedOperationQueue,
    of owner: GroupOperation,
    isLeaving: Bool
  ) -> [Operation] {
    children.begins()
    self.queue = queue
    self.owner = owner
    self.isLeaving = isLeaving
    return children.operations
  }

  /// Records that all children have ended and no child can be added.
  ///
  /// The caller keeps the group alive.
  mutating func childrenClosed() { owner = nil }

  /// Records that neither the group nor its children will run again.
  ///
  /// - Returns: The reference that kept the group alive, and a closure of the program that may do so as well.
  mutating func abandoned() -> (owner: GroupOperation?, hook: ChildErrors.Hook?) {
    (owner.take(), hook.take())
  }

  /// Records that a child has failed in a group that fails fast; returns whether this is the first failure.
  mutating func failsFast(because reason: GroupOperation.SiblingFailed) -> Bool {
    if firstFailed != nil { return false }
    firstFailed = reason
    return true
  }

  /// Records that a plain operation is cancelled before it starts, because another child failed.
  mutating func plainChildWillNotRun(_ child: Operation) {
    unstarted.insert(ObjectIdentifier(child))
  }

  /// Takes out the errors of the children, and counts the plain operations that didn't run, which can't
  /// report errors.
  mutating func takeErrors() -> ChildErrors {
    children.errors.notRunCount += unstarted.count
    return exchange(&children.errors, with: ChildErrors())
  }

  /// Releases resources because the group has finished; the caller releases the result after unlocking.
  ///
  /// A group that was finished from outside still has children to run, and may have work to undo.
  mutating func released() -> GroupMembers {
    let old = self
    if !rollbacks.isClosed { return old }
    hook = nil
    queue = nil
    rollbacks.forgetTaken()
    return old
  }
}

/// The sum of the progress of a group's children: a plain value behind the group's lock.
struct GroupProgress {
  // The counts that a child reports may be as large as `Int64` allows. A child that has reported no progress
  // counts as one unit.
  private var completedUnits: Int128 = 0
  private var totalUnits: Int128 = 0
  private var updates: [ObjectIdentifier: OperationProgress] = [:]

  var sum: OperationProgress {
    OperationProgress(
      completedUnitCount: Int64(clamping: completedUnits),
      totalUnitCount: Int64(clamping: totalUnits)
    )
  }

  /// Records that a child was added; returns whether that changed the sum, which is always the case.
  mutating func childCame() -> Bool {
    totalUnits += 1
    return true
  }

  /// Records the progress of a child that hasn't ended; returns whether that changed the sum.
  ///
  /// Neither count of a child decreases, so that neither count of the group decreases. A child that starts
  /// again from zero, such as a retried operation, keeps its earlier progress until it exceeds it.
  mutating func childUpdated(_ child: Operation, _ update: OperationProgress) -> Bool {
    guard update.totalUnitCount > 0 else { return false }
    let old = part(of: child)
    let total = max(update.totalUnitCount, old.totalUnitCount)
    // A child that reports more completed units than its total has completed the total.
    let completed = min(update.completedUnitCount, update.totalUnitCount)
    return replace(
      child,
      by: .init(
        completedUnitCount: max(completed, old.completedUnitCount),
        totalUnitCount: total
      )
    )
  }

  /// Records that a child has ended, so that all of its units are completed; returns whether that changed the
  /// sum.
  mutating func childCompleted(_ child: Operation) -> Bool {
    let total = part(of: child).totalUnitCount
    defer { updates[ObjectIdentifier(child)] = nil }
    return replace(child, by: .init(completedUnitCount: total, totalUnitCount: total))
  }

  private func part(of child: Operation) -> OperationProgress {
    updates[ObjectIdentifier(child)] ?? .init(completedUnitCount: 0, totalUnitCount: 1)
  }

  private mutating func replace(_ child: Operation, by update: OperationProgress) -> Bool {
    let old = part(of: child)
    updates[ObjectIdentifier(child)] = update
    completedUnits += Int128(update.completedUnitCount) - Int128(old.completedUnitCount)
    totalUnits += Int128(update.totalUnitCount) - Int128(old.totalUnitCount)
    return update != old
  }
}
