import AdvancedOperations
import CoreOperations

/// A drawing of a timeline.
struct TimelineDrawing {
  private static let width = 1080.0
  private static let rowHeight = 20.0
  /// The height at which the chart begins below a legend of one line.
  private static let leastTop = 76.0
  private static let rightMargin = 72.0
  /// The allowed widths of the names, up to a third of the picture.
  private static let widths = 98.0...350.0
  private static let fontSize = 12.0
  /// The least width of a bar, because a narrower bar is only a frame without the color of the outcome.
  private static let leastBar = 4.0
  /// The greatest height of a picture, because several viewers draw no higher picture than 32,767.
  ///
  /// A higher picture is scaled down, and can still be read.
  private static let mostHeight = 32_000.0
  private static let leastScale = 0.6

  private let timeline: OperationTimeline
  private let rows: [(index: Int, depth: Int)]
  /// The number of operations without a row.
  private let leftOut: Int
  private let left: Double
  private let critical: [Int]
  private let criticalDuration: Duration
  // Stored, because the timeline computes the values from all of its spans.
  private let begin: Duration
  private let duration: Duration
  private let slack: [Duration]
  private var legend: TimelineLegend?
  private var elements = PictureElements()

  init(_ timeline: OperationTimeline, rows limit: Int) {
    self.timeline = timeline
    let ways = timeline.ways
    critical = ways.criticalPath
    criticalDuration = ways.criticalDuration
    let rows = TimelineRows(timeline, critical: critical, limit: limit)
    self.rows = rows.rows
    leftOut = rows.leftOut
    begin = timeline.begin
    duration = timeline.duration
    slack = ways.slack
    let isCritical = Set(critical)
    var widest = 0.0
    for row in rows.rows where widest < Self.widths.upperBound {
      let name = timeline.spans[row.index].name.prefix(80)
      let isBold = isCritical.contains(row.index)
      let width = PictureText.width(of: name, size: Self.fontSize, isBold: isBold)
      widest = max(widest, Self.indent(row.depth) + width)
    }
    left = min(max(widest + 16, Self.widths.lowerBound), Self.widths.upperBound)
    legend = TimelineLegend(marks, width: Self.width - 24)
  }

  private var top: Double {
    Self.leastTop + (legend?.extraHeight ?? 0) + (leftOut > 0 ? 18 : 0)
  }
  private var height: Double { top + Self.rowHeight * Double(rows.count) + 28 }
  private var scale: Double {
    (Self.width - left - Self.rightMargin) / max(duration.inSeconds, 1e-9)
  }

  private func x(_ time: Duration) -> Double {
    left + time.saturatingSubtracting(begin).inSeconds * scale
  }
  private func y(_ row: Int) -> Double { top + Self.rowHeight * Double(row) }

  mutating func text() -> String {
    header()
    axis()
    var places: [Int: Int] = [:]
    for (row, entry) in rows.enumerated() { places[entry.index] = row }
    let isCritical = Set(critical)
    names(isCritical)
    for (row, entry) in rows.enumerated() {
      bars(row, entry.index, isCritical: isCritical.contains(entry.index))
    }
    for (from, to) in zip(critical, critical.dropFirst()) {
      guard let fromRow = places[from], let toRow = places[to] else { continue }
      connect(from, fromRow, to, toRow)
    }
    let scale = min(max(Self.mostHeight / height, Self.leastScale), 1)
    return elements.document(
      (Self.width, height),
      scale: scale,
      of: "operation-timeline",
      fontSize: Self.fontSize,
      head: Self.style
    )
  }

  /// The style for a dark page.
  ///
  /// A viewer that ignores the color scheme shows the colors of the elements. Because of the class, the rules
  /// don't apply to other pictures of a page.
  private static let style = """
    <style>
    @media (prefers-color-scheme: dark) {
    .operation-timeline text { fill: #e6edf3 }
    .operation-timeline .paper { fill: #0d1117 }
    .operation-timeline .band { fill: #161b22 }
    .operation-timeline .dependencies { fill: #57606a }
    .operation-timeline .grid { stroke: #30363d }
    .operation-timeline .muted { fill: #9198a1 }
    .operation-timeline .inside { fill: #1f2328 }
    .operation-timeline .slack { stroke: #9198a1 }
    .operation-timeline .critical { stroke: #ff7b72 }
    }
    </style>
    """

