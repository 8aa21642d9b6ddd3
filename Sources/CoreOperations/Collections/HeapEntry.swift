/// A number in an ``IndexedHeap``: by its key, the smallest first, and among equals by its ticket.
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
