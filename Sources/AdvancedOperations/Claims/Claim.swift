import CoreOperations

/// The claim of one operation, with its requests and the resources that it holds.
///
/// ``ClaimBook`` creates a claim when an operation requests resources, and forgets the claim when the
/// operation has released it. Variables are accessed under the lock of the domain.
final class Claim {
  let operation: AdvancedOperation
  /// The groups around the operation, the innermost first.
  let groups: [AdvancedOperation]
  /// A Boolean value that indicates whether the operation may run other operations, and so may wait for them
  /// while it holds its claim.
  let mayRunOthers: Bool
  /// The clock of the claim's rates; nil without rates.
  let clock: OperationClock?
  /// A Boolean value that indicates whether the operation waits for busy resources, independently of its
  /// requests' ``WhenBusy``.
  let alwaysWaits: Bool
  /// The parts of the claim, one for each resource.
  var parts: [Part] = []
  var state = State.idle
  /// The place in the FIFO order of waiters; nil unless the operation waits or has to try again.
  ///
  /// The ticket of an operation that was moved to the front is negative.
  var ticket: Int64?
  var wasMoved = false
  /// A Boolean value that indicates whether the clock of the operation is about to be read, so that the claim
  /// can be offered.
  var awaitsTime = false
  /// The index of the claim in the heap of waiters, which only the heap uses.
  fileprivate(set) var heapIndex = 0
  /// The resources of the children of a group, created from the parts that the group holds.
  private var rooms: [ClaimRequest.Subject: Resource] = [:]

  /// The state of a claim.
  ///
  /// Legal changes: idle → waiting, offered or held; waiting → idle or offered; offered → held or idle; held
  /// → idle.
  enum State {
    /// The operation holds nothing, and isn't in a queue of waiters.
    case idle
    /// The operation is in the queue of waiters of the resource of this part.
    case waiting(part: Int)
    /// The operation has waited for the claim, and holds it while its queue is asked whether it can
    /// start the operation now.
    case offered
    case held
  }

  /// The part of a claim that concerns one resource.
  struct Part {
    let resource: Resource
    let request: ClaimRequest
    /// The number of units; 0 for a rate, and for a place that a group around the operation holds.
    let units: Int
    /// The start that rates have counted, until the operation begins.
    var start: RateBucket.Start?
  }

  init(_ attempt: ClaimBook.Attempt) {
    operation = attempt.operation
    groups = attempt.groups
    mayRunOthers = attempt.mayRunOthers
    clock = attempt.time?.clock
    alwaysWaits = attempt.alwaysWaits
  }

  func isInside(_ operation: AdvancedOperation) -> Bool { groups.contains { $0 === operation } }

  /// The part whose resource the operation waits for; nil if it isn't in a queue of waiters.
  var awaited: Part? { if case .waiting(let index) = state { parts[index] } else { nil } }

  var hasUnits: Bool {
    switch state {
    case .idle, .waiting: false
    case .offered, .held: true
    }
  }

  /// Returns the resource from which the children of this group take units of a subject; nil if the group
  /// holds none.
  func room(of subject: ClaimRequest.Subject) -> Resource? {
    guard hasUnits, let part = parts.first(where: { $0.request.subject == subject }),
      !part.request.isRate
    else { return nil }
    if let room = rooms[subject] { return room }
    let room = Resource(inside: part)
    rooms[subject] = room
    return room
  }

  /// The number of units that the operation needs of a resource.
  func units(of resource: Resource) -> Int {
    parts.first { $0.resource === resource }?.units ?? 0
  }

  /// Removes and returns everything that refers to resources, because resources refer to claims.
  func takeContents() -> (parts: [Part], rooms: [ClaimRequest.Subject: Resource]) {
    state = .idle
    return (exchange(&parts, with: []), exchange(&rooms, with: [:]))
  }
}

/// Claims are ordered by their tickets, the earliest first.
extension Claim: HeapElement {
  func isBefore(_ other: Claim) -> Bool { ticket ?? .max < other.ticket ?? .max }
  func moved(to index: Int) { heapIndex = index }
}
