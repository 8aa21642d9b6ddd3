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
  var isAbandoned: Bool { phase == .abandoned }
  /// Children that have not ended, and the start of the group itself.
  private var openCount = 1
  private var elements: [ObjectIdentifier: [OperationFailure.Element]] = [:]
  /// How many operations of groups inside didn't run because of errors there.
  var notRunCount = 0

  init() {}

  mutating func childAdded(
    _ child: Operation
  ) -> (isInTime: Bool, queue: AdvancedOperationQueue?) {
    guard phase == .waiting || phase == .started else { return (false, nil) }
    children.append(child)
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
    phase = .closed
    return true
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
    guard phase == .waiting else { return [] }
    phase = .abandoned
    return children
  }

  /// The group is over: returns what it doesn't need any more, to be let go of after unlocking.
  mutating func released() -> GroupMembers {
    let old = self
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
    let failed = Set(elements.keys)
    var all: [OperationFailure.Element] = []
    var notRunCount = notRunCount
    for child in children {
      guard let own = elements[ObjectIdentifier(child)] else { continue }
      let followsSibling = child.dependencies.contains { failed.contains(ObjectIdentifier($0)) }
      let roots = own.filter { !($0.isInherited && followsSibling) }
      if roots.isEmpty && !own.isEmpty { notRunCount += 1 }
      all += roots
    }
    elements = [:]
    let taken = rollbacks
    rollbacks = []
    return (all, notRunCount, taken)
  }
}
