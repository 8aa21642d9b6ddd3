import AdvancedOperations

extension OperationTimeline {
  /// The chain of operations that takes the most time, where each operation depends on the previous one.
  ///
  /// The time of a chain includes execution and the evaluation of conditions, without waits for slots and
  /// claims. The chain begins and ends with operations that took some time. A chain contains the children of
  /// a group, and the group itself only if its conditions took some time.
  public var criticalPath: [Int] { ways.criticalPath }

  /// The time by which each operation could have been longer without making the critical path longer.
  ///
  /// Slack doesn't consider limits and claims: an operation that waits for the slot or the claim of a longer
  /// operation waits longer, too.
  public var slack: [Duration] { ways.slack }

  // MARK: Pieces of work

  /// The operations that have children.
  private var groups: Set<Int> { Set(spans.compactMap(\.group)) }

  /// The time in which each operation executed; zero for a group, which only waits for its children.
  var durations: [Duration] {
    let groups = groups
    return spans.enumerated().map { index, span in
      groups.contains(index) ? .zero : span.executionDuration(until: end) ?? .zero
    }
  }

  /// The operations for which each operation waited before it executed, including those for which its groups
  /// waited.
  var waitsBeforeStart: [[Int]] {
    let own = spans.map { span -> [Int] in
      // An operation doesn't wait for a dependency that is added after its start. A cancelled operation
      // doesn't wait.
      guard let over = span.started ?? span.cancelled ?? span.ended else {
        return span.dependencies
      }
      return span.dependencies.filter { (spans[$0].ended ?? end) <= over }
    }
    return spans.indices.map { index in own[index] + groups(of: index).flatMap { own[$0] } }
  }

  /// Adds the children of a group to its predecessors, because a group ends with its children.
  func addChildren(to predecessors: inout [[Int]]) {
    for (index, span) in spans.enumerated() {
      if let group = span.group { predecessors[group].append(index) }
    }
  }

  /// Returns the groups around an operation, from the inside out.
  private func groups(of index: Int) -> [Int] {
    var groups: [Int] = []
    var ancestor = spans[index].group
    while let group = ancestor, groups.count < spans.count {
      groups.append(group)
      ancestor = spans[group].group
    }
    return groups
  }

  /// The paths through a plan in which the evaluation of conditions is a separate piece of work.
  ///
  /// This piece is before the piece of the operation, or before the pieces of the group's children.
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

/// The paths through a timeline, calculated once for several values.
struct TimelineWays {
  /// The plan with the pieces of the operations, followed by the pieces of their conditions.
  fileprivate let plan: OperationPlan
  /// The operation of each piece.
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

  /// The duration of the critical path, including the evaluation of its conditions.
  var criticalDuration: Duration { plan.criticalDuration }

  /// See ``OperationTimeline/slack``.
  var slack: [Duration] { Array(plan.slack.prefix(spanCount)) }
}
