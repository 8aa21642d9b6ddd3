import AdvancedOperations
import TerminalSupport

/// A graph as an SVG: what waits stands to the right of what it waits for.
struct GraphDrawing {
  let svg: String

  private static let boxHeight = 34.0
  private static let columnGap = 60.0
  private static let rowGap = 12.0
  private static let margin = 16.0
  private static let letter = 7.2

  private struct Box {
    var (x, y, width): (Double, Double, Double)
  }

  init(_ graph: OperationGraph) {
    let numbers = Dictionary(graph.nodes.enumerated().map { ($1.id, $0) }) { first, _ in first }
    let edges = graph.edges.compactMap { edge -> (from: Int, to: Int)? in
      guard let from = numbers[edge.from], let to = numbers[edge.to], from != to else { return nil }
      return (from, to)
    }
    let columns = Self.columns(graph.nodes.count, edges)
    let labels = graph.nodes.map { $0.name.printable().cut(toColumns: 32) }
    let boxes = Self.boxes(columns, labels)
    let width = (boxes.map { $0.x + $0.width }.max() ?? 0) + Self.margin
    let height = (boxes.map { $0.y + Self.boxHeight }.max() ?? 0) + Self.margin
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(Self.text(width))\" "
        + "height=\"\(Self.text(height))\" "
        + "viewBox=\"0 0 \(Self.text(width)) \(Self.text(height))\" role=\"img\" "
        + "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\">",
      "<title>\(graph.nodes.count.counted("step")) and what they need</title>", Self.style,
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>",
    ]
    for edge in edges { lines.append(Self.curve(boxes[edge.from], boxes[edge.to])) }
    for (node, (box, label)) in zip(graph.nodes, zip(boxes, labels)) {
      let (state, colour) = Self.look(node)
      lines.append(
        "<g><title>\(Self.escaped("\(node.name): \(state)"))</title>"
          + "<rect class=\"box\" x=\"\(Self.text(box.x))\" y=\"\(Self.text(box.y))\" "
          + "width=\"\(Self.text(box.width))\" height=\"\(Self.text(Self.boxHeight))\" rx=\"6\" "
          + "style=\"stroke:\(colour)\"/>"
          + "<rect x=\"\(Self.text(box.x))\" y=\"\(Self.text(box.y))\" width=\"6\" "
          + "height=\"\(Self.text(Self.boxHeight))\" rx=\"3\" fill=\"\(colour)\"/>"
          + "<text x=\"\(Self.text(box.x + 16))\" y=\"\(Self.text(box.y + 22))\">"
          + "\(Self.escaped(label))</text></g>"
      )
    }
    svg = lines.joined(separator: "\n") + "\n</svg>\n"
  }

  private static let style = """
    <style>
    .paper { fill: #ffffff } .box { fill: #f6f8fa; stroke-width: 1.2 }
    text { fill: #1f2328 } .edge { fill: none; stroke: #8c959f; stroke-width: 1.2 }
    @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .box { fill: #161b22 } text { fill: #e6edf3 }
    .edge { stroke: #6e7681 } }
    </style>
    """

  private static func look(_ node: OperationGraph.Node) -> (String, String) {
    switch node.outcome {
    case .succeeded: ("succeeded", "#2da44e")
    case .failed: ("failed", "#cf222e")
    case .cancelled: ("cancelled", "#bf8700")
    case .skipped: ("skipped", "#218bff")
    case nil: node.isCancelled ? ("cancelled", "#bf8700") : ("waiting", "#8c959f")
    }
  }

  /// The columns, each with its nodes from top to bottom: as far right as what they wait for asks,
  /// each beside the mean of that.
  private static func columns(_ count: Int, _ edges: [(from: Int, to: Int)]) -> [[Int]] {
    var (open, column) = ([Int](repeating: 0, count: count), [Int](repeating: 0, count: count))
    var (after, before) = (
      [[Int]](repeating: [], count: count), [[Int]](repeating: [], count: count)
    )
    for edge in edges {
      open[edge.to] += 1
      after[edge.from].append(edge.to)
      before[edge.to].append(edge.from)
    }
    var order = open.indices.filter { open[$0] == 0 }
    var next = 0
    while next < order.count {
      for node in after[order[next]] {
        column[node] = max(column[node], column[order[next]] + 1)
        open[node] -= 1
        if open[node] == 0 { order.append(node) }
      }
      next += 1
    }
    var columns = [[Int]](repeating: [], count: (column.max() ?? -1) + 1)
    for node in column.indices { columns[column[node]].append(node) }
    // The mean place of what comes before, and then of what comes after, a few times.
    var place = [Double](repeating: 0, count: count)
    for nodes in columns { for (row, node) in nodes.enumerated() { place[node] = Double(row) } }
    func sort(_ index: Int, by neighbours: [[Int]]) {
      let means = columns[index].map { node in
        let places = neighbours[node].map { place[$0] }
        return places.isEmpty ? place[node] : places.reduce(0, +) / Double(places.count)
      }
      let sorted = zip(means, columns[index]).sorted { ($0.0, $0.1) < ($1.0, $1.1) }
      columns[index] = sorted.map(\.1)
      for (row, node) in columns[index].enumerated() { place[node] = Double(row) }
    }
    for _ in 0..<4 {
      for index in columns.indices.dropFirst() { sort(index, by: before) }
      for index in columns.indices.dropLast().reversed() { sort(index, by: after) }
    }
    return columns
  }

  private static func boxes(_ columns: [[Int]], _ labels: [String]) -> [Box] {
    var boxes = [Box](repeating: Box(x: 0, y: 0, width: 0), count: labels.count)
    let rows = columns.map(\.count).max() ?? 0
    let step = boxHeight + rowGap
    var x = margin
    for column in columns {
      let width = (column.map { Double(labels[$0].columnCount) * letter }.max() ?? 0) + 28
      let top = margin + Double(rows - column.count) * step / 2
      for (row, node) in column.enumerated() {
        boxes[node] = Box(x: x, y: top + Double(row) * step, width: width)
      }
      x += width + columnGap
    }
    return boxes
  }

  private static func curve(_ from: Box, _ to: Box) -> String {
    let (x1, y1) = (from.x + from.width, from.y + boxHeight / 2)
    let (x2, y2) = (to.x, to.y + boxHeight / 2)
    let middle = (x1 + x2) / 2
    return "<path class=\"edge\" d=\"M\(text(x1)) \(text(y1)) C\(text(middle)) \(text(y1)) "
      + "\(text(middle)) \(text(y2)) \(text(x2)) \(text(y2))\"/>"
  }

  /// With one digit after the point at most.
  private static func text(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }

  private static func escaped(_ text: String) -> String {
    text.printable().replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
  }
}
