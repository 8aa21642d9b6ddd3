public import CoreOperations

/// A snapshot of operations with their states and dependencies, as a value.
///
/// ```swift
/// for node in queue.graph.nodes where node.state == .pending { print(node.name) }
/// ```
///
/// The module AdvancedOperationsVisualization draws a graph.
///
/// Operations keep running while a graph is created. Each node has the state that its operation had when the
/// initializer read the operation.
public struct OperationGraph: Sendable, CustomStringConvertible {
  /// An operation in the graph.
  public struct Node: Sendable, Identifiable {
    /// The name as an identifier, with a number if several operations have the same name.
    ///
    /// Equal graphs have equal identifiers. An operation keeps its identifier in later graphs, unless an
    /// operation of the same name arrives or leaves.
    public var id: String
    /// The operation's name, or its type.
    public var name: String
    /// The operation's tag; nil if it had none.
    public var tag: (any Hashable & Sendable)?
    /// The state of the operation.
    public var state: AdvancedOperation.State
    /// The outcome of the operation; nil if it isn't decided.
    public var outcome: OperationOutcome?
    /// Whether the operation was cancelled.
    public var isCancelled: Bool
    /// The closed gates and the conditions for which the operation waits, or the reason why its queue is
    /// suspended; nil if there are none.
    public var waitReason: String?
    /// The identifier of the group that the operation is a child of.
    public var group: String?
    /// Whether the operation or its group was passed to the initializer of the graph.
    ///
    /// If the value is false, the operation is in the graph because another operation in the graph depends on
    /// it.
    public var isMember: Bool
  }

  /// A connection from one operation to another.
  public struct Edge: Sendable, Hashable {
    /// The reason for an edge.
    ///
    /// Later versions may add cases, so a `switch` needs an `@unknown default`.
    @nonexhaustive
    public enum Kind: Sendable, CaseIterable {
      /// The second operation waits for the first one.
      case dependency
      /// The first operation has produced the second one.
      case produced
    }

    /// The identifier of the first operation.
    public var from: String
    /// The identifier of the second operation.
    public var to: String
    /// The reason for the edge.
    public var kind: Kind

    package init(from: String, to: String, kind: Kind) {
      self.from = from
      self.to = to
      self.kind = kind
    }
  }

  /// The operations in the order of adding; children follow their group, and operations that aren't members
  /// come last.
  public var nodes: [Node]
  /// The connections, in the order of the nodes to which they lead.
  public var edges: [Edge]

  /// Creates a graph of the operations, of the children of groups among them, and of their dependencies.
  ///
  /// The graph contains the dependencies of these dependencies as well, at any depth. It contains dependencies
  /// that have finished. It doesn't contain the dependencies of a finished dependency, unless you pass them or
  /// the finished dependency.
  ///
  /// - Parameter operations: Operations in any queues or none, finished or not.
  /// - Complexity: O(n + e), n the number of nodes and e the number of edges.
  public init(of operations: some Sequence<Operation>) {
    var snapshot = GraphSnapshot()
    snapshot.add(operations)
    self = snapshot.graph()
  }

  /// A part of the graph, with the edges between its nodes.
  ///
  /// Draw a part of a large graph, because people can read some hundred nodes.
  ///
  /// ```swift
  /// // What hasn't ended, and what went wrong:
  /// let rest = queue.graph.filter { $0.outcome?.isSuccess != true }
  /// ```
  ///
  /// - Parameter isIncluded: Returns whether a node stays. A child of a group that doesn't stay isn't a child
  ///   of a group in the result.
  /// - Returns: The graph, in the same order.
  /// - Complexity: O(n + e), n the number of nodes and e the number of edges.
  public func filter(_ isIncluded: (Node) throws -> Bool) rethrows -> OperationGraph {
    var graph = OperationGraph(nodes: try nodes.filter(isIncluded), edges: [])
    let ids = Set(graph.nodes.map(\.id))
    for index in graph.nodes.indices {
      if let group = graph.nodes[index].group, !ids.contains(group) {
        graph.nodes[index].group = nil
      }
    }
    graph.edges = edges.filter { ids.contains($0.from) && ids.contains($0.to) }
    return graph
  }

  /// The numbers of operations and edges, and the names of the first few operations, on one line.
  public var description: String {
    if nodes.isEmpty { return "no operations" }
    let names = nodes.prefix(5).map(\.name)
    let more = nodes.count > names.count ? " and \(nodes.count - names.count) more" : ""
    let operations = counted(nodes.count, "operation")
    let edges = counted(self.edges.count, "edge")
    return "\(operations) (\(names.joined(separator: ", "))\(more)), \(edges)"
  }

