import AdvancedOperations
import TerminalSupport

/// A graph as an SVG: what waits stands to the right of what it waits for.
struct GraphDrawing {
  let svg: String

  private static let margin = 16.0
  private static let corner = 6.0
  private static let lineHeight = 16.0
  /// Several readers draw no picture that has a longer side than 32,767.
  private static let longestSide = 32_000.0

  init(_ graph: OperationGraph) {
    let numbers = Dictionary(graph.nodes.enumerated().map { ($1.id, $0) }) { first, _ in first }
    let edges = graph.edges.compactMap { edge -> (from: Int, to: Int)? in
      guard let from = numbers[edge.from], let to = numbers[edge.to], from != to else { return nil }
      return (from, to)
    }
    let labels = graph.nodes.map { GraphLabel($0.name, note: Self.look($0).note) }
    let sizes = labels.map { label in
      (width: label.width + 28, height: 18 + Self.lineHeight * Double(label.lineCount))
    }
    let layout = GraphLayout(sizes, edges, margin: Self.margin)
    let (width, height) = (layout.width + Self.margin, layout.height + Self.margin)
    let scale = min(Self.longestSide / max(width, height), 1)
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(Self.text(width * scale))\" "
        + "height=\"\(Self.text(height * scale))\" "
        + "viewBox=\"0 0 \(Self.text(width)) \(Self.text(height))\" role=\"img\" "
        + "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"\(Int(GraphLabel.fontSize))\">",
      "<title>\(graph.nodes.count.counted("step")) and what they need</title>", Self.style,
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>",
    ]
    for way in layout.ways { lines.append(Self.curve(way.map { layout.boxes[$0] })) }
    for (node, (box, label)) in zip(graph.nodes, zip(layout.boxes, labels)) {
      let look = Self.look(node)
      lines.append(
        "<g><title>\(Self.escaped("\(node.name): \(look.state)"))</title>"
          + "<rect class=\"box\" x=\"\(Self.text(box.x))\" y=\"\(Self.text(box.y))\" "
          + "width=\"\(Self.text(box.width))\" height=\"\(Self.text(box.height))\" "
          + "rx=\"\(Self.text(Self.corner))\" style=\"stroke:\(look.colour)\"/>"
          + Self.edge(of: box, look.colour) + Self.words(label, in: box) + "</g>"
      )
    }
    svg = lines.joined(separator: "\n") + "\n</svg>\n"
  }

  private static let style = """
    <style>
    .paper { fill: #ffffff } .box { fill: #f6f8fa; stroke-width: 1.2 }
    text { fill: #1f2328 } .note { fill: #59636e }
    .edge { fill: none; stroke: #8c959f; stroke-width: 1.2 }
    @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .box { fill: #161b22 } text { fill: #e6edf3 }
    .note { fill: #9198a1 } .edge { stroke: #6e7681 } }
    </style>
    """

  private struct Look {
    let state: String
    let colour: String
    /// The state, where a colour alone isn't enough to see that something is amiss.
    var note: String?
  }

  private static func look(_ node: OperationGraph.Node) -> Look {
    func amiss(_ state: String, _ colour: String) -> Look {
      Look(state: state, colour: colour, note: state)
    }
    return switch node.outcome {
    case .succeeded: Look(state: "succeeded", colour: "#2da44e")
    case .failed: amiss("failed", "#cf222e")
    case .cancelled: amiss("cancelled", "#bf8700")
    case .skipped: amiss("skipped", "#218bff")
    case nil where node.isCancelled: amiss("cancelled", "#bf8700")
    case nil: Look(state: "waiting", colour: "#8c959f")
    }
  }

  /// The left edge of a box, in the colour of its state.
  private static func edge(of box: GraphLayout.Box, _ colour: String) -> String {
    let (right, corner) = (text(box.x + corner), text(corner))
    let arc = "A\(corner) \(corner) 0 0 0"
    return "<path d=\"M\(right) \(text(box.y))\(arc) \(text(box.x)) \(text(box.y + Self.corner))"
      + "V\(text(box.y + box.height - Self.corner))"
      + "\(arc) \(right) \(text(box.y + box.height))Z\" fill=\"\(colour)\"/>"
  }

  private static func words(_ label: GraphLabel, in box: GraphLayout.Box) -> String {
    var (y, words) = (box.y + 22, "")
    let x = text(box.x + 16)
    for line in label.lines {
      words += "<text x=\"\(x)\" y=\"\(text(y))\">\(escaped(line))</text>"
      y += lineHeight
    }
    if let note = label.note {
      words +=
        "<text class=\"note\" x=\"\(x)\" y=\"\(text(y - 1))\" font-size=\"11\">\(note)</text>"
    }
    return words
  }

  private static func curve(_ boxes: [GraphLayout.Box]) -> String {
    guard let first = boxes.first else { return "" }
    var path = "M\(text(first.x + first.width)) \(text(first.middle))"
    for (from, to) in zip(boxes, boxes.dropFirst()) {
      let (x1, y1) = (from.x + from.width, from.middle)
      let (x2, y2) = (to.x, to.middle)
      let middle = text((x1 + x2) / 2)
      path += "L\(text(x1)) \(text(y1))C\(middle) \(text(y1)) \(middle) \(text(y2)) "
      path += "\(text(x2)) \(text(y2))"
    }
    return "<path class=\"edge\" d=\"\(path)\"/>"
  }

  /// With one digit after the point at most.
  private static func text(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
  }

  private static func escaped(_ text: String) -> String {
    text.printable().replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
  }
}
