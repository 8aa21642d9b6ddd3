/// Finds out whether something can still happen, given what waits for what at this moment.
///
/// Everything reachable is looked at once; whatever needs nothing can happen, and with it what
/// needed only that. What remains waits in a cycle, or behind one.
package struct WaitSearch {
  /// Operations each of which waits for the next one, and the last for the first.
  package struct Cycle: Error {
    /// The first is the last again.
    package let operations: [Operation]
    var labels: [OperationLabel] {
      operations.dropLast().flatMap { operation in
        let isForMainThread = operation.waitsInQueue(for: \.isForMainThread)
        let label = operation.nameAndTag
        return isForMainThread ? [label, "the main thread"] : [label]
      } + operations.suffix(1).map(\.nameAndTag)
    }
    /// Whether all of it would be there without any queue, and without any code that waits.
    let isOfDependencies: Bool
    /// The operation whose body awaits while it holds a slot that the one before needs; nil if there
    /// is none.
    let slotHolder: Operation?
    /// Whether one of them waits for a slot: a higher limit would end that.
    var isForSlot: Bool { operations.contains { $0.waitsInQueue(for: \.isForSlot) } }
  }

  private struct Node {
    let value: WaitNode
    var needs: [WaitNeed]
    var open: Int
    /// The needs of others to which this one gives something.
    var awaitedBy: [(need: Int, units: Int)] = []
    var canHappen: Bool { open == 0 }
  }

  private struct Need {
    let owner: Int
    var units: Int
  }

  private var indices: [WaitNode: Int] = [:]
  private var nodes: [Node] = []
  /// What is still missing for each need.
  private var open: [Need] = []
  private var unvisited: [Int] = []

  package init() {}

  /// The labels along a cycle that a node is in, and that keeps it from ever happening; nil when it
  /// can happen.
  ///
  /// What is seen is seen one after another. A cycle is reported only if the next look finds the
  /// same waits: between the two, all of them were there at once. As long as they change, others go
  /// on, and it is looked again.
  ///
  /// - Complexity: O(v + e) of what can be reached, less when the answer is found earlier.
  package static func cycle(through root: WaitNode) -> Cycle? {
    var last: [WaitNode: [WaitNeed]]?
    while true {
      var search = WaitSearch()
      if search.canHappen(root) { return nil }
      let stuck = search.stuck(behind: root)
      if stuck == last { return search.path(through: root) }
      last = stuck
    }
  }

  /// Whether all of some needs can be satisfied, as far as can be seen at this moment.
  mutating func canSatisfy(_ needs: [WaitNeed]) -> Bool {
    needs.allSatisfy { need in
      var units = need.units
      return units <= 0
        || need.sources.contains { source in
          if canHappen(source.node) { units -= source.units }
          return units <= 0
        }
    }
  }

  /// Whether a node can happen, as far as can be seen at this moment.
  ///
  /// - Complexity: O(v + e) of what can be reached and hasn't been looked at by this search.
  package mutating func canHappen(_ root: WaitNode) -> Bool {
    let root = index(of: root)
    if nodes[root].canHappen { return true }
    while let next = unvisited.popLast() {
      let needs = nodes[next].value.needs().filter { $0.units > 0 }
      nodes[next].needs = needs
      nodes[next].open = needs.count
      for need in needs {
        open.append(Need(owner: next, units: need.units))
        let number = open.count - 1
        for source in need.sources {
          let other = index(of: source.node)
          nodes[other].awaitedBy.append((number, source.units))
          if nodes[other].canHappen { give([(number, source.units)]) }
        }
      }
      if needs.isEmpty { give(nodes[next].awaitedBy) }
      if nodes[root].canHappen { return true }
    }
    return false
  }

  private mutating func index(of node: WaitNode) -> Int {
    if let known = indices[node] { return known }
    indices[node] = nodes.count
    unvisited.append(nodes.count)
    nodes.append(Node(value: node, needs: [], open: -1))
    return nodes.count - 1
  }

  private mutating func give(_ gifts: [(need: Int, units: Int)]) {
    var due = gifts
    while let (need, units) = due.popLast() {
      let wasOpen = open[need].units > 0
      open[need].units -= units
      guard wasOpen, open[need].units <= 0 else { continue }
      let owner = open[need].owner
      nodes[owner].open -= 1
      if nodes[owner].canHappen { due += nodes[owner].awaitedBy }
    }
  }

  /// The operations of the cycles, of more than dependencies alone, behind which some operations
  /// wait that can't end; each is a cycle, or several that have operations in common, and begins
  /// with the one that was reached first.
  ///
  /// - Complexity: O(v + e) of what can be reached.
  func cycles(behind operations: [Operation]) -> [[Operation]] {
    var components = StrongComponents<WaitNode> { node in stuckNodes(after: node).map(\.0) }
    return components.cycles(from: operations.map { .end($0) }).compactMap { cycle in
      let nodes = Set(cycle)
      let isOfDependencies = cycle.allSatisfy { node in
        stuckNodes(after: node).allSatisfy { $0.isDependency || !nodes.contains($0.0) }
      }
      return isOfDependencies ? nil : cycle.reversed().map(\.operation)
    }
  }

  /// What a node that can't happen needs in vain, and what that needs, and so on.
  private func stuck(behind root: WaitNode) -> [WaitNode: [WaitNeed]] {
    var stuck: [WaitNode: [WaitNeed]] = [:]
    var due = [root]
    while let node = due.popLast() {
      guard stuck[node] == nil, let index = indices[node] else { continue }
      let needs = nodes[index].needs.filter(isOpen)
      stuck[node] = needs
      for need in needs { due += stuckNodes(of: need) }
    }
    return stuck
  }

  /// Whether too little of what would satisfy a need can happen.
  private func isOpen(_ need: WaitNeed) -> Bool {
    need.sources.reduce(0) { $0 + (isStuck($1.node) ? 0 : $1.units) } < need.units
  }

  private func isStuck(_ node: WaitNode) -> Bool {
    indices[node].map { !nodes[$0].canHappen } ?? false
  }

  private func stuckNodes(of need: WaitNeed) -> [WaitNode] {
    need.sources.map(\.node).filter(isStuck)
  }

  /// A step on the way around a cycle, and whether all steps up to it are dependencies.
  private struct Place: Hashable {
    let node: WaitNode
    let isOfDependencies: Bool
  }

  /// The shortest way from a node through others that can't happen back to its operation; one of
  /// dependencies alone only if there is no other, because such a cycle may hide another one.
  private func path(through root: WaitNode) -> Cycle? {
    var cameFrom: [Place: Place] = [:]
    var due = FirstInFirstOut<Place>()
    var ofDependencies: Cycle?
    due.append(Place(node: root, isOfDependencies: true))
    while let place = due.popFirst() {
      for (next, isDependency) in stuckNodes(after: place.node) {
        let isOfDependencies = place.isOfDependencies && isDependency
        if Self.isClosed(by: next, root: root) {
          guard let cycle = cycle(from: root, to: place, isOfDependencies, cameFrom) else {
            continue
          }
          if !isOfDependencies { return cycle }
          ofDependencies = ofDependencies ?? cycle
        }
        let next = Place(node: next, isOfDependencies: isOfDependencies)
        if next.node.operation === root.operation || cameFrom[next] != nil { continue }
        cameFrom[next] = place
        due.append(next)
      }
    }
    return ofDependencies
  }

  /// Whether a way that has come to a node is a cycle: what waits for the start of an operation
  /// isn't kept by what keeps only the end.
  private static func isClosed(by node: WaitNode, root: WaitNode) -> Bool {
    guard node.operation === root.operation else { return false }
    return switch (node, root) {
    case (.start, .end), (.start, .idle): false
    case (.start, .start), (.end, _), (.idle, _): true
    }
  }

  private func stuckNodes(after node: WaitNode) -> [(WaitNode, isDependency: Bool)] {
    guard let index = indices[node] else { return [] }
    return nodes[index].needs.flatMap { need in
      isOpen(need) ? stuckNodes(of: need).map { ($0, need.isDependency) } : []
    }
  }

  /// The cycle of a way; nil if that comes by a node twice, and so has another cycle in it.
  private func cycle(
    from root: WaitNode,
    to last: Place,
    _ isOfDependencies: Bool,
    _ cameFrom: [Place: Place]
  ) -> Cycle? {
    var operations = [root.operation]
    var nodes: Set<WaitNode> = []
    var place = last
    while let previous = cameFrom[place] {
      guard nodes.insert(place.node).inserted else { return nil }
      operations.append(place.node.operation)
      place = previous
    }
    operations.append(root.operation)
    operations.reverse()
    let holder = zip(operations, operations.dropFirst()).first { $1.couldReleaseSlot(for: $0) }?.1
    return Cycle(
      operations: operations,
      isOfDependencies: isOfDependencies,
      slotHolder: holder
    )
  }
}

