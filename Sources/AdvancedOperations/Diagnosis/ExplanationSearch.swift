import CoreOperations

/// What was found when one operation was looked at, and where to look next.
///
/// Most findings only lead to others. The words are for those that are shown.
struct Finding {
  typealias Cause = OperationExplanation.Cause

  let operation: Operation
  let kind: Cause.Kind
  /// The text without what differs from operation to operation.
  var words: () -> String
  /// The same without the texts of errors, if it has any.
  var wordsWithoutErrors: (() -> String)?
  /// What has to happen, of an operation or several, whose names it gets.
  let remedy: ((String) -> String)?
  var duration: Duration?
  var isDurationShown = true
  let requirement: String?
  var error: (any Error)?
  /// The end of the text, behind the duration.
  var ending = ""
  /// The operations that the cause comes down to.
  let next: [Operation]

  var cause: Cause {
    let name = operation.label
    let shown = isDurationShown ? duration : nil
    let time = shown.map { "\(kind == .claim ? "," : "") for \($0.readable)" } ?? ""
    return Cause(
      operations: [operation],
      name: name,
      kind: kind,
      involved: next,
      requirement: requirement,
      error: error,
      duration: duration,
      text: words() + time + ending,
      remedy: remedy?(name)
    )
  }

  /// The same finding without the texts of errors.
  var withoutErrors: Finding {
    var finding = self
    finding.words = wordsWithoutErrors ?? words
    return finding
  }

  /// What equal causes of several operations have in common; nil for a cause that only one operation
  /// can have.
  var key: Key? {
    switch kind.traits.scope {
    case .operation: nil
    case .queue: Key(kind: kind, words: words(), involved: [])
    case .requirement: Key(kind: kind, words: error?.withoutTimes ?? commonWords, involved: next)
    }
  }

  /// The words, unless the operations that it waits for say as much.
  private var commonWords: String {
    switch kind {
    case .dependency, .group, .children, .awaiting, .prerequisite:
      next.isEmpty ? words() : requirement ?? ""
    default: words()
    }
  }

  struct Key: Hashable {
    let kind: Cause.Kind
    let words: String
    let involved: [Operation]
  }
}

/// An error that says when something will be possible again.
protocol TimedError: Error {
  /// The description without the time, which is another one in each such error.
  var descriptionWithoutTime: String { get }
}

extension Error {
  /// The description, without the times in it.
  fileprivate var withoutTimes: String {
    var (names, error): (String, any Error) = ("", self)
    while let condition = error as? OperationConditionError {
      names += "\(condition.condition): "
      error = condition.underlying
    }
    return names + ((error as? any TimedError)?.descriptionWithoutTime ?? "\(error)")
  }
}

extension [Finding] {
  /// The numbers of the findings that have an equal cause, in the order of the first of each.
  var groups: [[Int]] {
    var places: [Finding.Key: Int] = [:]
    var groups: [[Int]] = []
    for (number, finding) in enumerated() {
      let key = finding.key
      if let place = key.flatMap({ places[$0] }) {
        groups[place].append(number)
      } else {
        if let key { places[key] = groups.count }
        groups.append([number])
      }
    }
    return groups
  }

