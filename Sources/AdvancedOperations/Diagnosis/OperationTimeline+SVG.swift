extension OperationTimeline {
  /// The timeline as a picture: an SVG file that needs nothing else.
  ///
  /// One row for each operation, in the order of their starts, children below their group. Bars are
  /// the time of executing, in the colour of the outcome; a line across one is the end of an
  /// attempt that was followed by another one; the thin part before is waiting. The critical path
  /// is bold and its bars are framed; the line behind a bar is how much longer it could have taken.
  ///
  /// A name for which there is no room is cut in its middle; a pointer over it shows it whole. The
  /// picture is dark where its reader prefers that.
  public var svg: String {
    var drawing = TimelineDrawing(self)
    return drawing.text()
  }
}

private struct TimelineDrawing {
  private static let width = 1080.0
  private static let rowHeight = 20.0
  private static let top = 76.0
  private static let rightMargin = 72.0
  /// Names don't take more than a third of the picture.
  private static let widths = 98.0...350.0
  private static let fontSize = 12.0
  /// Several readers draw no picture that is higher than 32,767; a smaller one can still be read.
  private static let mostHeight = 32_000.0
  private static let leastScale = 0.6

  private let timeline: OperationTimeline
  private let rows: [(index: Int, depth: Int)]
  private let left: Double
  private let critical: [Int]
  // Looked for once: a timeline goes through all of its spans for them.
  private let begin: Duration
  private let duration: Duration
  private var elements = PictureElements()

  init(_ timeline: OperationTimeline) {
    self.timeline = timeline
    rows = timeline.rows
    critical = timeline.criticalPath
    begin = timeline.begin
    duration = timeline.duration
    let isCritical = Set(critical)
    var widest = 0.0
    for row in rows where widest < Self.widths.upperBound {
      let name = timeline.spans[row.index].name.prefix(80)
      let isBold = isCritical.contains(row.index)
      let width = PictureText.width(of: name, size: Self.fontSize, isBold: isBold)
      widest = max(widest, Self.indent(row.depth) + width)
    }
    left = min(max(widest + 16, Self.widths.lowerBound), Self.widths.upperBound)
  }

  private var height: Double { Self.top + Self.rowHeight * Double(rows.count) + 28 }
  private var scale: Double {
    (Self.width - left - Self.rightMargin) / max(duration.inSeconds, 1e-9)
  }

  private func x(_ time: Duration) -> Double {
    left + time.saturatingSubtracting(begin).inSeconds * scale
  }
  private func y(_ row: Int) -> Double { Self.top + Self.rowHeight * Double(row) }

  mutating func text() -> String {
    header()
    axis()
    var places: [Int: Int] = [:]
    for (row, entry) in rows.enumerated() { places[entry.index] = row }
    let slack = timeline.slack
    let isCritical = Set(critical)
    names(isCritical)
    for (row, entry) in rows.enumerated() {
      bars(
        row,
        entry.index,
        slack: slack[entry.index],
        isCritical: isCritical.contains(entry.index)
      )
    }
    for (from, to) in zip(critical, critical.dropFirst()) {
      guard let fromRow = places[from], let toRow = places[to] else { continue }
      connect(from, fromRow, to, toRow)
    }
    let scale = min(max(Self.mostHeight / height, Self.leastScale), 1)
    let size =
      "width=\"\(PictureElements.number(Self.width * scale))\""
      + " height=\"\(PictureElements.number(height * scale))\""
    return """
      <svg xmlns="http://www.w3.org/2000/svg" \(size) \
      viewBox="0 0 \(PictureElements.number(Self.width)) \(PictureElements.number(height))" \
      class="operation-timeline" role="img" \
      font-family="Helvetica, Arial, sans-serif" font-size="\(Int(Self.fontSize))">
      \(Self.style)
      <rect class="paper" width="100%" height="100%" fill="#ffffff"/>
      \(elements.lines.joined(separator: "\n"))
      </svg>

      """
  }

