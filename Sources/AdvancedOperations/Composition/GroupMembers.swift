import CoreOperations

/// The children of a group: a plain value behind its lock.
struct GroupMembers {
  /// How far the children are; only ever forward, so that one caller hears that all have ended.
  private enum Phase {
    /// The group has not started them. Exit: `starting`.
    case waiting
    /// The group is starting them, or letting them leave. Exit: `running`.
    case starting
    /// Exit: `closed`, when all have ended.
    case running
    /// Nothing comes any more. No exit.
    case closed
  }

  private struct Member {
    let operation: Operation
    /// Whether the group may touch it: it knows its group, which hears of its end.
    var isThere = false
    var hasEnded = false
  }

  private var all: [Member] = []
  private var phase = Phase.waiting
  /// Where the children are run, or leave; nil before that.
  private(set) var queue: AdvancedOperationQueue?
  /// Whether the group's end was decided before it started its children, which leave as cancelled.
  private(set) var isLeaving = false
  /// The child whose failure made the group fail fast.
  private(set) var firstFailed: GroupOperation.SiblingFailed?
  var hasFailedFast: Bool { firstFailed != nil }
  var hook: (@Sendable (AdvancedOperation, any Error) -> (any Error)?)?
  var rollbacks = RollbackList()
  /// How many children may execute at once; -1 for as many as there are threads.
  var limit: Int
  /// How many of all have not ended.
  private var openCount = 0
  /// The group itself while it runs children: these don't keep it, and maybe nothing else does.
  private var owner: GroupOperation?
  private var elements: [ObjectIdentifier: [OperationFailure.Element]] = [:]
  /// How many children, and operations of groups inside, didn't run because of errors.
  private var notRunCount = 0
  /// The children that are plain operations and were cancelled because another one failed.
  private var unstarted: Set<ObjectIdentifier> = []

  /// The sums of what the children said, each of which may be as large as can be; one that said
  /// nothing counts as one unit.
  private var completedUnits: Int128 = 0
  private var totalUnits: Int128 = 0
  var progress: OperationProgressUpdate {
    OperationProgressUpdate(
      completedUnitCount: Int64(clamping: completedUnits),
      totalUnitCount: Int64(clamping: totalUnits)
    )
  }
  private var updates: [ObjectIdentifier: OperationProgressUpdate] = [:]

  init(limit: Int) { self.limit = limit }

  /// Whether there is a child, or one is being added.
  var hasChildren: Bool { !all.isEmpty }

  var isWaiting: Bool { phase == .waiting }

  /// All that were added in time, in that order.
  var children: [Operation] { all.lazy.filter(\.isThere).map(\.operation) }

  // MARK: Coming and going

  /// A child is being added; ``childCame(_:)`` follows, before which nothing is done with it.
  ///
  /// - Returns: Its number; nil when it is too late.
  mutating func childComes(_ child: Operation) -> Int? {
    guard phase != .closed, !isLeaving else { return nil }
    all.append(Member(operation: child))
    totalUnits += 1
    openCount += 1
    return all.count - 1
  }

  /// A child that is being added is ready for all that the group does with it.
  ///
  /// - Returns: The queue to add it to; nil if the group will do that.
  mutating func childCame(_ number: Int) -> AdvancedOperationQueue? {
    all[number].isThere = true
    return queue
  }

  /// The children are to run, or to leave; ``childrenBegan()`` follows.
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
    guard phase == .waiting else { trap("the children of a group were started twice") }
    phase = .starting
    self.queue = queue
    self.owner = owner
    self.isLeaving = isLeaving
    return children
  }

  /// The children were added to the queue; returns whether all have ended, which is said once.
  mutating func childrenBegan() -> Bool {
    guard phase == .starting else { trap("the children of a group had not begun") }
    phase = .running
    return closeIfAllHaveEnded()
  }

  /// A child has ended; returns whether all have, which is said once.
  mutating func childEnded(_ number: Int) -> Bool {
    guard !all[number].hasEnded else { trap("a child of a group ended twice") }
    all[number].hasEnded = true
    openCount -= 1
    return closeIfAllHaveEnded()
  }

  private mutating func closeIfAllHaveEnded() -> Bool {
    guard phase == .running, openCount == 0 else { return false }
    phase = .closed
    // Kept alive by the caller.
    owner = nil
    return true
  }

  // MARK: Progress

  /// A child that has not ended said how far it is; returns whether that changed the sum.
  mutating func childUpdated(_ child: Operation, _ update: OperationProgressUpdate) -> Bool {
    guard update.totalUnitCount > 0 else { return false }
    let completed = min(max(update.completedUnitCount, 0), update.totalUnitCount)
    return replace(
      child,
      by: .init(completedUnitCount: completed, totalUnitCount: update.totalUnitCount)
    )
  }

  /// A child has ended, so all of it is done; returns whether that changed the sum.
  mutating func childCompleted(_ child: Operation) -> Bool {
    let total = updates[ObjectIdentifier(child)]?.totalUnitCount ?? 1
    defer { updates[ObjectIdentifier(child)] = nil }
    return replace(child, by: .init(completedUnitCount: total, totalUnitCount: total))
  }

  /// The group dies: returns what it held.
  mutating func childrenTaken() -> [Operation] { exchange(&all, with: []).map(\.operation) }

  private mutating func replace(_ child: Operation, by update: OperationProgressUpdate) -> Bool {
    let old = updates[ObjectIdentifier(child)] ?? .init(completedUnitCount: 0, totalUnitCount: 1)
    updates[ObjectIdentifier(child)] = update
    completedUnits += Int128(update.completedUnitCount) - Int128(old.completedUnitCount)
    totalUnits += Int128(update.totalUnitCount) - Int128(old.totalUnitCount)
    return update != old
  }

  // MARK: Errors

  /// Keeps what a child reported.
  ///
  /// - Parameters:
  ///   - elements: Its errors.
  ///   - notRunCount: How many operations didn't run because of errors.
  ///   - child: The child.
  ///   - reason: Why the other children are cancelled then; nil if the group doesn't fail fast.
  /// - Returns: Whether the group fails fast now.
  mutating func recorded(
    _ elements: [OperationFailure.Element],
    notRunCount: Int,
    of child: Operation,
    failsFast reason: GroupOperation.SiblingFailed?
  ) -> Bool {
    self.notRunCount += notRunCount
    guard !elements.isEmpty else { return false }
    self.elements[ObjectIdentifier(child)] = elements
    guard let reason, !hasFailedFast else { return false }
    firstFailed = reason
    return true
  }

  /// A plain operation is cancelled before it starts, because another child failed.
  mutating func plainChildWillNotRun(_ child: Operation) {
    unstarted.insert(ObjectIdentifier(child))
  }

  /// What the children reported, in their order.
  ///
  /// A value, because looking at it calls the program: an override of `dependencies`, and what
  /// errors do when they are released.
  struct Errors {
    fileprivate let failures: [(operation: Operation, elements: [OperationFailure.Element])]
    fileprivate let notRunCount: Int

    /// One that didn't run because of a sibling's failure is counted, and not repeated.
    var summary: OperationFailure {
      var failure = OperationFailure.rootCauses(
        failures.filter { ($0.operation as? AdvancedOperation)?.isRecovered != true }
      )
      failure.notRunCount += notRunCount
      return failure
    }
  }

  mutating func takeErrors() -> Errors {
    let elements = exchange(&elements, with: [:])
    return Errors(
      failures: all.compactMap { member in
        elements[ObjectIdentifier(member.operation)].map { (member.operation, $0) }
      },
      notRunCount: notRunCount + unstarted.count
    )
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
    return old
  }
}
