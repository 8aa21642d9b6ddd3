/// Those who wait for one resource, the earliest ticket first.
///
/// Who comes stands behind all others; one that comes back keeps its ticket, and stands apart if others
/// have come since.
///
/// - Complexity: Joining with the latest ticket, and leaving again, O(1), otherwise O(log n); amortised.
final class ClaimLine {
  enum Position {
    case inOrder(Int)
    case returned(Int)
  }

  /// In the order of coming, with gaps where somebody has left.
  private var inOrder: [Claimant?] = []
  /// Where the first of them stands; there is never a gap.
  private var head = 0
  private var inOrderCount = 0
  /// The ticket of the last one of them that came, while there are any.
  private var lastInOrder = Int64.min
  /// Those with earlier tickets who came later, as a binary heap.
  private var returned = ClaimHeap()
  /// The latest that joined since the line was empty.
  private(set) var latestTicket = Int64.min
  /// The front that has looked whether it waits in a ring; it does when it joins.
  private var lookedFront: UInt64 = 0

  var isEmpty: Bool { inOrderCount == 0 && returned.isEmpty }

  /// Who is to come first.
  var first: Claimant? {
    guard let back = returned.first else { return inOrderCount == 0 ? nil : inOrder[head] }
    guard inOrderCount > 0, let front = inOrder[head] else { return back }
    return back.ticket ?? .max < front.ticket ?? .max ? back : front
  }

  /// Whether somebody is in front who wasn't when it was asked last, and didn't just come.
  ///
  /// Those behind wait for the front, so that one that moves up may close a ring.
  func isNewFront(_ number: UInt64) -> Bool {
    defer { lookedFront = number }
    return lookedFront != number
  }

  func joined(_ claimant: Claimant, number: UInt64) {
    guard let ticket = claimant.ticket else { trap("a claimant without a ticket joined a line") }
    if first.map({ ticket < $0.ticket ?? .max }) ?? true { lookedFront = number }
    latestTicket = max(latestTicket, ticket)
    if ticket > lastInOrder {
      lastInOrder = ticket
      claimant.position = .inOrder(inOrder.count)
      inOrder.append(claimant)
      inOrderCount += 1
    } else {
      returned.insert(claimant)
    }
  }

  func left(_ claimant: Claimant) {
    switch claimant.position {
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
    for (index, claimant) in inOrder.enumerated() { claimant?.position = .inOrder(index) }
  }
}
