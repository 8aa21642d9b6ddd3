/// The SVG of a chart while it is being drawn.
struct CostChartDrawing {
  private static let columns = 3
  private static let panelWidth = 440.0
  private static let panelHeight = 300.0
  private static let margin = 36.0
  private static let head = 128.0
  private static let ink = "#1f2a33"
  private static let faint = "#5f6c77"
  private static let rule = "#dde3e8"

  /// Colours that people with colour blindness can tell apart (Okabe and Ito), and marks, because
  /// colour alone isn't enough.
  private static let looks: [(colour: String, mark: Mark)] = [
    ("#d55e00", .circle), ("#0072b2", .square), ("#009e73", .diamond), ("#cc79a7", .triangle),
    ("#56b4e9", .cross), ("#e69f00", .square), ("#000000", .diamond), ("#8c6d31", .triangle),
    ("#7a7a7a", .cross),
  ]

  private enum Mark { case circle, square, diamond, triangle, cross }

  private let chart: CostChart
  private let contestants: [String]
  private var svg = SVGWriter()

  init(chart: CostChart) {
    self.chart = chart
    contestants = chart.panels.flatMap(\.lines).map(\.contestant).reduce(into: []) {
      if !$0.contains($1) { $0.append($1) }
    }
  }

  mutating func draw() -> String {
    let columns = max(1, min(Self.columns, chart.panels.count))
    let rows = (chart.panels.count + columns - 1) / columns
    let width = Self.margin * 2 + Double(columns) * Self.panelWidth
    let legendRows = (contestants.count + 4) / 5
    let top = Self.head + Double(max(0, legendRows - 1)) * 24
    let height = top + Double(rows) * Self.panelHeight + Self.margin
    svg.begin(
      "svg",
      [
        "xmlns": "http://www.w3.org/2000/svg", "width": width.short, "height": height.short,
        "viewBox": "0 0 \(width.short) \(height.short)",
        "font-family": "Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif",
      ]
    )
    svg.add("title", [:], text: chart.title)
    svg.add("rect", ["width": "100%", "height": "100%", "fill": "#ffffff"])
    text(chart.title, x: Self.margin, y: 42, size: 24, weight: "bold")
    text(chart.subtitle, x: Self.margin, y: 68, size: 14, colour: Self.faint)
    legend(width: width)
    for (index, panel) in chart.panels.enumerated() {
      draw(
        panel,
        x: Self.margin + Double(index % columns) * Self.panelWidth,
        y: top + Double(index / columns) * Self.panelHeight
      )
    }
    svg.end()
    return svg.document()
  }

  private mutating func legend(width: Double) {
    let step = (width - 2 * Self.margin) / Double(max(1, min(5, contestants.count)))
    for (index, contestant) in contestants.enumerated() {
      let x = Self.margin + Double(index % 5) * step
      let y = 98 + Double(index / 5) * 24
      let look = Self.looks[index % Self.looks.count]
      line(from: (x, y), to: (x + 26, y), colour: look.colour, width: 2.2)
      mark(look.mark, x: x + 13, y: y, colour: look.colour)
      text(contestant, x: x + 34, y: y + 5, size: 14)
    }
  }