  /// The one cause of findings that have an equal one.
  func cause(of group: [Int]) -> Finding.Cause {
    let first = self[group[0]]
    var cause = first.cause
    if group.count == 1 { return cause }
    // Two conditions of one operation may have the same name.
    for number in group.dropFirst() where cause.operations.last != self[number].operation {
      cause.operations.append(self[number].operation)
    }
    if let remedy = first.remedy { cause.remedy = remedy(cause.operations.names) }
    return cause
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
  init(from starts: [Operation], showsErrors: Bool = true) {
    for operation in starts { _ = place(operation, parent: nil) }
    var index = 0
    while index < nodes.count {
      var findings = nodes[index].operation.findings()
      if !showsErrors { findings = findings.map(\.withoutErrors) }
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

  /// What keeps some of the operations themselves: as many causes as are wanted.
  func causes(of operations: [Operation], limit: Int) -> [Cause] {
    let findings = operations.flatMap { operation in
      places[ObjectIdentifier(operation)].map { nodes[$0].findings } ?? []
    }
    return findings.groups.prefix(limit).map { findings.cause(of: $0) }
  }

  /// What keeps some of the operations themselves, the longest causes first, and the number of all causes.
  func longestCauses(of operations: [Operation], limit: Int) -> (causes: [Cause], count: Int) {
    let findings = operations.flatMap { operation in
      places[ObjectIdentifier(operation)].map { nodes[$0].findings } ?? []
    }
    let groups = findings.groups
    let durations = groups.map { findings[$0[0]].duration ?? .zero }
    let order = groups.indices.sorted { (durations[$1], $0) < (durations[$0], $1) }
    return (order.prefix(limit).map { findings.cause(of: groups[$0]) }, groups.count)
  }

  /// The kind of the first cause that keeps an operation.
  func kind(of operation: Operation) -> Cause.Kind? {
    places[ObjectIdentifier(operation)].flatMap { nodes[$0].findings.first?.kind }
  }

  /// A cause that leads nowhere else.
  struct Root {
    let cause: Cause
    /// The nodes that are kept by it.
    fileprivate let nodes: [Int]
  }

  /// Root causes, and the number of all that there are.
  struct Roots {
    var roots: [Root]
    var count: Int
  }

  /// The root causes, what doesn't go by itself first, then what is nearer.
  ///
  /// - Parameters:
  ///   - limit: The number of causes, at most. With a limit, a cycle is looked for on the ways to
  ///     these, and where no root cause is reached; otherwise everywhere.
  ///   - size: The number of operations for which each operation stands. If it is given, the causes
  ///     to which most operations lead come first.
  ///   - select: Decides which causes are wanted; nil for all.
  /// - Returns: The causes, and the number of all.
  func roots(
    limit: Int,
    counting size: ((Operation) -> Int)? = nil,
    select: ([StuckCauses.Sighting]) -> [Bool]? = { _ in nil }
  ) -> Roots {
    var found: [(node: Int, finding: Finding)] = []
    for (index, node) in nodes.enumerated() {
      for finding in node.findings where finding.next.isEmpty { found.append((index, finding)) }
    }
    let findings = found.map(\.finding)
    let loads = size.map { self.loads($0) }
    func sorted(_ groups: [[Int]]) -> [[Int]] {
      let ranks = groups.map { findings[$0[0]].kind.traits.rank }
      let counts = groups.map { group in
        loads.map { loads in group.reduce(0) { $0 + loads[found[$1].node] } } ?? 0
      }
      let order = groups.indices.sorted {
        (-counts[$0], -ranks[$0], $0) < (-counts[$1], -ranks[$1], $1)
      }
      return order.map { groups[$0] }
    }
    var groups = sorted(findings.groups)
    let ends = groups.prefix(limit).map { found[$0[0]].node }
    var cycle = cycle(near: limit < .max ? ends : nil)
    if let members = (cycle?.cause.involved).map(Set.init), !members.isEmpty {
      // To add what is in a cycle to a queue is of no use.
      groups = groups.compactMap { group in
        let left = group.filter { number in
          let (node, finding) = found[number]
          return finding.kind != .notEnqueued || !members.contains(nodes[node].operation)
        }
        return left.isEmpty ? nil : left
      }
    }
    let sightings = groups.map { group in
      let first = findings[group[0]]
      return StuckCauses.Sighting(
        object: first.operation,
        kind: first.kind,
        duration: first.duration
      )
    }
    if let isWanted = select(sightings) {
      // The library ends cycles when they begin.
      cycle = nil
      groups = zip(groups, isWanted).compactMap { $1 ? $0 : nil }
    }
    let others = groups.prefix(cycle == nil ? limit : max(limit - 1, 0)).map { group in
      Root(cause: findings.cause(of: group), nodes: group.map { found[$0].node })
    }
    let count = groups.count + (cycle == nil ? 0 : 1)
    return Roots(roots: (cycle.map { [$0] } ?? []) + others, count: count)
  }

  /// The number of operations that lead to each node, each counted for one node, to which its first wait
  /// leads.
  ///
  /// - Complexity: O(v), where the exact numbers of all nodes take O(v · (v + e)).
  private func loads(_ size: (Operation) -> Int) -> [Int] {
    let (isNew, isOnWay) = (-1, -2)
    var ends = [Int](repeating: isNew, count: nodes.count)
    for start in nodes.indices {
      var (way, node) = ([Int](), start)
      while ends[node] == isNew {
        ends[node] = isOnWay
        way.append(node)
        node = nodes[node].next.first ?? node
      }
      let end = ends[node] == isOnWay ? node : ends[node]
      for node in way { ends[node] = end }
    }
    var loads = [Int](repeating: 0, count: nodes.count)
    for (node, end) in ends.enumerated() { loads[end] += size(nodes[node].operation) }
    return loads
  }

  /// Which of some operations wait because of others that have each root cause, directly or not.
  func waiting(for roots: some Sequence<Root>, among operations: [Operation]) -> [[Operation]] {
    let search = BackwardSearch(nodes.map(\.next))
    let members = operations.compactMap { places[ObjectIdentifier($0)] }
    return roots.map { root in
      var isReached = search.leading(to: root.nodes)
      for node in root.nodes { isReached[node] = false }
      return members.filter { isReached[$0] }.map { nodes[$0].operation }
    }
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

  /// The way to a root cause from the operation that is farthest from it, without the root cause.
  func longestWay(to root: Root) -> [Cause] {
    var way: [Cause] = []
    var steps = BackwardSearch(nodes.map(\.next)).steps(to: root.nodes)
    while let (node, next) = steps.last, let next {
      if let finding = nodes[node].findings.first(where: { $0.next.contains(nodes[next].operation) }
      ) {
        way.append(finding.cause)
      }
      while let (other, _) = steps.last, other != next { steps.removeLast() }
    }
    return way
  }

  /// A cycle that keeps some of the operations, or from which nothing else can be reached.
  ///
  /// - Parameter ends: Nodes on the ways to which it is looked for, besides those that lead to no root
  ///   cause; nil to look at all of them.
  /// - Returns: The cycle; nil if none was found.
  private func cycle(near ends: [Int]?) -> Root? {
    guard mayHaveCycle else { return nil }
    guard let ends else { return cycleOfNeeds(from: nodes.indices) ?? cycleOfFindings() }
    var starts: [Int] = []
    for end in ends {
      var next: Int? = end
      while let node = next {
        starts.append(node)
        next = nodes[node].parent?.node
      }
    }
    return cycleOfFindings() ?? cycleOfNeeds(from: starts)
  }

  /// A cycle of operations each of which needs the next one, whatever else keeps them: also of some
  /// that are in no queue yet.
  ///
  /// - Complexity: O(v + e).
  private func cycleOfNeeds(from starts: some Sequence<Int>) -> Root? {
    var outlook = WaitSearch()
    var seen: Set<Int> = []
    var attempts = 0
    for start in starts where attempts < 16 {
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
    let isFree = BackwardSearch(nodes.map(\.next)).leading(
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

/// Finds the nodes of a graph that lead to some of them.
private struct BackwardSearch {
  /// The nodes that lead to each node in one step: those of a node are between its start and the next.
  private var sources: [Int]
  private var starts: [Int]

  /// - Complexity: O(v + e), as is each search.
  init(_ next: [[Int]]) {
    starts = [Int](repeating: 0, count: next.count + 1)
    for nodes in next { for node in nodes { starts[node + 1] += 1 } }
    for index in next.indices { starts[index + 1] += starts[index] }
    sources = [Int](repeating: 0, count: starts[next.count])
    var free = starts
    for (index, nodes) in next.enumerated() {
      for node in nodes {
        sources[free[node]] = index
        free[node] += 1
      }
    }
  }

  /// The nodes that are some nodes or lead to them, the nearest first, each with the next one on its way.
  func steps(to ends: [Int]) -> [(node: Int, next: Int?)] {
    var isReached = [Bool](repeating: false, count: starts.count - 1)
    for end in ends { isReached[end] = true }
    var steps = ends.map { (node: $0, next: Int?.none) }
    var index = 0
    while index < steps.count {
      let node = steps[index].node
      for other in sources[starts[node]..<starts[node + 1]] where !isReached[other] {
        isReached[other] = true
        steps.append((other, node))
      }
      index += 1
    }
    return steps
  }

  /// Which nodes are some nodes or lead to them.
  func leading(to ends: [Int]) -> [Bool] {
    var isReached = [Bool](repeating: false, count: starts.count - 1)
    for end in ends { isReached[end] = true }
    var due = ends
    while let index = due.popLast() {
      for other in sources[starts[index]..<starts[index + 1]] where !isReached[other] {
        isReached[other] = true
        due.append(other)
      }
    }
    return isReached
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
  var names: String {
    let text = prefix(4).map(\.label).joined(separator: ", ")
    return count > 4 ? "\(text) and \(count - 4) more" : text
  }
}

extension [String] {
  /// The first few, and how many more there are.
  package var briefList: String {
    let text = prefix(4).joined(separator: ", ")
    return count > 4 ? "\(text) and \(count - 4) more" : text
  }
}
