import CoreOperations

/// What was found when one operation was looked at, and where to look next.
struct Finding {
  var cause: OperationExplanation.Cause
  /// The text without what differs from operation to operation.
  let words: String
  /// What has to happen, of an operation or several, whose names it gets.
  let remedy: ((String) -> String)?
  /// The operations that the cause comes down to.
  var next: [Operation] = []
}

extension [Finding] {
  /// The causes, of which those that are equal are one.
  ///
  /// - Returns: Each cause where the first of its kind was, and the numbers of the findings that
  ///   have it.
  var causes: [(cause: OperationExplanation.Cause, findings: [Int])] {
    var places: [OperationExplanation.Cause.Key: Int] = [:]
    var causes: [(cause: OperationExplanation.Cause, findings: [Int])] = []
    for (number, finding) in enumerated() {
      let key = finding.cause.key(finding.words)
      if let place = key.flatMap({ places[$0] }) {
        // Two conditions of one operation may have the same name.
        let operations = finding.cause.operations
        if causes[place].cause.operations.last != operations[0] {
          causes[place].cause.operations += operations
        }
        causes[place].findings.append(number)
      } else {
        if let key { places[key] = causes.count }
        causes.append((finding.cause, [number]))
      }
    }
    for place in causes.indices where causes[place].findings.count > 1 {
      let remedy = self[causes[place].findings[0]].remedy
      let names = causes[place].cause.operations.names
      if let remedy { causes[place].cause.remedy = remedy(names) }
    }
    return causes
  }
}

/// Follows causes from operation to operation, each looked at once, to what is at the root of them.
struct ExplanationSearch {
  typealias Cause = OperationExplanation.Cause

  private struct Node {
    let operation: Operation
    /// Where it was come from: a node, and which of its findings.
    let parent: (node: Int, finding: Int)?
    var findings: [Finding] = []
    /// The nodes that its findings lead to.
    var next: [Int] = []
  }

  private var nodes: [Node] = []
  private var places: [ObjectIdentifier: Int] = [:]
  /// False if no operation was reached twice, and none has children that wait for its start.
  private var mayHaveCycle = false

  /// Looks at some operations, and at all that keeps them.
  ///
  /// - Complexity: O(v + e), v the number of operations that are reached and e that of their waits.
  init(from starts: [Operation]) {
    for operation in starts { _ = place(operation, parent: nil) }
    var index = 0
    while index < nodes.count {
      let findings = nodes[index].operation.findings()
      nodes[index].findings = findings
      for (number, finding) in findings.enumerated() {
        for operation in finding.next {
          let other = place(operation, parent: (index, number))
          nodes[index].next.append(other)
        }
      }
      index += 1
    }
  }

  private mutating func place(_ operation: Operation, parent: (Int, Int)?) -> Int {
    if let known = places[ObjectIdentifier(operation)] {
      mayHaveCycle = true
      return known
    }
    let runner = (operation as? AdvancedOperation)?.childRunner
    if runner?.hasWaitingChildren == true { mayHaveCycle = true }
    places[ObjectIdentifier(operation)] = nodes.count
    nodes.append(Node(operation: operation, parent: parent))
    return nodes.count - 1
  }

  // MARK: What was found

  /// What keeps some of the operations themselves.
  func causes(of operations: [Operation]) -> [Cause] {
    operations.flatMap { operation in
      places[ObjectIdentifier(operation)].map { nodes[$0].findings } ?? []
    }.causes.map(\.cause)
  }

  /// A cause that leads nowhere else.
  struct Root {
    let cause: Cause
    /// The nodes that are kept by it.
    fileprivate let nodes: [Int]
  }

  /// The root causes, what doesn't go by itself first, then what is nearer.
  func roots() -> [Root] {
    let cycle = cycle()
    let members = Set(cycle?.cause.involved ?? [])
    var found: [(node: Int, finding: Finding)] = []
    for (index, node) in nodes.enumerated() {
      for finding in node.findings where finding.next.isEmpty {
        // To add what is in a cycle to a queue is of no use.
        if finding.cause.kind == .notEnqueued, members.contains(node.operation) { continue }
        found.append((index, finding))
      }
    }
    var roots = found.map(\.finding).causes.map { cause, findings in
      Root(cause: cause, nodes: findings.map { found[$0].node })
    }
    if let cycle { roots.insert(cycle, at: 0) }
    let ranks = roots.map(\.cause.kind.traits.rank)
    let order = roots.indices.sorted { (-ranks[$0], $0) < (-ranks[$1], $1) }
    return order.map { roots[$0] }
  }