  // MARK: Parts

  private mutating func header() {
    let count = timeline.spans.count
    var title = counted(count, "operation")
    if count > 0 {
      title +=
        " in \(duration.readable) · work \(timeline.plan.work.readable)"
        + " · critical path \(criticalDuration.readable)"
    }
    if timeline.unrecordedCount > 0 { title += " · \(timeline.unrecordedCount) not recorded" }
    elements.label(title, 24, 24, " font-size=\"15\" font-weight=\"bold\"")
    if leftOut > 0 {
      let text =
        "\(rows.count) operations are drawn: the critical path, failed operations, and the longest."
        + " \(leftOut) more are left out."
      elements.label(text, 24, 46, " font-size=\"12\"")
    }
    legend?.draw(into: &elements, baseline: leftOut > 0 ? 66 : 48)
  }

  /// The marks that occur in the chart.
  private var marks: Set<TimelineLegend.Mark> {
    var marks: Set<TimelineLegend.Mark> = []
    let isCritical = Set(critical)
    for (index, _) in rows {
      let span = timeline.spans[index]
      for phase in timeline.phases(of: index) { marks.insert(.wait(phase.kind)) }
      if !span.retries.isEmpty, span.started != nil { marks.insert(.retry) }
      if span.lastFailedAttempt != nil, span.started != nil { marks.insert(.failedAttempt) }
      if isCritical.contains(index) { marks.insert(.critical) }
      if let bar = bar(of: index) {
        marks.insert(.bar(OperationStatus(.executing, span.outcome)))
        if bar.slack != nil { marks.insert(.slack) }
      } else if span.ended != nil {
        marks.formUnion([.diamond, .bar(OperationStatus(.finishing, span.outcome))])
      }
    }
    return marks
  }

  private mutating func axis() {
    if rows.isEmpty { return }
    let bottom = top + Self.rowHeight * Double(rows.count)
    let step = Self.step(for: duration)
    // A reader of many rows begins at the top, so the labels are there, too.
    let places = [bottom + 16] + (rows.count > 30 ? [top - 8] : [])
    for tick in 0...10 {
      let time = step.saturatingMultiplied(by: tick)
      if time > duration { return }
      let x = x(begin.saturatingAdding(time))
      elements.line((x, top - 4), (x, bottom), "#e4e4e4", " class=\"grid\"")
      let text = time == .zero ? "0" : time.readable
      let style = " class=\"muted\" font-size=\"11\" fill=\"#555555\" text-anchor=\"middle\""
      for y in places { elements.label(text, x, y, style) }
    }
  }

  /// Adds the column of names as a separate picture, so that no name reaches into the chart, with any font.
  private mutating func names(_ isCritical: Set<Int>) {
    let width = left - 8
    elements.add(
      "<svg width=\"\(PictureElements.number(width))\""
        + " height=\"\(PictureElements.number(height))\" overflow=\"hidden\">"
    )
    for (row, entry) in rows.enumerated() {
      let y = y(row)
      if row % 2 == 1 {
        elements.rectangle(0, y, width, Self.rowHeight, "#f6f6f6", " class=\"band\"")
      }
      let name = timeline.spans[entry.index].name
      // Some viewers draw a line break as a space, others draw nothing.
      let line = name.inOneLine
      let isBold = isCritical.contains(entry.index)
      let indent = Self.indent(entry.depth)
      let size = Self.fontSize
      let text = PictureText.fitted(line, width: width - indent, size: size, isBold: isBold)
      if text != name { elements.add("<g><title>\(PictureElements.escaped(name))</title>") }
      elements.label(text, indent, y + 14, isBold ? " font-weight=\"bold\"" : "")
      if text != name { elements.add("</g>") }
    }
    elements.add("</svg>")
  }

  /// The bar of an operation that executed.
  private struct Bar {
    let begin: Double
    let width: Double
    /// The duration of executing, which is written in the bar if it fits, otherwise after the bar.
    let text: String
    let isTextInside: Bool
    /// The part of the slack that is visible.
    var slack: (begin: Double, end: Double)?
  }

