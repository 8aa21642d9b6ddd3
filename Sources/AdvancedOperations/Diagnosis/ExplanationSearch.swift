import CoreOperations

/// A reason why one operation waits, and the operations to examine next.
///
/// The text is created only for the findings that are shown, because most findings only lead to others.
struct Finding {
  typealias Cause = OperationExplanation.Cause

  let operation: Operation
  let kind: Cause.Kind
  /// A closure that returns the text without the parts that differ between operations.
  var words: () -> String
  /// A closure that returns the text without the texts of errors; nil if the text contains no errors.
  var wordsWithoutErrors: (() -> String)?
  /// A closure that describes the action that ends the wait, for the names of one operation or several.
  let remedy: ((String) -> String)?
  var duration: Duration?
  var isDurationShown = true
  /// The duration of the current attempt; nil if the operation makes only one.
  var activeDuration: Duration?
  let requirement: String?
  var error: (any Error)?
  /// The end of the text, after the duration.
  var ending = ""
  /// Whether the operation has finished and no part of it is running.
  var isOver = false
  /// The words with which equal causes of several operations are found; nil for the text.
  var commonWords: String?
  /// Whether the end of the text is the text of an error.
  var isEndingError = false
  /// The operations that are the reason of the wait.
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
    if isEndingError { finding.ending = "" }
    return finding
  }

  /// The key that equal causes of several operations share; nil for a cause that only one operation can have.
  var key: Key? {
    switch kind.traits.scope {
    case .operation: nil
    case .queue: Key(kind: kind, words: words(), involved: [])
    case .requirement: Key(kind: kind, words: error?.withoutTimes ?? wordsOfKey, involved: next)
    }
  }

  /// Whether the cause ends by itself at a known time, such as a delay.
  var endsInTime: Bool {
    switch kind {
    case .retry, .claim, .executing: next.isEmpty && remedy == nil
    default: false
    }
  }

  /// The text, or only the requirement if `next` identifies the cause.
  private var wordsOfKey: String {
    if let commonWords { return commonWords }
    return switch kind {
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

/// An error whose description contains the time of the next possible start.
protocol TimedError: Error {
  /// The description without the time, which differs between such errors.
  var descriptionWithoutTime: String { get }
}

extension Error {
  /// The description of the error without times.
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
  /// The indices of the findings with equal causes, in the order of the first of each group.
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

  /// The common cause of findings with equal causes.
  func cause(of group: [Int]) -> Finding.Cause {
    let first = self[group[0]]
    var cause = first.cause
    if group.count == 1 { return cause }
    // An operation may have two conditions with the same name, and is listed once.
    for number in group.dropFirst() where cause.operations.last != self[number].operation {
      cause.operations.append(self[number].operation)
    }
    if let remedy = first.remedy {
      // If the names are the subject of the remedy, several names need a plural.
      let names = cause.operations.enumeration
      let text = remedy(names)
      let isPlural = cause.operations.count > 1 && text.hasPrefix("\(names) has to ")
      cause.remedy = isPlural ? "\(names) have\(text.dropFirst(names.count + 4))" : text
    }
    return cause
  }
}

/// A search that follows causes from operation to operation to the root causes, and examines each operation
/// once.
struct ExplanationSearch {
  typealias Cause = OperationExplanation.Cause

  private struct Node {
    let operation: Operation
    /// The node and its finding through which the search reached this node; nil for a start.
    let parent: (node: Int, finding: Int)?
    var findings: [Finding] = []
    /// The nodes to which the findings lead.
    var next: [Int] = []
  }

  private var nodes: [Node] = []
  private var places: [ObjectIdentifier: Int] = [:]
  /// Whether an operation was reached twice, or has children that wait for its start.
  private var mayHaveCycle = false

  /// Examines operations, and all operations for which they wait.
  ///
  /// - Parameters:
  ///   - starts: The operations.
  ///   - completing: The operations that have finished, and whose completion blocks haven't returned.
  ///   - showsErrors: Whether texts contain the texts of errors.
  /// - Complexity: O(v + e), v the number of operations that are reached and e the number of their waits.
  init(
    from starts: [Operation],
    completing: Set<ObjectIdentifier> = [],
    showsErrors: Bool = true
  ) {
    for operation in starts { _ = place(operation, parent: nil) }
    var index = 0
    while index < nodes.count {
      var findings = nodes[index].operation.findings()
      if !showsErrors { findings = findings.map(\.withoutErrors) }
      if completing.contains(ObjectIdentifier(nodes[index].operation)) {
        for number in findings.indices where findings[number].isOver {
          findings[number].isOver = false
          findings[number].ending += "; its completion block has not returned"
        }
      }
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

  // MARK: Causes

  /// The direct causes of operations, up to a limit.
  func causes(of operations: [Operation], limit: Int) -> [Cause] {
    let findings = findings(of: operations)
    return findings.groups.prefix(limit).map { findings.cause(of: $0) }
  }

  /// The direct causes of operations, the longest first and up to a limit, and the number of all causes.
  func longestCauses(of operations: [Operation], limit: Int) -> (causes: [Cause], count: Int) {
    let findings = findings(of: operations)
    let groups = findings.groups
    let durations = groups.map { findings[$0[0]].duration ?? .zero }
    let order = groups.indices.sorted { (durations[$1], $0) < (durations[$0], $1) }
    return (order.prefix(limit).map { findings.cause(of: groups[$0]) }, groups.count)
  }

  /// The kind of the first direct cause of an operation.
  func kind(of operation: Operation) -> Cause.Kind? { findings(of: [operation]).first?.kind }

  private func findings(of operations: [Operation]) -> [Finding] {
    operations.flatMap { operation in
      places[ObjectIdentifier(operation)].map { nodes[$0].findings } ?? []
    }
  }

  /// A cause that doesn't lead to another operation.
  struct Root {
    let cause: Cause
    /// The nodes with this cause.
    fileprivate let nodes: [Int]
    /// The age of the cause that a watch has seen; nil for other searches.
    var age: Duration?
  }

  /// Some root causes, and the number of all root causes.
  struct Roots {
    var roots: [Root]
    var count: Int
  }

  /// The root causes.
  ///
  /// Causes that don't end by themselves come first, then the nearer ones.
  ///
  /// - Parameters:
  ///   - limit: The number of causes, at most. With a limit, the search for a cycle covers the ways to these
  ///     causes and the nodes that reach no root cause. Otherwise it covers all nodes.
  ///   - size: Returns the number of operations that an operation represents. If it is given, causes come
  ///     first that have kept many operations for a long time, and operations that have finished are left out.
  ///   - select: Returns the age of each cause that is wanted; nil for all causes.
  /// - Returns: The causes, and the number of all causes.
  func roots(
    limit: Int,
    counting size: ((Operation) -> Int)? = nil,
    select: ([StuckCauses.Sighting]) -> [Duration?]? = { _ in nil }
  ) -> Roots {
    var found: [(node: Int, finding: Finding)] = []
    for (index, node) in nodes.enumerated() {
      for finding in node.findings where finding.next.isEmpty {
        if size == nil || !finding.isOver { found.append((index, finding)) }
      }
    }
    let findings = found.map(\.finding)
    var groups = sorted(findings.groups, of: found, size.map { loads($0) }, limit: limit)
    let ends = groups.prefix(limit).map { found[$0[0]].node }
    var cycle = cycle(near: limit < .max ? ends : nil)
    if let members = (cycle?.cause.involved).map(Set.init), !members.isEmpty {
      // Adding a member of a cycle to a queue doesn't end the cycle, so that cause is left out.
      groups = groups.compactMap { group in
        let left = group.filter { number in
          let (node, finding) = found[number]
          return finding.kind != .notEnqueued || !members.contains(nodes[node].operation)
        }
        return left.isEmpty ? nil : left
      }
    }
    var ages = [Duration?](repeating: nil, count: groups.count)
    if let selection = select(groups.map { StuckCauses.Sighting(findings[$0[0]]) }) {
      // A selection leaves out cycles, because the library ends cycles when they begin.
      cycle = nil
      let selected = zip(groups, selection).filter { $1 != nil }
      groups = selected.map(\.0)
      ages = selected.map(\.1)
    }
    let others = zip(groups, ages).prefix(cycle == nil ? limit : max(limit - 1, 0)).map {
      Root(cause: findings.cause(of: $0), nodes: $0.map { found[$0].node }, age: $1)
    }
    let count = groups.count + (cycle == nil ? 0 : 1)
    return Roots(roots: (cycle.map { [$0] } ?? []) + others, count: count)
  }

  /// Sorts groups of findings.
  ///
  /// - Parameters:
  ///   - groups: The groups, as indices of the findings.
  ///   - found: The findings and their nodes.
  ///   - loads: The number of operations that lead to each node. If it is nil, groups whose causes don't end by
  ///     themselves come first. Otherwise the groups come first for which operations have lost most time.
  ///   - limit: The number of groups that are shown. The second half of them are the oldest of the others.
  /// - Returns: The sorted groups.
  private func sorted(
    _ groups: [[Int]],
    of found: [(node: Int, finding: Finding)],
    _ loads: [Int]?,
    limit: Int
  ) -> [[Int]] {
    let firsts = groups.map { found[$0[0]].finding }
    let ranks = firsts.map { $0.endsInTime ? -1 : $0.kind.traits.rank }
    guard let loads else {
      return groups.indices.sorted { (-ranks[$0], $0) < (-ranks[$1], $1) }.map { groups[$0] }
    }
    let counts = groups.map { group in group.reduce(0) { $0 + loads[found[$1].node] } }
    let ages = groups.map { $0.compactMap { found[$0].finding.duration }.max() }
    // A cause whose age isn't known may be as old as any other.
    let oldest = ages.compactMap(\.self).max() ?? .zero
    let losses = zip(counts, ages).map { Double($0) * (($1 ?? oldest) / .seconds(1)) }
    // An operation that waits for a thread of the pool is a victim of operations that block the threads.
    let isVictim = firsts.map { finding in
      finding.kind == .worker && finding.operation.homeQueue?.runsOnMainThread != true ? 1 : 0
    }
    var order = groups.indices.sorted {
      (isVictim[$0], -losses[$0], -counts[$0], -ranks[$0], $0)
        < (isVictim[$1], -losses[$1], -counts[$1], -ranks[$1], $1)
    }
    if order.count > limit {
      let half = (limit + 1) / 2
      let others = order.indices.dropFirst(half).sorted { one, other in
        func key(_ place: Int) -> (Int, Duration, Int, Int) {
          let group = order[place]
          let age = ages[group]
          return (isVictim[group], .zero - (age ?? oldest), age == nil ? 1 : 0, place)
        }
        return key(one) < key(other)
      }
      order = order.prefix(half) + others.map { order[$0] }
    }
    return order.map { groups[$0] }
  }

  /// The number of operations that lead to each node.
  ///
  /// Each operation is counted for one node, to which its first wait leads.
  ///
  /// - Complexity: O(v). The exact numbers of all nodes would take O(v · (v + e)).
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

  /// A search for the operations that lead to others, which can be used several times.
  ///
  /// - Complexity: O(v + e).
  var backwardSearch: BackwardSearch { BackwardSearch(nodes.map(\.next)) }

  /// The operations that wait, directly or indirectly, for operations with each root cause.
  ///
  /// - Parameters:
  ///   - roots: The root causes.
  ///   - operations: The operations from which those that wait are chosen.
  ///   - search: The ``backwardSearch``.
  /// - Returns: The operations for each root cause.
  func waiting(
    for roots: some Sequence<Root>,
    among operations: [Operation],
    _ search: BackwardSearch
  ) -> [[Operation]] {
    let members = operations.compactMap { places[ObjectIdentifier($0)] }
    return roots.map { root in
      var isReached = search.leading(to: root.nodes)
      for node in root.nodes { isReached[node] = false }
      return members.filter { isReached[$0] }.map { nodes[$0].operation }
    }
  }

  /// The way from a start of the search to a root cause, both included.
  func path(to root: Root) -> [Cause] {
    var path = [root.cause]
    var next = nodes[root.nodes[0]].parent
    while let (parent, finding) = next {
      path.append(nodes[parent].findings[finding].cause)
      next = nodes[parent].parent
    }
    return path.reversed()
  }

  /// The way to a root cause from the farthest operation, without the root cause.
  func longestWay(to root: Root, _ search: BackwardSearch) -> [Cause] {
    var way: [Cause] = []
    var steps = search.steps(to: root.nodes)
    while let (node, next) = steps.last, let next {
      if let finding = nodes[node].findings.first(where: { $0.next.contains(nodes[next].operation) }
      ) {
        way.append(finding.cause)
      }
      while let (other, _) = steps.last, other != next { steps.removeLast() }
    }
    return way
  }

  /// A cycle that keeps some of the operations from running, or from which the search reaches nothing else.
  ///
  /// - Parameter ends: Nodes. The search covers the ways to them, and the nodes that lead to no root cause;
  ///   nil to search all nodes.
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

  /// A cycle of operations each of which needs the next one.
  ///
  /// The operations may wait for other reasons as well, and some of them may not be in a queue yet.
  ///
  /// - Complexity: O(v + e).
  private func cycleOfNeeds(from starts: some Sequence<Int>) -> Root? {
    var outlook = WaitSearch()
    var seen: Set<Int> = []
    var attempts = 0
    for start in starts where attempts < 16 {
      // An operation that waits because of a cycle leads to an operation in the cycle.
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
      // The cycle is shorter to read if it keeps the operation from its start.
      let cycle =
        outlook.canHappen(.start(operation)) ? nil : WaitSearch.cycle(through: .start(operation))
      if let cycle = cycle ?? WaitSearch.cycle(through: .end(operation)) {
        return Root(cause: .cycle(cycle.operations), nodes: [last])
      }
    }
    return nil
  }

  /// A cycle; nil if the search reaches an end from every node.
  private func cycleOfFindings() -> Root? {
    let isFree = backwardSearch.leading(
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

/// A search for the nodes of a graph that lead to given nodes.
struct BackwardSearch {
  /// The sources of the edges to each node.
  ///
  /// The sources for one node are between its start and the next start.
  private var sources: [Int]
  private var starts: [Int]

  /// - Complexity: O(v + e), and each search as well.
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

  /// The given nodes and the nodes that lead to them, the nearest first, each with the next node on its way.
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

  /// Returns for each node whether it is one of the given nodes or leads to one.
  func leading(to ends: [Int]) -> [Bool] {
    var isReached = [Bool](repeating: false, count: starts.count - 1)
    for step in steps(to: ends) { isReached[step.node] = true }
    return isReached
  }
}

extension OperationExplanation.Cause {
  /// The cause of the operations in a cycle.
  ///
  /// - Parameter members: The operations in the order of the cycle; the first operation is repeated as the
  ///   last element.
  /// - Returns: The cause, for the first operation.
  static func cycle(_ members: [Operation]) -> Self {
    let names = members.map(\.label)
    let path = names.joined(separator: " → ")
    // If some members aren't in a queue, adding them would only end in a cancel. A wait has to be removed
    // instead.
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
  /// The names of the first few operations, and the number of the others.
  var names: String {
    let text = prefix(4).map(\.label).joined(separator: ", ")
    return count > 4 ? "\(text) and \(count - 4) more" : text
  }

  /// The names like ``names``, with "and" before the last one.
  var enumeration: String {
    guard (2...4).contains(count) else { return names }
    return "\(Array(dropLast()).names) and \(self[count - 1].label)"
  }

  /// The number of operations and a verb, such as “2 wait”.
  var countThatWait: String { "\(count) \(count == 1 ? "waits" : "wait")" }

  /// The number and the names of the operations that wait, in parentheses; empty if there are none.
  var thatWait: String { isEmpty ? "" : " (\(countThatWait): \(names))" }
}

extension [String] {
  /// The first few strings, and the number of the others.
  package var briefList: String {
    let text = prefix(4).joined(separator: ", ")
    return count > 4 ? "\(text) and \(count - 4) more" : text
  }
}