  /// Which of some operations wait because of others that have a root cause, directly or not.
  func waiting(for root: Root, among operations: [Operation]) -> [Operation] {
    var isReached = leading(to: root.nodes)
    for node in root.nodes { isReached[node] = false }
    return operations.filter { operation in
      places[ObjectIdentifier(operation)].map { isReached[$0] } ?? false
    }
  }

  /// Which nodes are some nodes or lead to them.
  private func leading(to ends: [Int]) -> [Bool] {
    var comesFrom = [[Int]](repeating: [], count: nodes.count)
    for (index, node) in nodes.enumerated() {
      for other in node.next { comesFrom[other].append(index) }
    }
    var isReached = [Bool](repeating: false, count: nodes.count)
    for end in ends { isReached[end] = true }
    var due = ends
    while let index = due.popLast() {
      for other in comesFrom[index] where !isReached[other] {
        isReached[other] = true
        due.append(other)
      }
    }
    return isReached
  }

  /// The way from where the search began to a root cause, both included.
  func path(to root: Root) -> [Cause] {
    var path = [root.cause]
    var next = nodes[root.nodes[0]].parent
    while let (parent, finding) = next {
      path.append(nodes[parent].findings[finding].cause)
      next = nodes[parent].parent
    }
    return path.reversed()
  }

  /// A cycle that keeps some of the operations, or from which nothing else can be reached.
  private func cycle() -> Root? {
    guard mayHaveCycle else { return nil }
    return cycleOfNeeds() ?? cycleOfFindings()
  }

  /// A cycle of operations each of which needs the next one, whatever else keeps them: also of some
  /// that are in no queue yet.
  ///
  /// - Complexity: O(v + e).
  private func cycleOfNeeds() -> Root? {
    var outlook = WaitSearch()
    var seen: Set<Int> = []
    var attempts = 0
    for start in nodes.indices where attempts < 16 {
      // An operation that waits behind a cycle leads to one that is in it.
      var next: Int? = start
      var last: Int?
      while let here = next, !outlook.canHappen(.end(nodes[here].operation)) {
        last = here
        guard seen.insert(here).inserted else { break }
        next = nodes[here].next.first { !outlook.canHappen(.end(nodes[$0].operation)) }
      }
      guard let last else { continue }
      attempts += 1
      let operation = nodes[last].operation
      // The cycle is shorter to read where it keeps the operation from its start already.
      let cycle =
        outlook.canHappen(.start(operation)) ? nil : WaitSearch.cycle(through: .start(operation))
      if let cycle = cycle ?? WaitSearch.cycle(through: .end(operation)) {
        return Root(cause: .cycle(cycle.operations), nodes: [last])
      }
    }
    return nil
  }

  /// A cycle, if there are operations from which nothing but a cycle can be reached.
  private func cycleOfFindings() -> Root? {
    let isFree = leading(
      to: nodes.indices.filter { index in
        let findings = nodes[index].findings
        return findings.isEmpty || findings.contains { $0.next.isEmpty }
      }
    )
    guard let first = isFree.firstIndex(of: false) else { return nil }
    guard let cycle = StrongComponents.firstCycle(from: first, next: { nodes[$0].next }) else {
      return nil
    }
    return Root(cause: .cycle(cycle.map { nodes[$0].operation }), nodes: [cycle[0]])
  }
}

extension OperationExplanation.Cause {
  /// The cause of all that are in a cycle.
  ///
  /// - Parameter members: The operations along it, beginning and ending with the same.
  /// - Returns: The cause, which is about the first of them.
  static func cycle(_ members: [Operation]) -> Self {
    let names = members.map(\.label)
    let path = names.joined(separator: " → ")
    // A cycle that isn't in queues yet would only be cancelled there.
    let isInQueues = members.allSatisfy { member in
      !member.currentWaits.contains { if case .enqueueing = $0.kind { true } else { false } }
    }
    return Self(
      operations: [members[0]],
      name: names[0],
      kind: .cycle,
      involved: members,
      text: "waits in a cycle: \(path)",
      remedy: isInQueues
        ? "one of \(names.dropLast().joined(separator: ", ")) has to be cancelled"
        : "one of the waits \(path) has to be removed"
    )
  }
}

extension Array where Element: Operation {
  /// The names of the first few, and how many more there are.
  var names: String { map(\.label).briefList }
}

extension [String] {
  /// The first few, and how many more there are.
  package var briefList: String {
    let text = prefix(4).joined(separator: ", ")
    return count > 4 ? "\(text) and \(count - 4) more" : text
  }
}