  private func bar(of index: Int) -> Bar? {
    let span = timeline.spans[index]
    guard let started = span.started else { return nil }
    let (begin, end) = (x(started), x(span.ended ?? timeline.end))
    let width = max(end - begin, Self.leastBar)
    let text = (span.executionDuration(until: timeline.end) ?? .zero).readable
    let room = PictureText.width(of: text, size: 10) + 6
    var bar = Bar(begin: begin, width: width, text: text, isTextInside: width > room)
    let free = begin + width + (bar.isTextInside ? 0 : room)
    let until = min(end + slack[index].inSeconds * scale, Self.width - Self.rightMargin)
    if until > free + 1 { bar.slack = (free, until) }
    return bar
  }

  private mutating func bars(_ row: Int, _ index: Int, isCritical: Bool) {
    let span = timeline.spans[index]
    let y = y(row)
    elements.add("<g><title>\(PictureElements.escaped(timeline.summary(of: index)))</title>")
    for phase in timeline.phases(of: index) {
      let begin = x(phase.begin)
      elements.wait(phase.kind, begin, y + 8, max(x(phase.end) - begin, 1))
    }
    if let bar = bar(of: index) {
      let color = OperationStatus(.executing, span.outcome).color
      let frame = isCritical ? PictureElements.criticalFrame : PictureElements.plainFrame
      elements.rectangle(bar.begin, y + 3, bar.width, 14, color, frame + " rx=\"2\"")
      for retry in span.retries { elements.failure(x(retry), y + 3, y + 17, isFollowed: true) }
      if let failed = span.lastFailedAttempt {
        elements.failure(x(failed), y + 3, y + 17, isFollowed: false)
      }
      let place = bar.isTextInside ? bar.begin + 4 : bar.begin + bar.width + 4
      let style = " font-size=\"10\" fill=\"#222222\""
      elements.label(bar.text, place, y + 14, (bar.isTextInside ? " class=\"inside\"" : "") + style)
      if let slack = bar.slack {
        elements.slack(slack.begin, slack.end, y + 10)
      }
    } else if let ended = span.ended {
      let color = OperationStatus(.finishing, span.outcome).color
      elements.diamond(x(ended), y + 4, color)
    }
    elements.add("</g>")
  }

  private mutating func connect(_ from: Int, _ fromRow: Int, _ to: Int, _ toRow: Int) {
    let (from, to) = (timeline.spans[from], timeline.spans[to])
    guard let end = from.ended, let begin = to.started ?? to.ended else { return }
    // The line follows the edge of the row, because the duration of a short bar is after the bar.
    let isDown = toRow > fromRow
    let edge = y(fromRow) + (isDown ? 19 : 1)
    let points = [
      (x(end) - 1, y(fromRow) + (isDown ? 17 : 3)), (x(end) - 1, edge), (x(begin) - 5, edge),
      (x(begin) - 5, y(toRow) + 10), (x(begin), y(toRow) + 10),
    ]
    let path = points.map { "\(PictureElements.number($0.0)),\(PictureElements.number($0.1))" }
      .joined(separator: " ")
    elements.add(
      "<polyline class=\"critical\" points=\"\(path)\" fill=\"none\" stroke=\"#a01010\""
        + " stroke-width=\"1.2\"/>"
    )
  }

  // MARK: Values

  private static func indent(_ depth: Int) -> Double { 12 + 12 * Double(min(depth, 6)) }

  /// Returns a distance that results in at most ten ticks.
  ///
  /// The distance begins with 1, 2 or 5; from a second to a day, it divides a minute, an hour or a day.
  static func step(for duration: Duration) -> Duration {
    let tenth = duration.clamped / 10
    let wanted = max(tenth.wholeNanoseconds, 1)
    if wanted <= 1_000_000_000 { return .nanoseconds(round(wanted)) }
    let seconds: [Int64] = [
      2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200,
    ]
    if let step = seconds.first(where: { $0 * 1_000_000_000 >= wanted }) { return .seconds(step) }
    return .seconds(round((tenth.components.seconds + 86_399) / 86_400) * 86_400)
  }

  /// Returns the least of 1, 2, 5, 10, 20, 50 and so on that isn't less than a number.
  private static func round(_ number: Int64) -> Int64 {
    var power: Int64 = 1
    while power * 5 < number { power *= 10 }
    return [1, 2, 5].lazy.map { $0 * power }.first { $0 >= number } ?? power * 5
  }
}

