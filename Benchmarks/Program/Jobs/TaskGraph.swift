/// What waits for what: nodes in an order in which each comes after those that it waits for.
struct TaskGraph: Sendable {
  /// Where the predecessors of a node begin; one more at the end.
  private let offsets: [Int32]
  private let flatPredecessors: [Int32]

  /// - Parameter predecessors: For each node, nodes before it.
  init(predecessors: [[Int]]) {
    var offsets: [Int32] = [0]
    var flat: [Int32] = []
    for (node, own) in predecessors.enumerated() {
      precondition(own.allSatisfy { $0 >= 0 && $0 < node }, "Node \(node) comes too early.")
      flat += own.map { Int32($0) }
      offsets.append(Int32(flat.count))
    }
    self.offsets = offsets
    flatPredecessors = flat
  }

  var count: Int { offsets.count - 1 }
  var edgeCount: Int { flatPredecessors.count }

  func predecessors(of node: Int) -> ArraySlice<Int32> {
    flatPredecessors[Int(offsets[node])..<Int(offsets[node + 1])]
  }

  /// The same graph by what follows a node, for those who count down instead of looking back.
  func successors() -> (offsets: [Int32], flat: [Int32]) {
    var offsets = [Int32](repeating: 0, count: count + 1)
    for node in flatPredecessors { offsets[Int(node) + 1] += 1 }
    for node in 0..<count { offsets[node + 1] += offsets[node] }
    var next = offsets
    var flat = [Int32](repeating: 0, count: edgeCount)
    for node in 0..<count {
      for predecessor in predecessors(of: node) {
        flat[Int(next[Int(predecessor)])] = Int32(node)
        next[Int(predecessor)] += 1
      }
    }
    return (offsets, flat)
  }
}
