/// A queue: what was appended first is taken first.
struct Fifo<Element> {
  private var elements: [Element?] = []
  private var taken = 0

  var isEmpty: Bool { taken == elements.count }
  var first: Element? { isEmpty ? nil : elements[taken] }

  mutating func append(_ element: Element) { elements.append(element) }

  /// - Complexity: O(1) on average.
  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    elements[taken] = nil
    taken += 1
    if taken == elements.count || taken >= 1_024 {
      elements.removeFirst(taken)
      taken = 0
    }
    return first
  }
}
