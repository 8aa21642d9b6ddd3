import AdvancedOperationsTesting
import TestSupport
import Testing

@testable import CoreOperations

@Suite struct `A heap` {
  /// An element that knows where it stands.
  private final class Item: HeapElement {
    let key: Int
    var index = -1
    init(_ key: Int) { self.key = key }
    func isBefore(_ other: Item) -> Bool { key < other.key }
    func moved(to index: Int) { self.index = index }
  }

  @Test(arguments: Effort.seeds(20))
  func `a heap keeps its first element in front and all positions current`(
    seed: UInt64
  ) {
    var random = SplitMix64(seed: seed)
    var heap = IndexedHeap<Item>()
    var items: [Item] = []
    for _ in 0..<Effort.rounds(500) {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        let item = Item(.random(in: 0..<50, using: &random))
        items.append(item)
        heap.insert(item)
      case 6..<8:
        guard let item = items.randomElement(using: &random) else { break }
        #expect(heap.remove(at: item.index) === item)
        items.removeAll { $0 === item }
      case 8:
        let first = heap.popFirst()
        #expect(first?.key == items.map(\.key).min())
        items.removeAll { $0 === first }
      default:
        let rest = Int.random(in: 0..<5, using: &random)
        heap.removeAll { $0.key % 5 == rest }
        items.removeAll { $0.key % 5 == rest }
      }
      #expect(heap.count == items.count && heap.isEmpty == items.isEmpty)
      #expect(heap.first?.key == items.map(\.key).min())
      #expect(heap.elements.indices.allSatisfy { heap.elements[$0].index == $0 })
    }
    var keys: [Int] = []
    while let item = heap.popFirst() { keys.append(item.key) }
    #expect(keys == items.map(\.key).sorted())
  }

  @Test func `a heap orders equal keys by their tickets`() {
    var heap = IndexedHeap<HeapEntry<Int>>()
    for ticket in [3, 1, 2, 5, 4] { heap.insert(HeapEntry(ticket * 10, key: 7, ticket: ticket)) }
    var values: [Int] = []
    while let entry = heap.popFirst() { values.append(entry.value) }
    #expect(values == [10, 20, 30, 40, 50])
  }
}
