/// What a ``BinaryHeap`` keeps in order: by key, and among equals by ticket.
struct HeapEntry<Key: Comparable>: Comparable {
  let key: Key
  let ticket: Int
  let value: Int

  static func < (a: HeapEntry, b: HeapEntry) -> Bool { (a.key, a.ticket) < (b.key, b.ticket) }
}

/// Numbers by key, the smallest first.
struct BinaryHeap<Key: Comparable> {
  private var entries: [HeapEntry<Key>] = []

  init() {}

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }
  var first: HeapEntry<Key>? { entries.first }

  mutating func insert(_ value: Int, key: Key, ticket: Int = 0) {
    entries.append(HeapEntry(key: key, ticket: ticket, value: value))
    rise(from: entries.count - 1)
  }

  private mutating func rise(from start: Int) {
    var child = start
    while child > 0, entries[child] < entries[(child - 1) / 2] {
      entries.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func popFirst() -> HeapEntry<Key>? {
    guard let last = entries.popLast() else { return nil }
    guard let first = entries.first else { return last }
    entries[0] = last
    var parent = 0
    while 2 * parent + 1 < entries.count {
      var child = 2 * parent + 1
      if child + 1 < entries.count, entries[child + 1] < entries[child] { child += 1 }
      if entries[parent] < entries[child] { break }
      entries.swapAt(parent, child)
      parent = child
    }
    return first
  }

  /// Takes out some.
  ///
  /// - Complexity: O(n log n), n the number of those that stay.
  mutating func removeAll(where isGone: (Int) -> Bool) {
    entries.removeAll { isGone($0.value) }
    for index in entries.indices { rise(from: index) }
  }
}
