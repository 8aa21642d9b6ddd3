/// Those who wait for one resource, the earliest ticket first.
///
/// A binary heap, because one that comes back keeps its ticket. Who leaves from the middle stays as
/// an entry that isn't current, and is dropped when it comes to the front or when there are too many.
///
/// - Complexity: Joining with the latest ticket O(1), otherwise and leaving O(log n), amortised.
struct ClaimLine {
  struct Entry {
    let ticket: Int64
    let id: ObjectIdentifier
    /// Tells it from other entries of the same waiter.
    let number: UInt64
  }

  private var heap: [Entry] = []
  /// How many entries are current.
  private(set) var count = 0
  /// The latest that joined since the line was empty.
  private(set) var latestTicket = Int64.min
  /// The front that has looked whether it waits in a ring; it does when it joins.
  private var lookedFront: UInt64 = 0

  var isEmpty: Bool { count == 0 }

  /// Whether somebody is in front who wasn't when it was asked last, and didn't just come.
  ///
  /// Those behind wait for the front, so that one that moves up may close a ring.
  mutating func isNewFront(_ number: UInt64) -> Bool {
    defer { lookedFront = number }
    return lookedFront != number
  }

  mutating func joined(_ entry: Entry) {
    if heap.isEmpty || entry.ticket < heap[0].ticket { lookedFront = entry.number }
    count += 1
    latestTicket = max(latestTicket, entry.ticket)
    heap.append(entry)
    var index = heap.count - 1
    while index > 0 {
      let parent = (index - 1) / 2
      if heap[parent].ticket <= heap[index].ticket { return }
      heap.swapAt(parent, index)
      index = parent
    }
  }

  /// An entry isn't current any more.
  mutating func left() {
    count -= 1
    if isEmpty { latestTicket = .min }
  }

  /// The first that is current.
  mutating func first(where isCurrent: (Entry) -> Bool) -> Entry? {
    if heap.count > 32 + 2 * count {
      // An array in order is a heap.
      heap = heap.filter(isCurrent).sorted { $0.ticket < $1.ticket }
    }
    while let first = heap.first {
      if isCurrent(first) { return first }
      dropFirst()
    }
    return nil
  }

  /// All entries, current or not, in no order.
  var entries: [Entry] { heap }

  private mutating func dropFirst() {
    let last = heap.removeLast()
    if heap.isEmpty { return }
    heap[0] = last
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2]
      where child < heap.count && heap[child].ticket < heap[least].ticket { least = child }
      if least == index { return }
      heap.swapAt(index, least)
      index = least
    }
  }
}
