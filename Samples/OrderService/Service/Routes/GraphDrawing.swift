import AdvancedOperations

/// A graph of orders as an SVG: a row for each order, and its steps from left to right.
///
/// A step stands to the right of all that it waits for; steps beside each other stand below each
/// other.
struct GraphDrawing {
  /// The picture.
  let svg: String

  private struct Box {
    var (x, y) = (0.0, 0.0)
  }

  private static let (boxWidth, boxHeight) = (150.0, 30.0)
  private static let (columnGap, rowGap, margin) = (44.0, 10.0, 16.0)
  private static let titleHeight = 26.0

  init(_ graph: OperationGraph) {
    let groups = graph.nodes.filter { $0.group == nil }
    var (boxes, parts): ([String: Box], [String]) = ([:], [])
    var (y, width) = (Self.margin, 320.0)
    for group in groups {
      let steps = graph.nodes.filter { $0.group == group.id }
      let depths = Self.depths(steps.map(\.id), graph.edges)
      parts.append(Self.text(group.name, Self.margin, y + 16, "title"))
      y += Self.titleHeight
      var rows: [Int: Int] = [:]
      for step in steps {
        let depth = depths[step.id] ?? 0
        let row = rows[depth, default: 0]
        rows[depth] = row + 1
        let box = Box(
          x: Self.margin + Double(depth) * (Self.boxWidth + Self.columnGap),
          y: y + Double(row) * (Self.boxHeight + Self.rowGap)
        )
        boxes[step.id] = box
        width = max(width, box.x + Self.boxWidth + Self.margin)
        parts.append(Self.drawing(step, box))
      }
      y +=
        Double(max(rows.values.max() ?? 0, steps.isEmpty ? 0 : 1))
        * (Self.boxHeight + Self.rowGap) + Self.rowGap
    }
    if groups.isEmpty {
      parts.append(Self.text("No order is open.", Self.margin, y + 16, "title"))
      y += Self.titleHeight
    }
    let arrows = graph.edges.compactMap { edge -> String? in
      guard let from = boxes[edge.from], let to = boxes[edge.to] else { return nil }
      return Self.arrow(from, to)
    }
    svg =
      """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(width)) \(Int(y + Self.margin))" \
      width="\(Int(width))" height="\(Int(y + Self.margin))" role="img" \
      font-family="Helvetica, Arial, sans-serif" font-size="13">
      <title>Open orders and their steps</title>
      \(Self.style)
      <rect class="paper" width="100%" height="100%"/>
      \((arrows + parts).joined(separator: "\n"))
      </svg>

      """
  }

  private static let style = """
    <style>
    .paper { fill: #ffffff } .box { fill: #f6f8fa; stroke-width: 1.2 }
    text { fill: #1f2328 } .title { font-weight: 600 }
    .edge { fill: none; stroke: #8c959f; stroke-width: 1.2 }
    @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .box { fill: #161b22 } text { fill: #e6edf3 } }
    </style>
    """

  /// How many columns each step is from the left.
  private static func depths(
    _ steps: [String],
    _ edges: [OperationGraph.Edge]
  ) -> [String: Int] {
    var depths = Dictionary(steps.map { ($0, 0) }) { first, _ in first }
    let inner = edges.filter { depths[$0.from] != nil && depths[$0.to] != nil }
    // The longest way has at most as many edges as there are steps.
    for _ in steps {
      var hasChanged = false
      for edge in inner {
        let depth = (depths[edge.from] ?? 0) + 1
        if depth > depths[edge.to] ?? 0, depth < steps.count {
          depths[edge.to] = depth
          hasChanged = true
        }
      }
      if !hasChanged { break }
    }
    return depths
  }

  private static func drawing(_ step: OperationGraph.Node, _ box: Box) -> String {
    let (state, colour) = look(step)
    let name = step.name.count > 18 ? step.name.prefix(17) + "…" : step.name[...]
    let (width, height) = (Int(boxWidth), Int(boxHeight))
    return """
      <g><title>\(MarkupText.escaped("\(step.name): \(state)"))</title>\
      <rect class="box" x="\(Int(box.x))" y="\(Int(box.y))" width="\(width)" height="\(height)" \
      rx="5" style="stroke:\(colour)"/>\
      <rect x="\(Int(box.x))" y="\(Int(box.y))" width="6" height="\(height)" rx="3" \
      fill="\(colour)"/>\
      \(text(String(name), box.x + 14, box.y + 20, "name"))</g>
      """
  }

  private static func look(_ node: OperationGraph.Node) -> (String, String) {
    switch node.outcome {
    case .succeeded: ("done", "#2da44e")
    case .failed: ("failed", "#cf222e")
    case .cancelled: ("cancelled", "#bf8700")
    case .skipped: ("skipped", "#218bff")
    case nil: node.state >= .executing ? ("executing", "#218bff") : ("waiting", "#8c959f")
    }
  }

  private static func arrow(_ from: Box, _ to: Box) -> String {
    let (x1, y1) = (Int(from.x + boxWidth), Int(from.y + boxHeight / 2))
    let (x2, y2) = (Int(to.x), Int(to.y + boxHeight / 2))
    let middle = (x1 + x2) / 2
    return "<path class=\"edge\" d=\"M\(x1) \(y1)C\(middle) \(y1) \(middle) \(y2) \(x2) \(y2)\"/>"
  }

  private static func text(_ text: String, _ x: Double, _ y: Double, _ style: String) -> String {
    "<text class=\"\(style)\" x=\"\(Int(x))\" y=\"\(Int(y))\">\(MarkupText.escaped(text))</text>"
  }
}
