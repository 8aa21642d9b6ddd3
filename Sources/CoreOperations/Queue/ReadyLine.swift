/// The operations that could start, in the order in which they will: by priority, and among equals
/// by when they became ready.
///
/// Five lists, one per priority. An operation that comes back with an old ticket (parked before, or
/// moved here from another priority) goes into the level's heap, so that its turn is kept without a
/// search.
///
/// - Complexity: Adding and taking O(1); with an old ticket O(log n), n the number of those.
struct ReadyLine {
  @safe private struct Level {
    var list = OperationList()
    var late: [Unmanaged<Operation>] = unsafe []
  }

  private var levels = (Level(), Level(), Level(), Level(), Level())
  /// Bit n is set when level n has something.
  private var occupied: UInt8 = 0
  /// That of the operation that came last.
  private(set) var lastTicket: UInt64 = 0

  var isEmpty: Bool { occupied == 0 }

  /// Adds an operation behind its equals, or at its old turn when it has a ticket.
  mutating func insert(_ operation: Operation) {
    let level = operation.scheduling.level
    if operation.scheduling.ticket == 0 {
      lastTicket += 1
      operation.scheduling.ticket = lastTicket
      withLevel(level) { $0.list.append(operation) }
    } else {
      withLevel(level) { unsafe Self.push(operation, onto: &$0.late) }
    }
    occupied |= 1 << level
  }

  /// Takes the first one out; not retained.
  mutating func popFirst() -> Unmanaged<Operation>? {
    guard occupied != 0 else { return nil }
    let level = UInt8(occupied.trailingZeroBitCount)
    let first = unsafe withLevel(level) { level -> Unmanaged<Operation>? in
      guard let late = unsafe level.late.first else { return unsafe level.list.firstLink }
      guard let listed = unsafe level.list.firstLink else { return unsafe late }
      return unsafe Self.ticket(late) < Self.ticket(listed) ? late : listed
    }
    guard let first = unsafe first else { trap("an occupied level of the ready line was empty") }
    unsafe first._withUnsafeGuaranteedRef { remove($0) }
    return unsafe first
  }

  mutating func remove(_ operation: Operation) {
    let level = operation.scheduling.level
    let isEmpty = withLevel(level) { level -> Bool in
      if operation.scheduling.heapIndex >= 0 {
        unsafe Self.remove(at: Int(operation.scheduling.heapIndex), from: &level.late)
      } else {
        level.list.remove(operation)
      }
      return unsafe level.list.isEmpty && level.late.isEmpty
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

  // MARK: The heap of old tickets; each operation knows its index

  private static func ticket(_ entry: Unmanaged<Operation>) -> UInt64 {
    unsafe entry._withUnsafeGuaranteedRef { $0.scheduling.ticket }
  }

  private static func place(
    _ entry: Unmanaged<Operation>,
    at index: Int,
    in heap: inout [Unmanaged<Operation>]
  ) {
    unsafe heap[index] = entry
    unsafe entry._withUnsafeGuaranteedRef { $0.scheduling.heapIndex = Int32(index) }
  }

  private static func push(_ operation: Operation, onto heap: inout [Unmanaged<Operation>]) {
    unsafe heap.append(.passUnretained(operation))
    unsafe siftUp(heap.count - 1, in: &heap)
  }

  private static func remove(at index: Int, from heap: inout [Unmanaged<Operation>]) {
    unsafe heap[index]._withUnsafeGuaranteedRef { $0.scheduling.heapIndex = -1 }
    let last = unsafe heap.removeLast()
    guard unsafe index < heap.count else { return }
    unsafe place(last, at: index, in: &heap)
    unsafe siftUp(index, in: &heap)
    unsafe siftDown(index, in: &heap)
  }

  private static func siftUp(_ start: Int, in heap: inout [Unmanaged<Operation>]) {
    var index = start
    let entry = unsafe heap[index]
    let key = unsafe ticket(heap[index])
    while index > 0 {
      let parent = (index - 1) / 2
      guard unsafe key < ticket(heap[parent]) else { break }
      unsafe place(heap[parent], at: index, in: &heap)
      index = parent
    }
    unsafe place(entry, at: index, in: &heap)
  }

  private static func siftDown(_ start: Int, in heap: inout [Unmanaged<Operation>]) {
    var index = start
    let entry = unsafe heap[index]
    let key = unsafe ticket(heap[index])
    while true {
      var child = 2 * index + 1
      guard unsafe child < heap.count else { break }
      if unsafe child + 1 < heap.count && ticket(heap[child + 1]) < ticket(heap[child]) {
        child += 1
      }
      guard unsafe ticket(heap[child]) < key else { break }
      unsafe place(heap[child], at: index, in: &heap)
      index = child
    }
    unsafe place(entry, at: index, in: &heap)
  }
}
