/// A search that determines whether an event can still happen, given the waits at this moment.
///
/// The search visits every reachable node once. A node without needs can happen, and therefore a node that
/// needed only such nodes can happen too. The remaining nodes wait in a cycle or behind a cycle.
package struct WaitSearch {
  /// A cycle of operations, each of which waits for the next one.
  package struct Cycle: Error {
    /// The operations along the cycle; the first operation is also the last one.
    package let operations: [Operation]
    var labels: [OperationLabel] {
      operations.dropLast().flatMap { operation in
        let isForMainThread = operation.waitsInQueue(for: \.isForMainThread)
        let label = operation.nameAndTag
        return isForMainThread ? [label, "the main thread"] : [label]
      } + operations.suffix(1).map(\.nameAndTag)
    }
    /// Whether the cycle would exist without queues and without waiting code.
    let isOfDependencies: Bool
    /// The operation whose body awaits while it holds a slot that the previous operation needs; nil if there
    /// is no such operation.
    let slotHolder: Operation?
    /// Whether an operation of the cycle waits for a slot, so that a higher limit would end the wait.
    var isForSlot: Bool { operations.contains { $0.waitsInQueue(for: \.isForSlot) } }
  }

  private struct Node {
    let value: WaitNode
    var needs: [WaitNeed]
    var open: Int
    /// The needs of other nodes to which this node contributes units.
    var awaitedBy: [(need: Int, units: Int)] = []
    var canHappen: Bool { open == 0 }
  }

  private struct Need {
    let owner: Int
    var units: Int
  }

  private var indices: [WaitNode: Int] = [:]
  private var nodes: [Node] = []
  /// The units that each need is still missing.
  private var open: [Need] = []
  private var unvisited: [Int] = []

  package init() {}

  /// Returns a cycle that contains a node and keeps it from ever happening; nil if the node can happen.
  ///
  /// The search reads the waits one after another, so it may combine waits that never existed at the same
  /// time. It reports a cycle only if the next search finds the same waits. All of these waits existed
  /// between the two searches. If the waits have changed, operations are making progress, and the search is
  /// repeated.
  ///
  /// - Complexity: O(v + e), v the number of reachable nodes and e the number of their needs. A search that
  ///   finds its answer early costs less.
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

  /// Returns whether all of some needs can be satisfied, as far as is visible at this moment.
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

  /// Returns whether a node can happen, as far as is visible at this moment.
  ///
  /// - Complexity: O(v + e), v the number of reachable nodes that this search hasn't visited and e the number
  ///   of their needs.
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

  /// Returns the operations of the cycles behind which some operations wait that can't end.
  ///
  /// Each element is a cycle, or several cycles that share operations, and begins with the operation that was
  /// reached first. Cycles of dependencies alone are left out.
  ///
  /// - Complexity: O(v + e), v the number of reachable nodes and e the number of their needs.
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

  /// Returns the unsatisfiable needs of a node that can't happen, and of the nodes behind these needs.
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

  /// Whether a need can't be satisfied, because its sources that can happen have too few units.
  private func isOpen(_ need: WaitNeed) -> Bool {
    need.sources.reduce(0) { $0 + (isStuck($1.node) ? 0 : $1.units) } < need.units
  }

  private func isStuck(_ node: WaitNode) -> Bool {
    indices[node].map { !nodes[$0].canHappen } ?? false
  }

  private func stuckNodes(of need: WaitNeed) -> [WaitNode] {
    need.sources.map(\.node).filter(isStuck)
  }

  /// A step along a path, and whether all steps up to it are dependencies.
  private struct Place: Hashable {
    let node: WaitNode
    let isOfDependencies: Bool
  }

  /// Returns the shortest path from a node through other nodes that can't happen back to its operation.
  ///
  /// A path of dependencies alone is returned only if there is no other path, because such a cycle may hide
  /// another cycle.
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

  /// Returns whether a path that has reached a node is a cycle.
  ///
  /// A wait for the start of an operation isn't affected by a cause that delays only the end of that
  /// operation.
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

  /// Returns the cycle of a path; nil if the path visits a node twice, and so contains another cycle.
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
  /// Returns the needs that have to be satisfied before the event, as far as they are visible; empty if the
  /// event can happen by itself.
  ///
  /// Actions that the program may take at any time are assumed to happen. Examples are resuming a queue,
  /// raising a limit of 0, and reporting that an override is ready.
  func needs() -> [WaitNeed] { waits().flatMap(\.needs) }

  private func waits() -> [Wait] {
    switch self {
    case .start(let operation):
      if operation.hasBegun { return operation.waitsBeforeTurn() }
      // Before the start, this code is the code of its conditions.
      return operation.waitsOfCode() + operation.waitsBeforeStart()
    case .end(let operation):
      return operation.life.current.phase == .finished ? [] : operation.waitsBeforeEnd()
    case .idle(let operation): return operation.waitsBeforeEnd()
    }
  }
}

extension Operation {
  /// Whether the operation has begun, so that nothing keeps it from its work any more.
  package final var hasBegun: Bool { life.current.phase > .enqueued }
}

/// Tarjan's algorithm, with an explicit stack instead of recursion.
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
  /// The waits that lead back to a node on the current path.
  ///
  /// Without them there would be no cycle.
  private(set) var closing: [(node: Node, awaited: Node)] = []

  /// - Parameter waits: Returns the nodes for which a node waits.
  init(_ waits: @escaping (Node) -> [Node]) { self.waits = waits }

  /// Returns the components with more than one node.
  ///
  /// - Complexity: O(v + e), v the number of reachable nodes and e the number of their edges.
  mutating func cycles(from starts: some Sequence<Node>) -> [[Node]] {
    for start in starts where numbers[start] == nil {
      enter(start)
      while !frames.isEmpty { step() }
    }
    return found
  }

  /// Returns the first cycle that a search finds if it follows the first wait of each node first; nil if
  /// there is no cycle.
  ///
  /// - Returns: The nodes along the cycle; the first node is also the last one.
  /// - Complexity: O(v + e), v the number of reachable nodes and e the number of their edges.
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

  /// Removes a component, which is everything on the open stack from its root upward.
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