  private mutating func draw(_ panel: CostChart.Panel, x: Double, y: Double) {
    let (left, right) = (x + 66, x + Self.panelWidth - 24)
    let (top, bottom) = (y + 34, y + Self.panelHeight - 54)
    let points = panel.lines.flatMap(\.points)
    text(panel.title, x: left, y: y + 20, size: 15, weight: "bold")
    guard
      let sizes = LogarithmicScale(covering: points.map(\.size), from: left + 8, to: right - 8),
      let costs = LogarithmicScale(covering: points.map(\.cost), from: bottom - 8, to: top + 8)
    else {
      text("not measured", x: left, y: top + 20, size: 13, colour: Self.faint)
      return
    }
    for tick in costs.ticks {
      let height = costs.position(tick)
      line(from: (left, height), to: (right, height), colour: Self.rule, width: 1)
      text(Self.costLabel(tick), x: left - 8, y: height + 4, size: 12, anchor: "end")
    }
    for tick in sizes.ticks {
      let place = sizes.position(tick)
      line(from: (place, top), to: (place, bottom), colour: Self.rule, width: 1)
      text(panel.label(tick), x: place, y: bottom + 18, size: 12, anchor: "middle")
    }
    line(from: (left, bottom), to: (right, bottom), colour: Self.faint, width: 1)
    line(from: (left, top), to: (left, bottom), colour: Self.faint, width: 1)
    text(
      panel.axis,
      x: (left + right) / 2,
      y: bottom + 36,
      size: 12,
      anchor: "middle",
      colour: Self.faint
    )
    // The first contestant is drawn last, so that it lies on top.
    for drawn in panel.lines.reversed() {
      guard let index = contestants.firstIndex(of: drawn.contestant) else { continue }
      let look = Self.looks[index % Self.looks.count]
      let places = drawn.points.map { (sizes.position($0.size), costs.position($0.cost)) }
      svg.add(
        "polyline",
        [
          "points": places.map { "\($0.0.short),\($0.1.short)" }.joined(separator: " "),
          "fill": "none", "stroke": look.colour, "stroke-width": index == 0 ? "2.8" : "1.8",
        ]
      )
      for place in places { mark(look.mark, x: place.0, y: place.1, colour: look.colour) }
    }
  }

  private static func costLabel(_ seconds: Double) -> String {
    let units: [(String, Double)] = [("s", 1), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)]
    let unit = units.first { seconds >= $0.1 * 0.999_999 } ?? ("ns", 1e-9)
    return "\((seconds / unit.1).short) \(unit.0)"
  }

  private mutating func mark(_ mark: Mark, x: Double, y: Double, colour: String) {
    let size = 4.2
    switch mark {
    case .circle:
      svg.add("circle", ["cx": x.short, "cy": y.short, "r": size.short, "fill": colour])
    case .square: polygon([(-1, -1), (1, -1), (1, 1), (-1, 1)], x, y, size * 0.9, colour)
    case .diamond: polygon([(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)], x, y, size, colour)
    case .triangle: polygon([(0, -1.2), (1.1, 0.9), (-1.1, 0.9)], x, y, size, colour)
    case .cross:
      line(from: (x - size, y - size), to: (x + size, y + size), colour: colour, width: 2.2)
      line(from: (x - size, y + size), to: (x + size, y - size), colour: colour, width: 2.2)
    }
  }

  private mutating func polygon(
    _ corners: [(Double, Double)],
    _ x: Double,
    _ y: Double,
    _ size: Double,
    _ colour: String
  ) {
    let points = corners.map { "\((x + $0.0 * size).short),\((y + $0.1 * size).short)" }
    svg.add("polygon", ["points": points.joined(separator: " "), "fill": colour])
  }

  private mutating func line(
    from start: (Double, Double),
    to end: (Double, Double),
    colour: String,
    width: Double
  ) {
    svg.add(
      "line",
      [
        "x1": start.0.short, "y1": start.1.short, "x2": end.0.short, "y2": end.1.short,
        "stroke": colour, "stroke-width": width.short,
      ]
    )
  }

  private mutating func text(
    _ text: String,
    x: Double,
    y: Double,
    size: Double,
    anchor: String = "start",
    weight: String = "normal",
    colour: String = Self.ink
  ) {
    svg.add(
      "text",
      [
        "x": x.short, "y": y.short, "font-size": size.short, "text-anchor": anchor,
        "font-weight": weight, "fill": colour,
      ],
      text: text
    )
  }
}

extension Double {
  /// With at most two digits after the point.
  fileprivate var short: String {
    let rounded = (self * 100).rounded() / 100
    return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
  }
}
