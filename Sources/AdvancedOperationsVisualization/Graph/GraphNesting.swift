import AdvancedOperations

/// The groups of a graph as a tree, and the level of the tree at which each edge is.
struct GraphNesting {
  /// The number of the group of each node; nil for a node that isn't in a group of the graph.
  let parents: [Int?]
  /// The numbers of the children of each node, in the order of the graph.
  let children: [[Int]]
  /// The nodes without a group.
  let roots: [Int]
  /// The nodes, each after its group.
  let order: [Int]
  /// The numbers of the nodes of each edge; nil for an edge without two nodes of the graph.
  let edges: [(from: Int, to: Int)?]
  private let depths: [Int]

  init(_ graph: OperationGraph) {
    let count = graph.nodes.count
    let numbers = Dictionary(graph.nodes.enumerated().map { ($1.id, $0) }) { first, _ in first }
    var parents = graph.nodes.map { $0.group.flatMap { numbers[$0] } }
    var children = [[Int]](repeating: [], count: count)
    for (node, parent) in parents.enumerated() { if let parent { children[parent].append(node) } }
    var roots = parents.indices.filter { parents[$0] == nil }
    var depths = [Int?](repeating: nil, count: count)
    var order: [Int] = []
    func visit(_ root: Int) {
      depths[root] = 0
      order.append(root)
      var next = order.count - 1
      while next < order.count {
        for child in children[order[next]] {
          depths[child] = (depths[order[next]] ?? 0) + 1
          order.append(child)
        }
        next += 1
      }
    }
    for root in roots { visit(root) }
    // A program can change nodes, so groups may contain each other in a cycle: the first node of a cycle
    // loses its group.
    for node in parents.indices where depths[node] == nil {
      if let parent = parents[node] { children[parent].removeAll { $0 == node } }
      parents[node] = nil
      roots.append(node)
      visit(node)
    }
    self.parents = parents
    self.children = children
    self.roots = roots
    self.order = order
    self.depths = depths.map { $0 ?? 0 }
    edges = graph.edges.map { edge in
      guard let from = numbers[edge.from], let to = numbers[edge.to] else { return nil }
      return (from, to)
    }
  }

  /// The level at which an edge is drawn.
  enum Level {
    /// The edge is between two different nodes with the same group, or without a group.
    ///
    /// These nodes are its ends, or contain its ends.
    case between(Int, Int)
    /// The edge leads from a node to itself, or between a group and a node inside of it.
    case inside
  }

  /// Returns the level at which the ends of an edge are in different nodes.
  ///
  /// - Complexity: O(d), d the depth of the ends.
  func level(of edge: (from: Int, to: Int)) -> Level {
    var (from, to) = (edge.from, edge.to)
    while depths[from] > depths[to], let parent = parents[from] { from = parent }
    while depths[to] > depths[from], let parent = parents[to] { to = parent }
    if from == to { return .inside }
    while parents[from] != parents[to], let left = parents[from], let right = parents[to] {
      (from, to) = (left, right)
    }
    return .between(from, to)
  }

  /// Returns a node and the groups around it, from the inside to the outside, up to the given group and
  /// without it.
  func ancestors(of node: Int, below group: Int?) -> [Int] {
    var chain = [node]
    var next = parents[node]
    while let ancestor = next, ancestor != group {
      chain.append(ancestor)
      next = parents[ancestor]
    }
    return chain
  }

  /// Returns whether a node is a child of a group, or of a group inside of it.
  func isInside(_ node: Int, of group: Int) -> Bool {
    var next = parents[node]
    while let ancestor = next, ancestor != group { next = parents[ancestor] }
    return next == group
  }
}
