/// The rows of a timeline's picture: all operations, or those that say most of many.
struct TimelineRows {
  /// As many as a picture has that readers can draw and people can read.
  static let most = 2_500

  /// What each row shows, from the top, and how many groups it is in.
  let rows: [(index: Int, depth: Int)]
  /// How many operations have no row.
  let leftOut: Int

  /// - Parameters:
  ///   - timeline: The timeline.
  ///   - critical: The indices of its critical path.
  ///   - limit: How many rows there may be.
  init(_ timeline: OperationTimeline, critical: [Int], limit: Int) {
    let all = Self.all(of: timeline)
    guard all.count > limit else {
      rows = all
      leftOut = 0
      return
    }
    let chosen = Self.choice(of: timeline, critical: Set(critical), limit: limit)
    rows = all.filter { chosen.contains($0.index) }
    leftOut = all.count - rows.count
  }

  /// In the order of their starts, children below their group.
  private static func all(of timeline: OperationTimeline) -> [(index: Int, depth: Int)] {
    let spans = timeline.spans
    func time(_ index: Int) -> Duration {
      let span = spans[index]
      return span.started ?? span.ended ?? span.enqueued ?? timeline.end
    }
    let order = spans.indices.sorted { (time($0), $0) < (time($1), $1) }
    var children: [Int: [Int]] = [:]
    for index in order {
      if let group = spans[index].group { children[group, default: []].append(index) }
    }
    var stack: [(index: Int, depth: Int)] = order.filter { spans[$0].group == nil }
      .reversed().map { ($0, 0) }
    var rows: [(index: Int, depth: Int)] = []
    while let row = stack.popLast() {
      rows.append(row)
      for child in (children[row.index] ?? []).reversed() { stack.append((child, row.depth + 1)) }
    }
    return rows
  }

  /// The critical path first, then what failed by itself, in no more than half of the rows, then
  /// what took longest; each with its groups, as long as there is room for all of them.
  private static func choice(
    of timeline: OperationTimeline,
    critical: Set<Int>,
    limit: Int
  ) -> Set<Int> {
    let spans = timeline.spans
    var chosen: Set<Int> = []
    func choose(_ candidates: [Int], upTo limit: Int) {
      for candidate in candidates where chosen.count < limit {
        var way: [Int] = []
        var next: Int? = candidate
        while let index = next, !chosen.contains(index), chosen.count + way.count <= limit {
          way.append(index)
          next = spans[index].group
        }
        if chosen.count + way.count <= limit { chosen.formUnion(way) }
      }
    }
    let times = spans.map { $0.executed(until: timeline.end) ?? .zero }
    let longestFirst = spans.indices.sorted { (times[$1], $0) < (times[$0], $1) }
    let failed = longestFirst.filter { index in
      spans[index].outcome.map { $0.isFailed && !$0.isInherited } ?? false
    }
    choose(longestFirst.filter(critical.contains), upTo: limit)
    choose(failed, upTo: min(chosen.count + max(limit / 2, 1), limit))
    choose(longestFirst, upTo: limit)
    return chosen
  }
}
