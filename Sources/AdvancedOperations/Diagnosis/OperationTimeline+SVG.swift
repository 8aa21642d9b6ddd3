extension OperationTimeline {
  /// The timeline as a picture: an SVG file that needs nothing else.
  ///
  /// One row for each operation, in the order of their starts, children below their group. Bars are
  /// the time of executing, in the colour of the outcome; a red line across one is the end of an
  /// attempt that was followed by another one, or dashed where the operation ended in the delay
  /// after it; the thin part before is waiting. A diamond is the end of an operation that never
  /// executed. The critical path is bold and its bars are framed; the dashed line behind a bar is
  /// how much longer it could have taken. The legend shows the marks that occur.
  ///
  /// A name for which there is no room is cut in its middle; a pointer over it shows it whole. A
  /// pointer over a bar shows what went wrong, what was waited for and for how long. The picture is
  /// dark where its reader prefers that.
  ///
  /// A timeline of more than 2,500 operations is drawn with so many rows, which is as high as
  /// readers of pictures can draw: those of the critical path, then those that failed, in half of
  /// the rows at most, then those that took longest, each below its groups. The picture says how
  /// many are left out; ``chromeTrace`` has all of them.
  ///
  /// - Complexity: O(n log n + e), n the number of operations and e that of their dependencies. Of
  ///   100,000 operations it takes about a second in release, and has 2 MB.
  public var svg: String { picture(rows: TimelineRows.most) }

  /// The same with another number of rows at most.
  package func picture(rows: Int) -> String {
    var drawing = TimelineDrawing(self, rows: rows)
    return drawing.text()
  }

  /// What a pointer over a bar shows.
  func summary(of index: Int) -> String {
    let span = spans[index]
    var lines = ["\(span.name): \(span.outcome?.status.rawValue ?? "going on")"]
    if let reason = span.outcome?.briefReason { lines.append(reason) }
    for phase in phases(of: index) {
      let what: String =
        switch phase.kind {
        case .dependencies: "waited for dependencies for"
        case .conditions where span.asksOnlyJournal: "asked its journal for"
        case .conditions: "asked conditions for"
        case .turn where span.claims.isEmpty: "waited for its turn for"
        case .turn:
          "waited for its turn (\(span.claims.map { "“\($0)”" }.briefList) or a slot) for"
        }
      lines.append("\(what) \((phase.end - phase.begin).readable)")
    }
    if !span.retries.isEmpty {
      let times = span.retries.count == 1 ? "once" : "\(span.retries.count) times"
      lines.append("tried again \(times)")
    }
    if span.lastFailedAttempt != nil { lines.append("ended in the delay after a failed attempt") }
    if let executed = span.executed { lines.append("executed for \(executed.readable)") }
    return lines.joined(separator: "\n")
  }
}

extension OperationOutcome {
  /// Why it isn't a success, on one line that a picture has room for; nil if there is no more to
  /// say.
  ///
  /// What was inherited is only named: its own row has the error, and a long chain of failures is
  /// not gone through for each of its operations.
  fileprivate var briefReason: String? {
    let text: String
    switch self {
    case .succeeded: return nil
    case .skipped(let reason): text = reason.inOneLine
    case .failed(let failure), .cancelled(let failure):
      guard let first = failure.elements.first else { return nil }
      text = failure.isInherited ? "because of \(first.origin)" : failure.summary(limit: 1)
    }
    return text.count > 160 ? text.prefix(159) + "…" : text
  }
}

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