extension WaitNode {
  /// All that has to come before this, as far as it can be seen; nothing if it can happen by
  /// itself.
  ///
  /// What the program may do at any time (resume a queue, raise a limit that is 0, say that an
  /// override is ready) counts as something that will happen.
  func needs() -> [WaitNeed] { waits().flatMap(\.needs) }

  private func waits() -> [Wait] {
    switch self {
    case .start(let operation):
      if operation.hasBegun { return operation.waitsBeforeTurn() }
      // Before the start, that is the code of its conditions.
      return operation.waitsOfCode() + operation.waitsBeforeStart()
    case .end(let operation):
      return operation.life.current.phase == .finished ? [] : operation.waitsBeforeEnd()
    case .idle(let operation): return operation.waitsBeforeEnd()
    }
  }
}

extension Operation {
  /// Whether nothing keeps the operation from its work any more.
  package final var hasBegun: Bool { life.current.phase > .enqueued }
}

/// Tarjan's algorithm, with a stack of its own instead of recursion.
///
/// R. Tarjan, “Depth-first search and linear graph algorithms”, SIAM Journal on Computing 1(2),
/// 1972.
package struct StrongComponents<Node: Hashable> {
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
  /// - Returns: The nodes along it; the first is the last again.
  /// - Complexity: O(v + e) of what can be reached.
  package static func firstCycle(
    from start: Node,
    next: @escaping (Node) -> [Node]
  ) -> [Node]? {
    var search = StrongComponents(next)
    search.enter(start)
    while !search.frames.isEmpty, search.closing.isEmpty { search.step() }
    guard let (_, begin) = search.closing.first else { return nil }
    return search.frames.drop { $0.node != begin }.map(\.node) + [begin]
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