extension OperationTimeline {
  /// Returns the timeline as a picture: an SVG document that needs no other file.
  ///
  /// The picture has a row for each operation, in the order of their starts; children are below their group.
  /// A bar is the time of executing, in the color of the outcome. The thin part before a bar is waiting. A
  /// red line in a bar is the end of an attempt that was retried; the line is dashed if the operation ended
  /// in the delay after that attempt. A diamond is the end of an operation that never executed. Names on the
  /// critical path are bold, and their bars have a frame. The dashed line behind a bar is its slack. The
  /// legend explains the marks that occur.
  ///
  /// A name that is too long is cut in its middle, and a pointer over it shows the whole name. A pointer over
  /// a bar shows the errors of the operation, and the causes and durations of its waits. The picture is dark
  /// if its viewer prefers dark colors.
  ///
  /// The picture has at most 2,500 rows, because viewers draw no higher pictures. A picture keeps the
  /// operations of the critical path, then failed operations in at most half of the rows, then the longest
  /// operations. Each operation is below its groups. The heading reports the number of operations that are
  /// left out; ``chromeTrace()`` contains all operations.
  ///
  /// - Returns: A document of the Scalable Vector Graphics format.
  /// - Complexity: O(n log n + e), n the number of operations and e the number of their dependencies. A
  ///   picture of 100,000 operations takes about a second in release, and has 2 MB.
  public func svg() -> String { picture(rows: TimelineRows.most) }

  /// Returns the timeline as a picture with another limit of rows.
  package func picture(rows: Int) -> String {
    var drawing = TimelineDrawing(self, rows: rows)
    return drawing.text()
  }

  /// Returns the text that a pointer over a bar shows.
  func summary(of index: Int) -> String {
    let span = spans[index]
    var lines = ["\(span.name): \(span.outcome?.status.rawValue ?? "not finished")"]
    if let reason = span.outcome?.briefReason ?? span.waitReason { lines.append(reason) }
    for phase in phases(of: index) {
      let what: String =
        switch phase.kind {
        case .dependencies: "waited for dependencies for"
        case .conditions where span.asksOnlyJournal: "read its journal for"
        case .conditions: "evaluated conditions for"
        case .turn where span.claims.isEmpty: "waited for a slot for"
        case .turn:
          "waited for \(span.claims.map { "“\($0)”" }.briefList) or a slot for"
        }
      lines.append("\(what) \((phase.end - phase.begin).readable)")
    }
    if !span.retries.isEmpty {
      let times = span.retries.count == 1 ? "once" : "\(span.retries.count) times"
      lines.append("retried \(times)")
    }
    if span.lastFailedAttempt != nil { lines.append("ended in the delay after a failed attempt") }
    if let executed = span.executionDuration { lines.append("executed for \(executed.readable)") }
    return lines.joined(separator: "\n")
  }
}

extension Duration {
  /// The approximate number of seconds, for any duration.
  fileprivate var inSeconds: Double { self / .seconds(1) }
}

extension OperationOutcome {
  /// The reason why the operation hasn't succeeded, in one line that fits into a picture; nil without a
  /// reason.
  ///
  /// For an inherited error, the reason is only its origin, because the row of the origin contains the error.
  /// A long chain of failures is therefore not searched for each of its operations.
  var briefReason: String? {
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

/// The rows of a timeline's picture: all operations, or the most informative of too many operations.
struct TimelineRows {
  /// The greatest number of rows that viewers can draw and people can read.
  static let most = 2_500

  /// The operation of each row, from the top, and the number of groups around it.
  let rows: [(index: Int, depth: Int)]
  /// The number of operations without a row.
  let leftOut: Int

  /// - Parameters:
  ///   - timeline: The timeline.
  ///   - critical: The indices of its critical path.
  ///   - limit: The greatest number of rows.
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

  /// Returns all operations in the order of their starts, with children below their group.
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

  /// Chooses the critical path, then operations that failed themselves, in at most half of the rows, then the
  /// longest operations.
  ///
  /// An operation is chosen together with its groups, if there are enough rows for all of them.
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
    let times = spans.map { $0.executionDuration(until: timeline.end) ?? .zero }
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
