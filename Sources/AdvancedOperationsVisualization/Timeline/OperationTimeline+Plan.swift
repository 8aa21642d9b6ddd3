import AdvancedOperations

extension OperationTimeline {
  /// The longest chain of operations that depend on each other, first to last.
  ///
  /// The length of a chain counts executing and the evaluation of conditions, without waits for slots and
  /// claims. The chain begins and ends with operations that took some time. It has the children of a group,
  /// and the group itself only if its conditions took some time.
  public var criticalPath: [Int] { ways.criticalPath }

  /// The time by which each operation could have been longer without making the critical path longer.
  ///
  /// Slack doesn't know limits and claims: an operation that waits for the slot or the claim of a longer
  /// operation waits longer, too.
  public var slack: [Duration] { ways.slack }

  // MARK: Pieces of work

  /// The operations that others are children of.
  private var groups: Set<Int> { Set(spans.compactMap(\.group)) }

  /// How long each operation executed; nothing for a group, which does nothing itself.
  var durations: [Duration] {
    let groups = groups
    return spans.enumerated().map { index, span in
      groups.contains(index) ? .zero : span.executionDuration(until: end) ?? .zero
    }
  }

  /// For each operation what it waited for before it executed, and its groups with it.
  var waitsBeforeStart: [[Int]] {
    let own = spans.map { span -> [Int] in
      // One that was added after the start was only recorded.
      // What is cancelled waits no more.
      guard let over = span.started ?? span.cancelled ?? span.ended else {
        return span.dependencies
      }
      return span.dependencies.filter { (spans[$0].ended ?? end) <= over }
    }
    return spans.indices.map { index in own[index] + groups(of: index).flatMap { own[$0] } }
  }

  /// A group ends with its children.
  func addChildren(to predecessors: inout [[Int]]) {
    for (index, span) in spans.enumerated() {
      if let group = span.group { predecessors[group].append(index) }
    }
  }

  /// The groups around an operation, from the inside out.
  private func groups(of index: Int) -> [Int] {
    var groups: [Int] = []
    var ancestor = spans[index].group
    while let group = ancestor, groups.count < spans.count {
      groups.append(group)
      ancestor = spans[group].group
    }
    return groups
  }

  /// The ways through a plan in which asking conditions is a piece of work of its own, before that
  /// of the operation or of the children of the group.
  var ways: TimelineWays {
    var durations = durations
    var predecessors = waitsBeforeStart
    var owners = Array(spans.indices)
    var asking: [Int: Int] = [:]
    for index in spans.indices {
      let time = phases(of: index).filter { $0.kind == .conditions }
        .reduce(Duration.zero) { $0.saturatingAdding($1.end.saturatingSubtracting($1.begin)) }
      guard time > .zero else { continue }
      asking[index] = durations.count
      durations.append(time)
      owners.append(index)
      predecessors.append(predecessors[index])
      predecessors[index] = [durations.count - 1]
    }
    if !asking.isEmpty {
      for index in spans.indices {
        predecessors[asking[index] ?? index] += groups(of: index).compactMap { asking[$0] }
      }
    }
    addChildren(to: &predecessors)
    return TimelineWays(
      plan: OperationPlan(durations: durations, predecessors: predecessors),
      owners: owners,
      groups: groups,
      spanCount: spans.count
    )
  }
}

/// The ways through a timeline, calculated once for all that is asked of them.
struct TimelineWays {
  /// The pieces of the operations, and then those of their conditions.
  fileprivate let plan: OperationPlan
  /// The operation that each piece is of.
  fileprivate let owners: [Int]
  fileprivate let groups: Set<Int>
  fileprivate let spanCount: Int

  /// See ``OperationTimeline/criticalPath``.
  var criticalPath: [Int] {
    let pieces = plan.criticalPath
    func takesTime(_ piece: Int) -> Bool { plan.durations[piece] > .zero }
    guard let first = pieces.firstIndex(where: takesTime),
      let last = pieces.lastIndex(where: takesTime)
    else { return [] }
    var path: [Int] = []
    for piece in pieces[first...last] where takesTime(piece) || !groups.contains(owners[piece]) {
      if path.last != owners[piece] { path.append(owners[piece]) }
    }
    return path
  }

  /// How long the critical path takes, with the time in which its conditions were asked.
  var criticalDuration: Duration { plan.criticalDuration }

  /// See ``OperationTimeline/slack``.
  var slack: [Duration] { Array(plan.slack.prefix(spanCount)) }
}
