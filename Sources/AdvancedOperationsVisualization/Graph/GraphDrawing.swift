public import AdvancedOperations
import CoreOperations

/// A drawing of operations with their states and dependencies.
extension OperationGraph {
  /// Returns the graph as a picture: an SVG document that needs no other file.
  ///
  /// A box for each operation has the color of its state, its name, and its state in words unless the
  /// operation waits. Arrows point from an operation to the operations that wait for it, from left to right.
  /// An arrow that points to the left completes a cycle. A dashed arrow points from an operation to an
  /// operation that it produced. A group is a frame around its children, with the box of the group on top.
  /// The box of an operation that isn't a member of the graph is dashed.
  ///
  /// ```swift
  /// let graph = OperationGraph(of: [order, report])
  /// try graph.svg().write(toFile: file, atomically: true, encoding: .utf8)
  /// ```
  ///
  /// Long names are wrapped, and very long names are shortened in the middle. A pointer over a box shows the
  /// whole name and the failure. The picture is dark if its viewer prefers dark colors.
  ///
  /// People can read a picture of some hundred operations: use `filter(_:)` for a part of a
  /// larger graph.
  ///
  /// - Returns: A document of the Scalable Vector Graphics format.
  /// - Complexity: O((n + e) log n), n the number of nodes and e the number of edges, times the depth of
  ///   groups.
  public func svg() -> String {
    var drawing = GraphDrawing(self)
    return drawing.text()
  }
}

/// A drawing of a graph.
struct GraphDrawing {
  private static let corner = " rx=\"5\""
  /// The longest side of a picture, because several viewers draw no longer side than 32,767.
  private static let longestSide = 32_000.0

  private let graph: OperationGraph
  private let places: GraphPlaces
  private var elements = PictureElements()

  private var nesting: GraphNesting { places.nesting }
  private var frames: [GraphPlaces.Frame] { places.frames }

  init(_ graph: OperationGraph) {
    self.graph = graph
    places = GraphPlaces(graph)
  }

  mutating func text() -> String {
    for node in nesting.order where !nesting.children[node].isEmpty { addFrame(node) }
    for number in graph.edges.indices { addInnerArrow(number) }
    for (group, edges) in places.levels.sorted(by: { ($0.key ?? -1) < ($1.key ?? -1) }) {
      for (place, edge) in edges.enumerated() { addArrow(edge.edge, place, in: group) }
    }
    for node in graph.nodes.indices { addBox(node) }
    if graph.nodes.isEmpty { elements.label("no operations", GraphPlaces.margin, 38, "") }
    let (width, height) = graph.nodes.isEmpty ? (200, 64) : places.size
    let scale = min(Self.longestSide / max(width, height), 1)
    let title = [
      counted(graph.nodes.count, "operation"), counted(graph.edges.count, "edge"),
    ].joined(separator: ", ")
    return elements.document(
      (width, height),
      scale: scale,
      of: "operation-graph",
      fontSize: GraphLabel.fontSize,
      head: "<title>\(title)</title>\n\(Self.style)"
    )
  }

  /// The style for a dark page, as in the picture of a timeline.
  private static let style = """
    <style>
    @media (prefers-color-scheme: dark) {
    .operation-graph text { fill: #e6edf3 }
    .operation-graph .paper { fill: #0d1117 }
    .operation-graph .group { fill: #161b22; stroke: #57606a }
    .operation-graph .edge { stroke: #9198a1 }
    .operation-graph .arrow { fill: #9198a1 }
    .operation-graph .inside { fill: #1f2328 }
    }
    </style>
    """

  private mutating func addFrame(_ group: Int) {
    let frame = frames[group]
    let style = " class=\"group\" stroke=\"#999999\"" + Self.corner
    elements.rectangle(frame.x, frame.y, frame.width, frame.height, "#f6f8fa", style)
  }

  private mutating func addBox(_ node: Int) {
    let (value, frame, label) = (graph.nodes[node], frames[node], places.labels[node])
    let reason = (value.outcome?.briefReason ?? value.waitReason).map { "\n" + $0 } ?? ""
    let title = "\(value.name): \(value.statusText)\(reason)"
    elements.add("<g><title>\(PictureElements.escaped(title))</title>")
    let dashes = value.isMember ? "" : " stroke-dasharray=\"4 3\""
    let style = " class=\"box\"" + PictureElements.plainFrame + dashes + Self.corner
    elements.rectangle(
      frame.x,
      frame.y,
      frame.width,
      frame.boxHeight,
      value.status.color,
      style
    )
    let ink = " class=\"inside\" fill=\"#222222\""
    let weight = nesting.children[node].isEmpty ? "" : " font-weight=\"bold\""
    var baseline = frame.y + GraphLabel.firstBaseline
    for line in label.lines {
      elements.label(line, frame.x + GraphLabel.indent, baseline, ink + weight)
      baseline += GraphLabel.lineHeight
    }
    if let note = label.note {
      let size = " font-size=\"\(PictureElements.number(GraphLabel.noteSize))\""
      elements.label(note, frame.x + GraphLabel.indent, baseline - 1, ink + size)
    }
    elements.add("</g>")
  }

  // MARK: Arrows

