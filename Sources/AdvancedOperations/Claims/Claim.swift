import CoreOperations

/// The claim of one operation: its requests, and what it holds.
///
/// ``ClaimBook`` creates a claim when an operation wants what it requests, and forgets it when the
/// operation has released it. Accessed under the lock of the domain, except for the constants.
final class Claim {
  let operation: AdvancedOperation
  /// The groups around the operation, the innermost first.
  let groups: [AdvancedOperation]
  /// Whether the operation may run others, and so may wait for some while it holds its claim.
  let mayRunOthers: Bool
  /// The clock by which its rates go; nil without rates.
  let clock: OperationClock?
  /// Whether the operation waits for what is busy, whatever its requests say.
  let alwaysWaits: Bool
  /// What the operation needs of each resource.
  var parts: [Part] = []
  var state = State.idle
  /// The place in the order of coming; nil unless the operation waits, or was told to try again.
  ///
  /// Negative for an operation that was moved to the front.
  var ticket: Int64?
  var wasMoved = false
  /// Whether the clock of the operation is about to be read, so that the claim can be offered.
  var awaitsTime = false
  /// For the queue of waiters alone.
  fileprivate(set) var heapIndex = 0
  /// What a group holds, as resources that only its children can have.
  private var rooms: [ClaimRequest.Subject: Resource] = [:]

  /// Legal changes: idle → waiting, offered or held; waiting → idle or offered; offered → held or
  /// idle; held → idle.
  enum State {
    /// The operation holds nothing, and is in no queue of waiters.
    case idle
    /// The operation is in the queue of waiters of the resource of this part.
    case waiting(part: Int)
    /// The operation has waited for the claim, and holds it while its queue is asked whether it can
    /// start the operation now.
    case offered
    case held
  }

  /// What the operation needs of one resource.
  struct Part {
    let resource: Resource
    let request: ClaimRequest
    /// 0 for a rate, and for a place that a group around the operation holds.
    let units: Int
    /// The start that rates have counted, while it has not begun.
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

  /// The part whose resource the operation waits for; nil if it is in no queue of waiters.
  var awaited: Part? { if case .waiting(let index) = state { parts[index] } else { nil } }

  var hasUnits: Bool {
    switch state {
    case .idle, .waiting: false
    case .offered, .held: true
    }
  }

  /// What this group holds of a subject, as a resource of its children; nil if it holds none.
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

  /// Takes out all that refers to resources, which refer to claims.
  func takeContents() -> (parts: [Part], rooms: [ClaimRequest.Subject: Resource]) {
    state = .idle
    return (exchange(&parts, with: []), exchange(&rooms, with: [:]))
  }
}

/// The earliest ticket first.
extension Claim: HeapElement {
  func isBefore(_ other: Claim) -> Bool { ticket ?? .max < other.ticket ?? .max }
  func moved(to index: Int) { heapIndex = index }
}
