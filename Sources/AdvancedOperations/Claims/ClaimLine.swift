import CoreOperations

/// The operations that wait for one resource, the earliest ticket first.
///
/// An operation that comes stands behind all others; one that comes back keeps its ticket, and
/// stands apart if others have come since.
///
/// The children of a group that holds some of the resource stand in a line of their own, because
/// what the group holds is free for them alone. What goes beyond that they have only at their turn
/// among all the others, so their line stands in the next one further out, with the ticket of its
/// first: the line of the next group around them that holds some, or the common one.
///
/// - Complexity: Joining with the latest ticket, and leaving again, O(1), otherwise O(log n);
///   amortised; the same for each line further out whose first changes.
final class ClaimLine: LineMember {
  enum Position {
    case inOrder(Int)
    case returned(Int)
  }

  /// In the order of coming, with gaps where an operation has left.
  private var inOrder: [LineMember?] = []
  /// Where the first of them stands; there is never a gap.
  private var head = 0
  private var inOrderCount = 0
  /// How many members there are in all.
  private var count = 0
  /// The ticket of the last one of them that came, while there are any.
  private var lastInOrder = Int64.min
  /// Those with earlier tickets who came later.
  private var returned = IndexedHeap<LineMember>()
  /// The latest that joined since the line was empty.
  private(set) var latestTicket = Int64.min
  /// The front that has looked whether it waits in a cycle; it does when it joins.
  private var lookedFront: UInt64 = 0

  var isEmpty: Bool { count == 0 }

  /// The line in which this one stands; nil for the common one of a resource, which is the last.
  private(set) var outer: ClaimLine?

  init(inside outer: ClaimLine? = nil) { self.outer = outer }

  override var line: ClaimLine? { self }

  /// The member that is to come first.
  var firstMember: LineMember? {
    // The usual case, without the check that a look at the heap takes.
    if isEmpty { return nil }
    guard let back = returned.first else { return inOrderCount == 0 ? nil : inOrder[head] }
    guard inOrderCount > 0, let front = inOrder[head] else { return back }
    return back.isBefore(front) ? back : front
  }

  /// The operation that is to come first.
  var first: Claimant? {
    var member = firstMember
    while let line = member?.line { member = line.firstMember }
    return member?.claimant
  }

  /// Whether an operation with this ticket, or none yet, comes after another one.
  func isAhead(of ticket: Int64?) -> Bool {
    guard let first = firstMember?.ticket else { return false }
    return first < ticket ?? .max
  }

  /// Whether an operation is in front that wasn't at the last look, and didn't just come.
  ///
  /// Those behind wait for the front, so that one that moves up may complete a cycle.
  func isNewFront(_ number: UInt64) -> Bool {
    defer { lookedFront = number }
    return lookedFront != number
  }

  /// An operation has come; it looks itself whether it waits in a cycle.
  func joined(_ claimant: Claimant, number: UInt64) {
    add(claimant)
    firstMayHaveChanged()
    var (member, line): (LineMember, ClaimLine?) = (claimant, self)
    while let next = line, next.firstMember === member {
      next.lookedFront = number
      (member, line) = (next, next.outer)
    }
  }

  func left(_ claimant: Claimant) {
    remove(claimant)
    firstMayHaveChanged()
  }

  /// The group around these operations has given back what it held: all of them stand in the next
  /// line further out.
  func dissolved() {
    guard let outer else { trap("a common line was dissolved") }
    if ticket != nil { outer.remove(self) }
    ticket = nil
    for member in inOrder.compactMap({ $0 }) + returned.elements {
      if let line = member.line { line.outer = outer } else { member.claimant?.place?.line = outer }
      outer.add(member)
    }
    inOrder = []
    (head, inOrderCount, count, lastInOrder) = (0, 0, 0, .min)
    returned = IndexedHeap()
    outer.firstMayHaveChanged()
  }

  /// Has the line stand in those further out with the ticket of its first.
  private func firstMayHaveChanged() {
    var line = self
    while let outer = line.outer {
      let ticket = line.firstMember?.ticket
      if ticket == line.ticket { return }
      if line.ticket != nil { outer.remove(line) }
      line.ticket = ticket
      if ticket != nil { outer.add(line) }
      line = outer
    }
  }

  private func add(_ member: LineMember) {
    guard let ticket = member.ticket else { trap("a claimant without a ticket joined a line") }
    count += 1
    latestTicket = max(latestTicket, ticket)
    if ticket > lastInOrder {
      lastInOrder = ticket
      member.position = .inOrder(inOrder.count)
      inOrder.append(member)
      inOrderCount += 1
    } else {
      returned.insert(member)
    }
  }

  private func remove(_ member: LineMember) {
    count -= 1
    switch member.position {
    case .inOrder(let index):
      inOrder[index] = nil
      inOrderCount -= 1
      closeGaps()
    case .returned(let index): returned.remove(at: index)
    }
    if isEmpty { latestTicket = .min }
  }

  private func closeGaps() {
    if inOrderCount == 0 {
      inOrder.removeAll(keepingCapacity: inOrder.capacity <= 64)
      head = 0
      lastInOrder = .min
      return
    }
    while inOrder[head] == nil { head += 1 }
    guard inOrder.count > 32 + 2 * inOrderCount else { return }
    inOrder.removeAll { $0 == nil }
    head = 0
    for (index, member) in inOrder.enumerated() { member?.position = .inOrder(index) }
  }
}
