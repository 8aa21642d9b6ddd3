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
    var late = LateMembers()

    var isEmpty: Bool { line.isEmpty && late.isEmpty }

    var first: Member? {
      guard let late = late.first else { return line.first }
      guard let listed = line.first else { return late }
      return late.fields.ticket < listed.fields.ticket ? late : listed
    }
  }

  private var levels = (Level(), Level(), Level(), Level(), Level())
  /// Bit n is set when level n has something.
  private var occupied: UInt8 = 0
  /// That of the operation that came last.
  private(set) var lastTicket: UInt64 = 0

  var isEmpty: Bool { occupied == 0 }

  /// The one whose turn is next.
  var first: Member? {
    mutating get {
      if isEmpty { return nil }
      return withLevel(UInt8(occupied.trailingZeroBitCount)) { $0.first }
    }
  }

  /// Adds an operation behind its equals, or at its old turn when it has a ticket.
  mutating func insert(_ member: Member) {
    let level = member.fields.level
    if member.fields.ticket == 0 {
      lastTicket += 1
      member.fields.ticket = lastTicket
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
        level.late.remove(member)
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

/// A heap of those that came back with an old ticket; each knows its index.
private struct LateMembers {
  private var heap: [Member] = []

  var isEmpty: Bool { heap.isEmpty }
  var first: Member? { heap.first }

  mutating func insert(_ member: Member) {
    heap.append(member)
    siftUp(heap.count - 1)
  }

  mutating func remove(_ member: Member) {
    let index = Int(member.fields.heapIndex)
    member.fields.heapIndex = -1
    let last = heap.removeLast()
    guard index < heap.count else { return }
    place(last, at: index)
    siftUp(index)
    siftDown(index)
  }

  private mutating func place(_ member: Member, at index: Int) {
    heap[index] = member
    member.fields.heapIndex = Int32(index)
  }

  private func isBefore(_ a: Member, _ b: Member) -> Bool { a.fields.ticket < b.fields.ticket }

  private mutating func siftUp(_ start: Int) {
    let member = heap[start]
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard isBefore(member, heap[parent]) else { break }
      place(heap[parent], at: index)
      index = parent
    }
    place(member, at: index)
  }

  private mutating func siftDown(_ start: Int) {
    let member = heap[start]
    var index = start
    while true {
      var child = 2 * index + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, isBefore(heap[child + 1], heap[child]) { child += 1 }
      guard isBefore(heap[child], member) else { break }
      place(heap[child], at: index)
      index = child
    }
    place(member, at: index)
  }
}
