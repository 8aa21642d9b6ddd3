import AdvancedOperations
import TerminalSupport

/// A graph as an SVG: what waits stands to the right of what it waits for.
struct GraphDrawing {
  let svg: String

  private static let boxHeight = 34.0
  private static let columnGap = 60.0
  private static let rowGap = 12.0
  private static let margin = 16.0
  private static let letter = 7.8
  /// Arrows over several columns have places of their own in them, unless they are too many.
  private static let mostPlaces = 5_000

  private struct Box {
    var (x, y, width): (Double, Double, Double)
  }

  init(_ graph: OperationGraph) {
    let numbers = Dictionary(graph.nodes.enumerated().map { ($1.id, $0) }) { first, _ in first }
    let edges = graph.edges.compactMap { edge -> (from: Int, to: Int)? in
      guard let from = numbers[edge.from], let to = numbers[edge.to], from != to else { return nil }
      return (from, to)
    }
    let ways = Self.ways(Self.depths(graph.nodes.count, edges), edges)
    let columns = Self.columns(ways)
    var labels = graph.nodes.map { $0.name.printable().cutInside(to: 32).cut(toColumns: 32) }
    labels += [String](repeating: "", count: ways.depths.count - labels.count)
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
    for way in ways.ways { lines.append(Self.curve(way.map { boxes[$0] })) }
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

  /// How many columns each node is from the left: as far as what it waits for asks.
  private static func depths(_ count: Int, _ edges: [(from: Int, to: Int)]) -> [Int] {
    var (open, depths) = ([Int](repeating: 0, count: count), [Int](repeating: 0, count: count))
    var after = [[Int]](repeating: [], count: count)
    for edge in edges {
      open[edge.to] += 1
      after[edge.from].append(edge.to)
    }
    var order = open.indices.filter { open[$0] == 0 }
    var next = 0
    while next < order.count {
      for node in after[order[next]] {
        depths[node] = max(depths[node], depths[order[next]] + 1)
        open[node] -= 1
        if open[node] == 0 { order.append(node) }
      }
      next += 1
    }
    return depths
  }

  private struct Ways {
    /// Of the nodes, and of the places of arrows between columns.
    var depths: [Int]
    /// Each arrow: where it begins, its places, where it ends.
    var ways: [[Int]] = []
  }

  private static func ways(_ depths: [Int], _ edges: [(from: Int, to: Int)]) -> Ways {
    var ways = Ways(depths: depths)
    let places = edges.reduce(0) { $0 + max(depths[$1.to] - depths[$1.from] - 1, 0) }
    for edge in edges {
      var way = [edge.from]
      if places <= mostPlaces {
        for depth in (depths[edge.from] + 1)..<max(depths[edge.to], depths[edge.from] + 1) {
          way.append(ways.depths.count)
          ways.depths.append(depth)
        }
      }
      ways.ways.append(way + [edge.to])
    }
    return ways
  }

  /// The columns, each with its nodes from top to bottom, beside the mean of what they belong to.
  private static func columns(_ ways: Ways) -> [[Int]] {
    let count = ways.depths.count
    var (after, before) = (
      [[Int]](repeating: [], count: count), [[Int]](repeating: [], count: count)
    )
    for way in ways.ways {
      for (from, to) in zip(way, way.dropFirst()) {
        after[from].append(to)
        before[to].append(from)
      }
    }
    var columns = [[Int]](repeating: [], count: (ways.depths.max() ?? -1) + 1)
    for node in ways.depths.indices { columns[ways.depths[node]].append(node) }
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

  private static func curve(_ boxes: [Box]) -> String {
    guard let first = boxes.first else { return "" }
    var path = "M\(text(first.x + first.width)) \(text(first.y + boxHeight / 2))"
    for (from, to) in zip(boxes, boxes.dropFirst()) {
      let (x1, y1) = (from.x + from.width, from.y + boxHeight / 2)
      let (x2, y2) = (to.x, to.y + boxHeight / 2)
      let middle = text((x1 + x2) / 2)
      path += "L\(text(x1)) \(text(y1))C\(middle) \(text(y1)) \(middle) \(text(y2)) "
      path += "\(text(x2)) \(text(y2))"
    }
    return "<path class=\"edge\" d=\"\(path)\"/>"
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
