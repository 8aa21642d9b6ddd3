/// A first-in, first-out queue in an array.
///
/// The queue doesn't retain a taken element: its place is emptied immediately, and reused later.
///
/// - Complexity: Adding and taking an element is O(1), amortized.
struct FirstInFirstOut<Element> {
  private var places: [Element?] = []
  private var head = 0

  init() {}

  var isEmpty: Bool { head == places.count }
  var count: Int { places.count - head }

  var last: Element? { places.last ?? nil }

  /// The element at an index; 0 for the first.
  subscript(index: Int) -> Element {
    guard let element = places[head + index] else { internalError("a waiter queue had a gap") }
    return element
  }

  mutating func append(_ element: Element) { places.append(element) }

  mutating func popFirst() -> Element? {
    if isEmpty { return nil }
    let first = places[head].take()
    head += 1
    if head == places.count {
      places.removeAll(keepingCapacity: head <= 64)
      head = 0
    } else if head > 32 && head * 2 > places.count {
      places.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Inserts an element in front of all others, which may move them.
  ///
  /// Use this method rarely.
  mutating func prepend(_ element: Element) {
    if head > 0 {
      head -= 1
      places[head] = element
    } else {
      places.insert(element, at: 0)
    }
  }

  /// Removes an element from the queue; 0 for the first.
  ///
  /// - Complexity: O(`index`)
  mutating func remove(at index: Int) -> Element? {
    for place in stride(from: head + index, to: head, by: -1) { places.swapAt(place, place - 1) }
    return popFirst()
  }

  /// Changes an element in place.
  ///
  /// - Parameters:
  ///   - index: The index of the element; 0 for the first.
  ///   - body: A closure that changes the element.
  /// - Returns: The result of `body`.
  mutating func withElement<Result>(at index: Int, _ body: (inout Element) -> Result) -> Result {
    guard var element = places[head + index].take() else {
      internalError("a waiter queue had a gap")
    }
    defer { places[head + index] = element }
    return body(&element)
  }
}
