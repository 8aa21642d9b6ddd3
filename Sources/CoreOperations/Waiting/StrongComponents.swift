/// Tarjan's algorithm, with a stack of its own instead of recursion.
///
/// R. Tarjan, “Depth-first search and linear graph algorithms”, SIAM Journal on Computing 1(2),
/// 1972.
struct StrongComponents<Node: Hashable> {
  private struct Frame {
    let node: Node
    let number: Int
    let waits: [Node]
    var next = 0
  }

  private let waits: (Node) -> [Node]
  private var numbers: [Node: Int] = [:]
  private var low: [Int] = []
  private var isOpen: [Bool] = []
  private var isOnPath: [Bool] = []
  private var open: [(node: Node, number: Int)] = []
  private var frames: [Frame] = []
  private var found: [[Node]] = []
  /// The waits that lead back to where the search came from: without them there is no cycle.
  private(set) var closing: [(node: Node, awaited: Node)] = []

  /// - Parameter waits: What a node waits for.
  init(_ waits: @escaping (Node) -> [Node]) { self.waits = waits }

  /// The components with more than one node.
  ///
  /// - Complexity: O(v + e) of what can be reached.
  mutating func cycles(from starts: some Sequence<Node>) -> [[Node]] {
    for start in starts where numbers[start] == nil {
      enter(start)
      while !frames.isEmpty { step() }
    }
    return found
  }

  /// The first cycle that is come to when a node is left by its first wait, the next by its first
  /// one, and so on; nil if there is no cycle.
  ///
  /// Asked of a search that hasn't begun, once.
  ///
  /// - Returns: The nodes along it; the first is the last again.
  /// - Complexity: O(v + e) of what can be reached.
  mutating func firstCycle(from start: Node) -> [Node]? {
    enter(start)
    while !frames.isEmpty, closing.isEmpty { step() }
    guard let (_, begin) = closing.first else { return nil }
    return frames.drop { $0.node != begin }.map(\.node) + [begin]
  }

  private mutating func enter(_ node: Node) {
    let number = low.count
    numbers[node] = number
    low.append(number)
    isOpen.append(true)
    isOnPath.append(true)
    open.append((node, number))
    frames.append(Frame(node: node, number: number, waits: waits(node)))
  }

  private mutating func step() {
    let top = frames.count - 1
    let frame = frames[top]
    if frame.next < frame.waits.count {
      frames[top].next += 1
      let target = frame.waits[frame.next]
      guard let number = numbers[target] else {
        enter(target)
        return
      }
      if isOpen[number] { low[frame.number] = min(low[frame.number], number) }
      if isOnPath[number] { closing.append((frame.node, target)) }
      return
    }
    frames.removeLast()
    isOnPath[frame.number] = false
    if let parent = frames.last {
      low[parent.number] = min(low[parent.number], low[frame.number])
    }
    if low[frame.number] == frame.number { close(frame.number) }
  }

  /// Everything above the root of a component on the open stack belongs to it.
  private mutating func close(_ root: Int) {
    var component: [Node] = []
    while let last = open.popLast() {
      isOpen[last.number] = false
      component.append(last.node)
      if last.number == root { break }
    }
    if component.count > 1 { found.append(component) }
  }
}
