import CoreOperations

/// The children of a group: a plain value behind its lock.
struct GroupMembers {
  private enum Phase {
    case waiting, started, closed
    /// The group never executed and is over; its children leave on their own.
    case abandoned
  }

  private(set) var children: [Operation] = []
  private(set) var queue: AdvancedOperationQueue?
  private(set) var hasFailedFast = false
  var hook: (@Sendable (AdvancedOperation, any Error) -> (any Error)?)?
  var rollbacks: [@Sendable () async throws -> Void] = []
  private var phase = Phase.waiting
  var isWaiting: Bool { phase == .waiting }
  var isAbandoned: Bool { phase == .abandoned }
  /// Children that have not ended, and the start of the group itself.
  private var openCount = 1
  private var elements: [ObjectIdentifier: [OperationFailure.Element]] = [:]
  /// How many operations of groups inside didn't run because of errors there.
  var notRunCount = 0

  /// The sum of what the children said; one that said nothing counts as one unit.
  private(set) var progress = OperationProgressUpdate(completed: 0, total: 0)
  private var updates: [ObjectIdentifier: OperationProgressUpdate] = [:]

  init() {}

  mutating func childAdded(
    _ child: Operation
  ) -> (isInTime: Bool, queue: AdvancedOperationQueue?) {
    guard phase == .waiting || phase == .started else { return (false, nil) }
    children.append(child)
    progress.total &+= 1
    openCount += 1
    return (true, queue)
  }

  /// The group executes: returns the children to enqueue.
  mutating func started(in queue: AdvancedOperationQueue) -> [Operation] {
    guard phase == .waiting else { return [] }
    phase = .started
    self.queue = queue
    return children
  }

  /// Something that was counted has ended; returns whether the group has.
  mutating func childEnded() -> Bool {
    openCount -= 1
    guard openCount == 0 else { return false }
    if phase != .abandoned { phase = .closed }
    return true
  }

  /// A child that has not ended said how far it is; returns whether that changed the sum.
  mutating func childUpdated(_ child: Operation, _ update: OperationProgressUpdate) -> Bool {
    guard update.total > 0 else { return false }
    let completed = min(max(update.completed, 0), update.total)
    return replace(child, by: .init(completed: completed, total: update.total))
  }

  /// A child has ended, so all of it is done; returns whether that changed the sum.
  mutating func childCompleted(_ child: Operation) -> Bool {
    let total = updates[ObjectIdentifier(child)]?.total ?? 1
    defer { updates[ObjectIdentifier(child)] = nil }
    return replace(child, by: .init(completed: total, total: total))
  }

  /// The group dies: returns what it held.
  mutating func childrenTaken() -> [Operation] { exchange(&children, with: []) }

  private mutating func replace(_ child: Operation, by update: OperationProgressUpdate) -> Bool {
    let old = updates[ObjectIdentifier(child)] ?? OperationProgressUpdate(completed: 0, total: 1)
    updates[ObjectIdentifier(child)] = update
    progress.completed &+= update.completed &- old.completed
    progress.total &+= update.total &- old.total
    return update != old
  }

  /// Keeps what a child reported; returns whether it is the first to make the group fail fast.
  mutating func recorded(
    _ elements: [OperationFailure.Element],
    of child: Operation,
    failsFast: Bool
  ) -> Bool {
    if !elements.isEmpty { self.elements[ObjectIdentifier(child)] = elements }
    guard failsFast, !hasFailedFast else { return false }
    hasFailedFast = true
    return true
  }

  /// The group ends without having executed: returns the children that would wait for ever.
  mutating func closedUnstarted() -> [Operation] {
    phase = .abandoned
    return children
  }

  /// The group has finished: returns what it doesn't need any more, to be let go of after unlocking.
  ///
  /// One that was finished from outside still has children to run, and may have something to undo.
  mutating func released() -> GroupMembers {
    let old = self
    if phase == .started { return old }
    hook = nil
    rollbacks = []
    queue = nil
    return old
  }

  /// The errors in the order of the children.
  ///
  /// One that didn't run because of a sibling's failure is counted, and not repeated.
  mutating func summary() -> (
    elements: [OperationFailure.Element], notRunCount: Int,
    rollbacks: [@Sendable () async throws -> Void]
  ) {
    var all = OperationFailure.rootCauses(
      children.compactMap { child in
        elements[ObjectIdentifier(child)].map { (child, $0) }
      }
    )
    all.notRunCount += notRunCount
    elements = [:]
    let taken = rollbacks
    rollbacks = []
    return (all.elements, all.notRunCount, taken)
  }
}
