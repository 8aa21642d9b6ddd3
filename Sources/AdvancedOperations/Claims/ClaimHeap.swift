/// Those of a line who came back to it: a binary heap whose elements know where they are, so that
/// each can leave.
struct ClaimHeap {
  private var heap: [LineMember] = []

  var isEmpty: Bool { heap.isEmpty }
  /// The one with the earliest ticket.
  var first: LineMember? { heap.first }
  /// All of them, in no order.
  var all: [LineMember] { heap }

  mutating func insert(_ member: LineMember) {
    heap.append(member)
    rise(from: heap.count - 1)
  }

  mutating func remove(at index: Int) {
    let last = heap.removeLast()
    if index == heap.count { return }
    heap[index] = last
    rise(from: index)
    sink(from: index)
  }

  private func isBefore(_ index: Int, _ other: Int) -> Bool {
    heap[index].ticket ?? .max < heap[other].ticket ?? .max
  }

  private mutating func rise(from start: Int) {
    var index = start
    while index > 0, isBefore(index, (index - 1) / 2) {
      heap.swapAt(index, (index - 1) / 2)
      heap[index].position = .returned(index)
      index = (index - 1) / 2
    }
    heap[index].position = .returned(index)
  }

  private mutating func sink(from start: Int) {
    var index = start
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2]
      where child < heap.count && isBefore(child, least) { least = child }
      if least == index { return }
      heap.swapAt(index, least)
      heap[index].position = .returned(index)
      heap[least].position = .returned(least)
      index = least
    }
  }
}