  init(nodes: [Node], edges: [Edge]) {
    self.nodes = nodes
    self.edges = edges
  }
}

extension OperationQueue {
  /// The operations of the queue at this moment, with their states and dependencies.
  ///
  /// - Complexity: O(n + e), n the number of operations and e the number of their dependencies.
  public final var graph: OperationGraph { OperationGraph(of: operations) }
}

extension Operation {
  /// The reason why the operation hasn't started: closed gates, other conditions that wait for changes, or the
  /// reason of a suspension; nil if there is no such reason.
  package final var waitReason: String? {
    if isFinished || isExecuting || isCancelled { return nil }
    if let advanced = self as? AdvancedOperation, case let waits = advanced.conditionWaits,
      !waits.isEmpty
    {
      let texts = waits.map { finding($0.wait(of: advanced)).cause.text }
      return texts.joined(separator: ", ")
    }
    return containingQueue?.suspensionReason.map { "suspended: \($0)" }
  }
}

/// Collects operations, each of them once, and creates their graph.
package struct GraphSnapshot {
  private struct Entry {
    let operation: Operation
    var group: Int?
    let isMember: Bool
  }

  private var entries: [Entry] = []
  private var places: [ObjectIdentifier: Int] = [:]

  /// Adds operations and the children of groups, without recursion.
  mutating func add(_ operations: some Sequence<Operation>) {
    var stack: [(operation: Operation, group: Int?)] = operations.map { ($0, nil) }
    stack.reverse()
    while let (operation, group) = stack.popLast() {
      if let known = places[ObjectIdentifier(operation)] {
        adopt(known, into: group)
        continue
      }
      let place = append(Entry(operation: operation, group: group, isMember: true))
      guard let container = operation as? GroupOperation else { continue }
      for child in container.children.reversed() { stack.append((child, place)) }
    }
  }

  /// Makes a child that was added before its group a child of the group.
  private mutating func adopt(_ child: Int, into group: Int?) {
    guard let group, entries[child].group == nil else { return }
    var ancestor: Int? = group
    while let next = ancestor {
      // The group was added to one of its own children.
      if next == child { return }
      ancestor = entries[next].group
    }
    entries[child].group = group
  }

  private mutating func append(_ entry: Entry) -> Int {
    entries.append(entry)
    places[ObjectIdentifier(entry.operation)] = entries.count - 1
    return entries.count - 1
  }

  /// Adds the dependencies of the operations, and puts everything into values.
  mutating func graph() -> OperationGraph {
    var links: [(from: Int, to: Int, kind: OperationGraph.Edge.Kind)] = []
    var next = 0
    while next < entries.count {
      let entry = entries[next]
      if entry.isMember || !entry.operation.isFinished {
        for dependency in entry.operation.dependencies {
          let place =
            places[ObjectIdentifier(dependency)]
            ?? append(Entry(operation: dependency, group: nil, isMember: false))
          links.append((place, next, .dependency))
        }
      }
      if let producer = (entry.operation as? AdvancedOperation)?.producer,
        let place = places[ObjectIdentifier(producer)]
      {
        links.append((place, next, .produced))
      }
      next += 1
    }
    let ids = Self.ids(of: entries.map(\.operation.label))
    let nodes = entries.enumerated().map { index, entry in
      Self.node(
        entry.operation,
        id: ids[index],
        group: entry.group.map { ids[$0] },
        isMember: entry.isMember
      )
    }
    let edges = links.map { OperationGraph.Edge(from: ids[$0.from], to: ids[$0.to], kind: $0.kind) }
    return OperationGraph(nodes: nodes, edges: edges)
  }

  private static func node(
    _ operation: Operation,
    id: String,
    group: String?,
    isMember: Bool
  ) -> OperationGraph.Node {
    let advanced = operation as? AdvancedOperation
    let state = advanced?.state ?? operation.stateOfPlain
    return OperationGraph.Node(
      id: id,
      name: operation.label,
      tag: operation.tag,
      state: state,
      outcome: advanced.map(\.outcome) ?? operation.outcomeOfDependency,
      isCancelled: operation.isCancelled,
      waitReason: operation.waitReason,
      group: group,
      isMember: isMember
    )
  }

  /// Identifiers for every notation.
  ///
  /// Equal names get numbers in their order.
  package static func ids(of names: [String]) -> [String] {
    var used: Set<String> = []
    var counts: [String: Int] = [:]
    return names.map { name in
      let word = "op_" + String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
      var id = word
      while !used.insert(id).inserted {
        counts[word, default: 1] += 1
        id = "\(word)_\(counts[word] ?? 1)"
      }
      return id
    }
  }
}
