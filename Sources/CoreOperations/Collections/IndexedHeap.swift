/// An element that an ``IndexedHeap`` keeps in order.
@usableFromInline
package protocol HeapElement {
  /// Returns whether this element is taken before another element.
  func isBefore(_ other: Self) -> Bool
  /// Notifies the element of its new index, so that it can be removed by its index later.
  func moved(to index: Int)
}

extension HeapElement {
  /// Does nothing.
  @inlinable
  package func moved(to index: Int) {}
}

/// A binary heap with the first element in front.
///
/// An element that stores its index can be removed from any place.
///
/// - Complexity: Adding and removing an element is O(log n).
@usableFromInline
package struct IndexedHeap<Element: HeapElement> {
  // The type is usable from inline, or the modules above would use it unspecialized.

  /// The elements, in the order of their indices.
  @usableFromInline
  package private(set) var elements: [Element] = []

  @inlinable
  package init() {}

  @inlinable
  package var isEmpty: Bool { elements.isEmpty }

  @inlinable
  package var count: Int { elements.count }

  /// The element that comes before all others.
  @inlinable
  package var first: Element? { elements.first }

  @inlinable
  package mutating func insert(_ element: Element) {
    elements.append(element)
    rise(from: elements.count - 1)
  }

  @inlinable
  package mutating func popFirst() -> Element? { isEmpty ? nil : remove(at: 0) }

  /// Removes an element.
  ///
  /// - Parameter index: The index of the element.
  /// - Returns: The element.
  @inlinable
  @discardableResult
  package mutating func remove(at index: Int) -> Element {
    let removed = elements[index]
    let last = elements.removeLast()
    if index < elements.count {
      place(last, at: index)
      rise(from: index)
      sink(from: index)
    }
    return removed
  }

  /// Removes all elements that satisfy a predicate.
  ///
  /// - Complexity: O(n log n), n the number of the remaining elements.
  @inlinable
  package mutating func removeAll(where isGone: (Element) -> Bool) {
    elements.removeAll(where: isGone)
    for index in elements.indices { rise(from: index) }
  }

  @inlinable
  mutating func place(_ element: Element, at index: Int) {
    elements[index] = element
    element.moved(to: index)
  }

  @inlinable
  mutating func rise(from start: Int) {
    let element = elements[start]
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard element.isBefore(elements[parent]) else { break }
      place(elements[parent], at: index)
      index = parent
    }
    place(element, at: index)
  }

  @inlinable
  mutating func sink(from start: Int) {
    let element = elements[start]
    var index = start
    while true {
      var child = 2 * index + 1
      guard child < elements.count else { break }
      if child + 1 < elements.count, elements[child + 1].isBefore(elements[child]) { child += 1 }
      guard elements[child].isBefore(element) else { break }
      place(elements[child], at: index)
      index = child
    }
    place(element, at: index)
  }
}

/// A number in an ``IndexedHeap``, ordered by its key, smallest first, and then by its ticket.
@usableFromInline
package struct HeapEntry<Key: Comparable>: HeapElement {
  @usableFromInline
  package let key: Key
  @usableFromInline
  package let value: Int
  @usableFromInline
  let ticket: Int

  @inlinable
  package init(_ value: Int, key: Key, ticket: Int = 0) {
    self.key = key
    self.value = value
    self.ticket = ticket
  }

  @inlinable
  package func isBefore(_ other: HeapEntry) -> Bool {
    (key, ticket) < (other.key, other.ticket)
  }
}