  /// Adds an arrow between different nodes of one level, or between nodes inside of them.
  ///
  /// If an end is inside of a group, the arrow passes below the children of the group, and turns between
  /// columns.
  private mutating func addArrow(_ edge: Int, _ place: Int, in group: Int?) {
    guard let ends = nesting.edges[edge], let layout = places.layouts[group] else { return }
    let way = layout.ways[place]
    let (left, top) = places.origin(of: group)
    let begin = nesting.ancestors(of: way.isReversed ? ends.to : ends.from, below: group)
    let end = nesting.ancestors(of: way.isReversed ? ends.from : ends.to, below: group)
    let (first, last) = (frames[begin[0]], frames[end[0]])

    var path = ArrowPath(x: first.right, y: first.middle)
    if way.isReversed { path.leaveTip() }
    for (inner, outer) in zip(begin, begin.dropFirst()) {
      path.turn(at: frames[inner].columnEnd + ArrowPath.turn, to: frames[outer].passage)
    }
    for (number, box) in way.boxes.dropFirst().enumerated() {
      path.lead(to: left + layout.boxes[way.boxes[number]].columnEnd)
      let isEnd = number == way.boxes.count - 2
      let y = isEnd ? height(of: end.count - 1, in: end) : top + layout.boxes[box].middle
      let isTip = isEnd && end.count == 1 && !way.isReversed
      path.curve(to: left + layout.boxes[box].x - (isTip ? ArrowPath.tip : 0), y: y)
    }
    enter(end, &path, hasTip: !way.isReversed)
    add(path.text, edge)
    if way.isReversed {
      addTip(first.right, first.middle, -ArrowPath.tipLength)
    } else {
      addTip(last.x, last.middle, ArrowPath.tipLength)
    }
  }

  /// Returns the height at which an arrow meets a node of a chain: the middle of the node, or below the
  /// children of a group.
  private func height(of number: Int, in chain: [Int]) -> Double {
    number == 0 ? frames[chain[0]].middle : frames[chain[number]].passage
  }

  /// Continues from the left side of the outermost group of a chain to the innermost node.
  private func enter(_ chain: [Int], _ path: inout ArrowPath, hasTip: Bool) {
    for number in chain.indices.dropLast().reversed() {
      path.turn(at: frames[chain[number]].x - ArrowPath.turn, to: height(of: number, in: chain))
    }
    path.lead(to: frames[chain[0]].x - (hasTip ? ArrowPath.tip : 0))
  }

  /// Adds an arrow from a node to itself, or between a group and a node inside of it.
  private mutating func addInnerArrow(_ edge: Int) {
    guard let ends = nesting.edges[edge], case .inside = nesting.level(of: ends) else { return }
    func text(_ number: Double) -> String { PictureElements.number(number) }
    if ends.from == ends.to {
      let (right, y) = (frames[ends.from].right, frames[ends.from].middle)
      let bow = text(right + 20)
      add(
        "M\(text(right)) \(text(y - 6))C\(bow) \(text(y - 16)) \(bow) \(text(y + 6))"
          + " \(text(right + ArrowPath.tip)) \(text(y + 6))",
        edge
      )
      addTip(right, y + 6, -ArrowPath.tipLength)
      return
    }
    let isInward = nesting.isInside(ends.to, of: ends.from)
    let (group, node) = isInward ? (ends.from, ends.to) : (ends.to, ends.from)
    let chain = nesting.ancestors(of: node, below: group)
    let (frame, outermost) = (frames[group], frames[chain[chain.count - 1]])
    // Along the left side of the frame, which has no boxes.
    let (x, top) = (frame.x + GraphPlaces.padding / 2, frame.y + frame.boxHeight)
    var path = ArrowPath(x: x, y: top + (isInward ? 0 : ArrowPath.tip))
    let isFirstColumn = outermost.x - frame.x <= GraphPlaces.padding
    path.turn(at: x, to: isFirstColumn ? height(of: chain.count - 1, in: chain) : frame.passage)
    if !isFirstColumn {
      path.turn(
        at: outermost.x - ArrowPath.turn,
        to: height(of: chain.count - 1, in: chain)
      )
    }
    enter(chain, &path, hasTip: isInward)
    add(path.text, edge)
    if isInward {
      addTip(frames[node].x, frames[node].middle, ArrowPath.tipLength)
    } else {
      let half = ArrowPath.tipLength / 2
      elements.add(
        "<path class=\"arrow\" d=\"M\(text(x)) \(text(top))l\(text(half)) \(text(half * 2))"
          + "h-\(text(half * 2))z\" fill=\"#8c959f\"/>"
      )
    }
  }

  private mutating func add(_ path: String, _ edge: Int) {
    let dashes = graph.edges[edge].kind == .produced ? " stroke-dasharray=\"4 3\"" : ""
    elements.add(
      "<path class=\"edge\" d=\"\(path)\" fill=\"none\" stroke=\"#8c959f\" stroke-width=\"1.2\""
        + "\(dashes)/>"
    )
  }

  /// Adds the tip of an arrow that points to the right, or to the left if the length is negative.
  private mutating func addTip(_ x: Double, _ y: Double, _ length: Double) {
    let half = ArrowPath.tipLength / 2
    func text(_ number: Double) -> String { PictureElements.number(number) }
    elements.add(
      "<path class=\"arrow\" d=\"M\(text(x)) \(text(y))L\(text(x - length)) \(text(y - half))"
        + "V\(text(y + half))z\" fill=\"#8c959f\"/>"
    )
  }
}