  /// What differs on a dark page.
  ///
  /// A reader of pictures that doesn't ask for the scheme shows the colours of the elements. The
  /// class keeps the rules off other pictures of a page.
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
    let plan = timeline.plan
    let count = timeline.spans.count
    let title =
      "\(count) operation\(count == 1 ? "" : "s") in \(duration.readable)"
      + " · work \(plan.work.readable) · critical path \(plan.criticalDuration.readable)"
    elements.label(title, 24, 24, " font-size=\"15\" font-weight=\"bold\"")
    var next = 24.0
    let waits: [(String, String)] = [
      ("waiting for dependencies", Self.color(.dependencies)),
      ("asking conditions", Self.color(.conditions)), ("waiting for its turn", Self.color(.turn)),
    ]
    var seen: Set<OperationStatus> = []
    for span in timeline.spans where span.started != nil || span.ended != nil {
      seen.insert(OperationStatus(.executing, span.outcome))
    }
    let statuses = OperationStatus.allCases.filter(seen.contains).map { ($0.rawValue, $0.color) }
    for (text, color) in waits + statuses {
      let isThin = waits.contains { $0.0 == text }
      let style = color == Self.color(.dependencies) ? Self.dependencies : ""
      elements.rectangle(next, isThin ? 43 : 38, 14, isThin ? 4 : 12, color, style)
      elements.label(text, next + 19, 48, " font-size=\"11\"")
      next += 34 + PictureText.width(of: text, size: 11)
    }
    elements.line(next, 44, next + 18, 44, "#333333", Self.dashes)
    elements.label("slack", next + 24, 48, " font-size=\"11\"")
  }

  private mutating func axis() {
    let bottom = Self.top + Self.rowHeight * Double(rows.count)
    let step = Self.step(for: duration)
    // Who scrolls through many rows begins at the top.
    let places = [bottom + 16] + (rows.count > 30 ? [Self.top - 8] : [])
    for tick in 0...10 {
      let time = step.saturatingMultiplied(by: tick)
      if time > duration { return }
      let x = x(begin.saturatingAdding(time))
      elements.line(x, Self.top - 4, x, bottom, "#e4e4e4", " class=\"grid\"")
      let text = time == .zero ? "0" : time.readable
      let style = " class=\"muted\" font-size=\"11\" fill=\"#555555\" text-anchor=\"middle\""
      for y in places { elements.label(text, x, y, style) }
    }
  }

  /// The column of names: a picture of its own, so that none reaches into the chart with any font.
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
      let isBold = isCritical.contains(entry.index)
      let indent = Self.indent(entry.depth)
      let size = Self.fontSize
      let text = PictureText.fitted(name, width: width - indent, size: size, isBold: isBold)
      if text != name { elements.add("<g><title>\(PictureElements.escaped(name))</title>") }
      elements.label(text, indent, y + 14, isBold ? " font-weight=\"bold\"" : "")
      if text != name { elements.add("</g>") }
    }
    elements.add("</svg>")
  }

  private mutating func bars(_ row: Int, _ index: Int, slack: Duration, isCritical: Bool) {
    let span = timeline.spans[index]
    let y = y(row)
    elements.add("<g><title>\(PictureElements.escaped(timeline.summary(of: index)))</title>")
    for phase in timeline.phases(of: index) {
      let begin = x(phase.begin)
      let width = max(x(phase.end) - begin, 1)
      let style = phase.kind == .dependencies ? Self.dependencies : ""
      elements.rectangle(begin, y + 8, width, 4, Self.color(phase.kind), style)
    }
    if let started = span.started {
      let begin = x(started)
      let end = x(span.ended ?? timeline.end)
      let color = OperationStatus(.executing, span.outcome).color
      let frame =
        isCritical
        ? " class=\"critical\" stroke=\"#a01010\" stroke-width=\"1.5\""
        : " stroke=\"#666666\" stroke-width=\"0.7\""
      let width = max(end - begin, 1.5)
      elements.rectangle(begin, y + 3, width, 14, color, frame + " rx=\"2\"")
      for retry in span.retries {
        elements.line(x(retry), y + 3, x(retry), y + 17, "#a01010", " stroke-width=\"2\"")
      }
      let text = (span.executed(until: timeline.end) ?? .zero).readable
      // In the bar if it fits, otherwise behind it.
      let room = PictureText.width(of: text, size: 10) + 6
      let isInside = width > room
      let place = isInside ? begin + 4 : begin + width + 4
      let style = " font-size=\"10\" fill=\"#222222\""
      elements.label(text, place, y + 14, isInside ? " class=\"inside\"" + style : style)
      let free = isInside ? begin + width : begin + width + room
      let until = min(end + slack.inSeconds * scale, Self.width - Self.rightMargin)
      if until > free + 1 {
        elements.line(free, y + 10, until, y + 10, "#333333", Self.dashes)
      }
    } else if let ended = span.ended {
      let color = OperationStatus(.finishing, span.outcome).color
      let (left, top) = (PictureElements.number(x(ended)), PictureElements.number(y + 4))
      elements.add(
        "<path d=\"M\(left) \(top) l6 6 l-6 6 l-6 -6 z\" fill=\"\(color)\""
          + " stroke=\"#666666\" stroke-width=\"0.7\"/>"
      )
    }
    elements.add("</g>")
  }

  private mutating func connect(_ from: Int, _ fromRow: Int, _ to: Int, _ toRow: Int) {
    guard let end = timeline.spans[from].ended, let begin = timeline.spans[to].started else {
      return
    }
    // Along the edge of the row, because the duration of a short bar stands behind that.
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

  private static let dependencies = " class=\"dependencies\""
  private static let dashes = " class=\"slack\" stroke-dasharray=\"2 2\""

  private static func indent(_ depth: Int) -> Double { 12 + 12 * Double(min(depth, 6)) }

  private static func color(_ kind: OperationTimeline.Phase.Kind) -> String {
    switch kind {
    case .dependencies: "#c9c9c9"
    case .conditions: "#e8b93c"
    case .turn: "#7fa8d8"
    }
  }

  /// A step of 1, 2 or 5 that gives at most ten ticks; in minutes and hours, what divides those.
  static func step(for duration: Duration) -> Duration {
    let tenth = duration.clamped / 10
    let wanted = max(tenth.wholeNanoseconds, 1)
    var step: Int64 = 1
    while step < 1_000_000_000, step < wanted {
      for factor in [2, 5, 10] as [Int64] where step * factor >= wanted || factor == 10 {
        step *= factor
        break
      }
    }
    if step < wanted {
      let seconds: [Int64] = [
        2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200,
      ]
      let days = tenth.components.seconds / 86_400 + 1
      return .seconds(seconds.first { $0 * 1_000_000_000 >= wanted } ?? days * 86_400)
    }
    return .nanoseconds(step)
  }
}

extension OperationTimeline {
  /// In the order of their starts, children below their group.
  fileprivate var rows: [(index: Int, depth: Int)] {
    func time(_ index: Int) -> Duration {
      let span = spans[index]
      return span.started ?? span.ended ?? span.enqueued ?? end
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

  /// What a pointer over a bar shows.
  fileprivate func summary(of index: Int) -> String {
    let span = spans[index]
    var lines = ["\(span.name): \(span.outcome?.status.rawValue ?? "going on")"]
    for phase in phases(of: index) {
      let what: String =
        switch phase.kind {
        case .dependencies: "waited for dependencies for"
        case .conditions: "asked conditions for"
        case .turn: "waited for its turn for"
        }
      lines.append("\(what) \((phase.end - phase.begin).readable)")
    }
    if !span.retries.isEmpty {
      let times = span.retries.count == 1 ? "once" : "\(span.retries.count) times"
      lines.append("tried again \(times)")
    }
    if let executed = span.executed { lines.append("executed for \(executed.readable)") }
    return lines.joined(separator: "\n")
  }
}
