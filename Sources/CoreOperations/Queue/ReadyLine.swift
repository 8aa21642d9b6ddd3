/// The operations that could start, in the order in which they will: by priority, and among equals
/// by when they became ready.
///
/// Five lists, one per priority. An operation that comes back with an old ticket (parked before, or
/// moved here from another priority) goes into the level's heap, so that its turn is kept without a
/// search.
///
/// - Complexity: Adding and taking O(1); with an old ticket O(log n), n the number of those.
struct ReadyLine {
  private struct Level {
    var line = MemberLine()
    var late = IndexedHeap<Member>()

    var isEmpty: Bool { line.isEmpty && late.isEmpty }

    var first: Member? {
      guard let late = late.first else { return line.first }
      guard let listed = line.first else { return late }
      return late.isBefore(listed) ? late : listed
    }
  }

  private var levels = (Level(), Level(), Level(), Level(), Level())
  /// Bit n is set when level n has something.
  private var occupied: UInt8 = 0
  private var lastTicket: UInt64 = 0

  var isEmpty: Bool { occupied == 0 }

  /// The one whose turn is next.
  var first: Member? {
    mutating get {
      if isEmpty { return nil }
      return withLevel(UInt8(occupied.trailingZeroBitCount)) { $0.first }
    }
  }

  /// Takes a ticket: after those that have come, and before those that come.
  mutating func nextTicket() -> UInt64 {
    lastTicket += 1
    return lastTicket
  }

  /// Adds an operation behind its equals, or at its old turn when it has a ticket.
  mutating func insert(_ member: Member) {
    let level = member.fields.level
    if member.fields.ticket == 0 {
      member.fields.ticket = nextTicket()
      withLevel(level) { $0.line.append(member) }
    } else {
      withLevel(level) { $0.late.insert(member) }
    }
    occupied |= 1 << level
  }

  mutating func remove(_ member: Member) {
    let level = member.fields.level
    let isEmpty = withLevel(level) { level -> Bool in
      if member.fields.heapIndex >= 0 {
        level.late.remove(at: Int(member.fields.heapIndex))
        member.fields.heapIndex = -1
      } else {
        level.line.remove(member)
      }
      return level.isEmpty
    }
    if isEmpty { occupied &= ~(1 << level) }
  }

  private mutating func withLevel<Result>(_ level: UInt8, _ body: (inout Level) -> Result) -> Result
  {
    switch level {
    case 0: body(&levels.0)
    case 1: body(&levels.1)
    case 2: body(&levels.2)
    case 3: body(&levels.3)
    default: body(&levels.4)
    }
  }
}

/// The earliest ticket first; the index is that in the heap of members that came back with an old
/// ticket.
extension Member: HeapElement {
  package func isBefore(_ other: Member) -> Bool { fields.ticket < other.fields.ticket }
  package func moved(to index: Int) { fields.heapIndex = Int32(index) }
}
