import CoreOperations

/// Walks over operations, once, and makes a graph of them.
package struct GraphSnapshot {
  private struct Entry {
    let operation: Operation
    var group: Int?
    let isMember: Bool
  }

  private var entries: [Entry] = []
  private var places: [ObjectIdentifier: Int] = [:]

  /// Adds operations and what is in them, without recursion.
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

  /// Puts a child under its group that was found before it.
  private mutating func adopt(_ child: Int, into group: Int?) {
    guard let group, entries[child].group == nil else { return }
    var ancestor: Int? = group
    while let next = ancestor {
      // A group that was added to one of its own children.
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

  /// Adds what the operations depend on, and puts everything into values.
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
      state: state,
      outcome: advanced.map(\.outcome) ?? operation.outcomeOfDependency,
      isCancelled: operation.isCancelled,
      group: group,
      isMember: isMember
    )
  }

  /// Words that are identifiers in every notation; equal names get numbers in their order.
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

extension AdvancedOperation {
  /// The operation that has produced this one, as long as it exists.
  final var producer: AdvancedOperation? { withCore { $0.extra?.producer } }
}

extension Operation {
  /// The state of a plain operation, as far as its properties say.
  final var stateOfPlain: AdvancedOperation.State {
    if isFinished { return .finished }
    if isExecuting { return .executing }
    return isReady ? .ready : .pending
  }
}
