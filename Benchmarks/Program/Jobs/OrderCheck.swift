import Synchronization

/// Sees whether nodes ran after those that they wait for.
final class OrderCheck: Sendable {
  private let graph: TaskGraph
  private let isDone: Mutex<[Bool]>
  private let violations = Atomic<Int>(0)

  init(_ graph: TaskGraph) {
    self.graph = graph
    isDone = Mutex(Array(repeating: false, count: graph.count))
  }

  /// A node runs.
  func run(_ node: Int) {
    isDone.withLock { isDone in
      let isEarly = !graph.predecessors(of: node).allSatisfy { isDone[Int($0)] }
      if isEarly || isDone[node] { violations.add(1, ordering: .relaxed) }
      isDone[node] = true
    }
    RunCount.add()
  }

  /// Nodes that ran too early or twice.
  var violationCount: Int { violations.load(ordering: .acquiring) }
}
