/// A line in an array.
///
/// What was taken is not kept: the place that it had is empty at once, and used again in time.
///
/// - Complexity: Adding and taking cost O(1), amortised.
struct FirstInFirstOut<Element> {
  private var places: [Element?] = []
  private var head = 0

  init() {}

  var isEmpty: Bool { head == places.count }
  var count: Int { places.count - head }

  var last: Element? { places.last ?? nil }

  /// An element; 0 for the first.
  subscript(index: Int) -> Element {
    guard let element = places[head + index] else { trap("a line had a hole") }
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

  /// Puts an element in front of all others; seldom, as that may move them.
  mutating func prepend(_ element: Element) {
    if head > 0 {
      head -= 1
      places[head] = element
    } else {
      places.insert(element, at: 0)
    }
  }

  /// Takes an element out of the line; 0 for the first.
  ///
  /// - Complexity: O(`index`)
  mutating func remove(at index: Int) -> Element? {
    for place in stride(from: head + index, to: head, by: -1) { places.swapAt(place, place - 1) }
    return popFirst()
  }

  /// Changes an element in place.
  ///
  /// - Parameters:
  ///   - index: 0 for the first.
  ///   - body: Changes the element.
  /// - Returns: What `body` returned.
  mutating func withElement<Result>(at index: Int, _ body: (inout Element) -> Result) -> Result {
    guard var element = places[head + index].take() else { trap("a line had a hole") }
    defer { places[head + index] = element }
    return body(&element)
  }
}
