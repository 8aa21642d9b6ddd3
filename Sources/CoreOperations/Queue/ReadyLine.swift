/// The operations that could start, in the order in which they will: by priority, and among equals
/// in the order in which they were added to the queue.
///
/// Each priority has a list and a heap. An operation is appended to the list if it was added later
/// than the last operation there. Otherwise it goes into the heap, so that it gets its place
/// without a search.
///
/// - Complexity: Adding and taking O(1) for operations that become ready in the order of adding;
///   for others O(log n), n the number of those.
struct ReadyLine {
  private struct Level {
    var line = MemberLine()
    /// Operations that became ready after one that was added later.
    var late = IndexedHeap<Member>()

    var isEmpty: Bool { line.isEmpty && late.isEmpty }

    var first: Member? {
      guard let late = late.first else { return line.first }
      guard let listed = line.first else { return late }
      return late.isBefore(listed) ? late : listed
    }

    mutating func insert(_ member: Member) {
      if let last = line.last, member.isBefore(last) {
        late.insert(member)
      } else {
        line.append(member)
      }
    }
  }

  private var levels = (Level(), Level(), Level(), Level(), Level())
  /// Bit n is set when level n has something.
  private var occupied: UInt8 = 0

  var isEmpty: Bool { occupied == 0 }

  /// The one whose turn is next.
  var first: Member? {
    mutating get {
      if isEmpty { return nil }
      return withLevel(UInt8(occupied.trailingZeroBitCount)) { $0.first }
    }
  }

  /// Adds an operation.
  mutating func insert(_ member: Member) {
    let level = member.fields.level
    withLevel(level) { $0.insert(member) }
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

extension Member {
  /// Whether this one starts before another one if both are ready.
  func startsBefore(_ other: Member) -> Bool {
    (fields.level, fields.number) < (other.fields.level, other.fields.number)
  }
}

/// The first that was added first; the index is that in the heap of a level of the line.
extension Member: HeapElement {
  package func isBefore(_ other: Member) -> Bool { fields.number < other.fields.number }
  package func moved(to index: Int) { fields.heapIndex = Int32(index) }
}
