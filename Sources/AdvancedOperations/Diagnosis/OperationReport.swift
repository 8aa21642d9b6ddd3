import CoreOperations

/// The text about all operations of some queues: root causes first, then counts, then lists that are cut.
struct OperationReport {
  /// The numbers of root causes, of queues, and of causes in each queue that get a line.
  private static let limits = (roots: 6, queues: 8, causes: 4)

  /// The queues of the operations; a child belongs to the queue of its outermost group.
  private let queueCount: Int
  /// Of the members that wait alike, only the first is explained.
  private let groups: [MemberGroup]
  private let membersOfFirst: [ObjectIdentifier: [Operation]]
  private let search: ExplanationSearch

  /// - Complexity: O(v + e), v the number of operations in the queues and in the way of these, and e the
  ///   number of their waits.
  init(of queues: [OperationQueue], showsErrors: Bool) {
    groups = queues.flatMap(\.membersByWait)
    queueCount = Set(groups.map { ObjectIdentifier(Self.queue(of: $0)) }).count
    membersOfFirst = Dictionary(
      groups.filter { $0.operations.count > 1 }.map { (ObjectIdentifier($0.first), $0.operations) },
      uniquingKeysWith: { first, _ in first }
    )
    search = ExplanationSearch(
      from: groups.map(\.first),
      completing: Set(groups.filter(\.runsCompletionBlock).map { ObjectIdentifier($0.first) }),
      showsErrors: showsErrors
    )
  }

  /// The queue in which a group of members is listed.
  private static func queue(of group: MemberGroup) -> OperationQueue {
    group.first.homeQueue ?? group.queue
  }

  /// The operation and all operations that wait like it.
  private func members(of operation: Operation) -> [Operation] {
    membersOfFirst[ObjectIdentifier(operation)] ?? [operation]
  }

  private func expanded(_ cause: OperationExplanation.Cause) -> OperationExplanation.Cause {
    var cause = cause
    cause.operations = cause.operations.flatMap(members)
    return cause
  }

  var text: String {
    let count = groups.reduce(0) { $0 + $1.operations.count }
    let head = "\(counted(count, "operation")) in \(counted(queueCount, "queue"))"
    if groups.isEmpty {
      return head + "; queues that were created before the recording began aren't counted"
    }
    return ([head] + rootLines() + [kindLine] + queueLines).textOfReport
  }

  /// The root causes that a watch reports now; nil if there are none.
  func text(ofDue stuck: inout StuckCauses, at now: Duration) -> String? {
    let lines = rootLines { stuck.seen($0, at: now) }
    let limit = stuck.limit.readable
    return lines.isEmpty ? nil : (["stuck for \(limit) or longer:"] + lines).textOfReport
  }

  /// Lines for the causes that keep most operations, and for the remedies.
  private func rootLines(
    _ select: ([StuckCauses.Sighting]) -> [Duration?]? = { _ in nil }
  ) -> [String] {
    let firsts = groups.map(\.first)
    let found = search.roots(
      limit: Self.limits.roots,
      counting: { members(of: $0).count },
      select: select
    )
    var lines: [String] = []
    var shown: [[Operation]] = []
    let backward = search.backwardSearch
    let waiting = search.waiting(for: found.roots, among: firsts, backward)
    for (root, firsts) in zip(found.roots, waiting) {
      let waiting = firsts.flatMap(members)
      // Operations that use up a limit all keep the same others.
      let isShown = !firsts.isEmpty && shown.contains(firsts)
      var line = "  \(expanded(root.cause).line(seenFrom: nil, namesQueue: true))"
      if let age = root.age, root.cause.duration == nil {
        line += ", for at least \(age.readable)"
      }
      lines.append(line + (isShown ? " (the same \(waiting.countThatWait))" : waiting.thatWait))
      if isShown { continue }
      shown.append(firsts)
      let way = search.longestWay(to: root, backward)
      lines += way.prefix(2).map { "    \($0)" }
      if way.count > 4 { lines.append("    … \(way.count - 4) more …") }
      lines += way.dropFirst(2).suffix(2).map { "    \($0)" }
    }
    let rest = found.count - found.roots.count
    if rest > 0 { lines.append("  … and \(counted(rest, "more root cause"))") }
    return lines + found.roots.neededLine
  }

  /// The number of operations of each kind of cause.
  private var kindLine: String {
    var counts: [OperationExplanation.Cause.Kind: Int] = [:]
    for group in groups {
      guard let kind = search.kind(of: group.first) else { continue }
      counts[kind, default: 0] += group.operations.count
    }
    let sorted = counts.sorted { (-$0.value, "\($0.key)") < (-$1.value, "\($1.key)") }
    return "causes: " + sorted.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }

  /// The causes of the operations of each queue, the longest first; children belong to the queue of their
  /// outermost group.
  private var queueLines: [String] {
    let queues = Dictionary(grouping: groups.indices) { index in
      ObjectIdentifier(Self.queue(of: groups[index]))
    }
    let sorted = queues.values.map { ($0, $0.reduce(0) { $0 + groups[$1].operations.count }) }
      .sorted { (-$0.1, $0.0[0]) < (-$1.1, $1.0[0]) }
    var lines: [String] = []
    for (indices, count) in sorted.prefix(Self.limits.queues) {
      let firsts = indices.map { groups[$0].first }
      let queue = Self.queue(of: groups[indices[0]])
      lines.append("\(queue.heading): \(counted(count, "operation"))")
      let (causes, causeCount) = search.longestCauses(of: firsts, limit: Self.limits.causes)
      lines += causes.map { "  \(expanded($0).line(seenFrom: queue))" }
      let rest = causeCount - causes.count
      if rest > 0 { lines.append("  … and \(counted(rest, "more cause"))") }
    }
    let rest = sorted.count - Self.limits.queues
    return rest > 0 ? lines + ["… and \(counted(rest, "more queue"))"] : lines
  }
}

extension [String] {
  /// The lines as one text.
  ///
  /// Names can't add lines, clear a terminal or fill a log.
  fileprivate var textOfReport: String {
    map { line in
      var text = ""
      for (count, scalar) in line.unicodeScalars.enumerated() {
        if count == 600 { return text + "…" }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: text += scalar.escaped(asASCII: true)
        // Marks that change the direction of the text.
        case .format where scalar.properties.isBidiControl: text += scalar.escaped(asASCII: true)
        default: text.unicodeScalars.append(scalar)
        }
      }
      return text
    }
    .joined(separator: "\n")
  }
}
