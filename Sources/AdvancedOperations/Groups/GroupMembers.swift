import CoreOperations

/// What a group has beside its children: a plain value behind its lock.
struct GroupMembers {
  var children = Children()
  var progress = GroupProgress()
  /// Where the children are run, or leave; nil before that.
  private(set) var queue: AdvancedOperationQueue?
  /// Whether the group's end was decided before it started its children, which leave as cancelled.
  private(set) var isLeaving = false
  /// The child whose failure made the group fail fast.
  private(set) var firstFailed: GroupOperation.SiblingFailed?
  var hook: ChildErrors.Hook?
  var rollbacks = RollbackList()
  /// How many children may execute at once; -1 for as many as there are threads.
  var limit: Int
  /// The group itself while it runs children: these don't keep it, and maybe nothing else does.
  private var owner: GroupOperation?
  /// The children that are plain operations and were cancelled because another one failed.
  private var unstarted: Set<ObjectIdentifier> = []

  init(limit: Int) { self.limit = limit }

  /// A child is being added; ``childCame(_:)`` follows.
  ///
  /// - Returns: What becomes of it.
  mutating func childComes(_ child: Operation) -> Children.ComingAction {
    if isLeaving { return .refuseAsTooLate }
    let action = children.comes(CollectionOfOne(child))
    if action == .turnAway, firstFailed != nil { children.errors.notRunCount += 1 }
    return action
  }

  /// A child that is being added is ready for all that the group does with it.
  ///
  /// - Returns: The queue to add it to, and the progress doesn't count it yet; nil if the group
  ///   will add it.
  mutating func childCame(_ number: Int) -> AdvancedOperationQueue? {
    children.came(number..<number + 1)
    if queue == nil { _ = progress.childCame() }
    return queue
  }

  /// The children are to run, or to leave.
  ///
  /// - Parameters:
  ///   - queue: Where.
  ///   - owner: Their group.
  ///   - isLeaving: Whether the end of the group was decided before.
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

  /// All children have ended, and none comes any more; the group is kept alive by the caller.
  mutating func childrenClosed() { owner = nil }

  /// Nothing runs the group or its children any more: returns what kept the group alive, and code of
  /// the program that may.
  mutating func abandoned() -> (owner: GroupOperation?, hook: ChildErrors.Hook?) {
    (owner.take(), hook.take())
  }

  /// A child has failed, and the group fails fast; returns whether it is the first.
  mutating func failsFast(because reason: GroupOperation.SiblingFailed) -> Bool {
    if firstFailed != nil { return false }
    firstFailed = reason
    return true
  }

  /// A plain operation is cancelled before it starts, because another child failed.
  mutating func plainChildWillNotRun(_ child: Operation) {
    unstarted.insert(ObjectIdentifier(child))
  }

  /// What the children reported; also those that have no way to.
  mutating func takeErrors() -> ChildErrors {
    children.errors.notRunCount += unstarted.count
    return exchange(&children.errors, with: ChildErrors())
  }

  /// The group has finished: returns what it doesn't need any more, to be let go of after
  /// unlocking.
  ///
  /// One that was finished from outside still has children to run, and may have something to undo.
  mutating func released() -> GroupMembers {
    let old = self
    if !rollbacks.isClosed { return old }
    hook = nil
    queue = nil
    rollbacks.forgetTaken()
    return old
  }
}

/// How far the children of a group are, in sum: a plain value behind its lock.
struct GroupProgress {
  // Each of what the children said may be as large as can be; one that said nothing counts as one
  // unit.
  private var completedUnits: Int128 = 0
  private var totalUnits: Int128 = 0
  private var updates: [ObjectIdentifier: OperationProgress] = [:]

  var sum: OperationProgress {
    OperationProgress(
      completedUnitCount: Int64(clamping: completedUnits),
      totalUnitCount: Int64(clamping: totalUnits)
    )
  }

  /// A child was added; returns whether that changed the sum, which it always does.
  mutating func childCame() -> Bool {
    totalUnits += 1
    return true
  }

  /// A child that has not ended said how far it is; returns whether that changed the sum.
  ///
  /// Neither count of a child goes back, so that none of the group does: one that begins anew, as
  /// an operation that is tried again, counts as far as it has come until it gets further.
  mutating func childUpdated(_ child: Operation, _ update: OperationProgress) -> Bool {
    guard update.totalUnitCount > 0 else { return false }
    let old = part(of: child)
    let total = max(update.totalUnitCount, old.totalUnitCount)
    // One that said more than there is has done all of what it said.
    let completed = min(update.completedUnitCount, update.totalUnitCount)
    return replace(
      child,
      by: .init(
        completedUnitCount: max(completed, old.completedUnitCount),
        totalUnitCount: total
      )
    )
  }

  /// A child has ended, so all of it is done; returns whether that changed the sum.
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
