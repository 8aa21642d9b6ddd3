import AdvancedOperations

/// The places of a graph's nodes in a picture, from the layouts of the levels of its groups.
struct GraphPlaces {
  /// The box of an operation, or the frame of a group with the box of the group on top.
  struct Frame {
    let x: Double
    let y: Double
    let width: Double
    let height: Double
    /// The height of the box, without the children of a group.
    let boxHeight: Double
    /// The right end of the column that the frame is in.
    let columnEnd: Double

    var right: Double { x + width }
    /// The height below the children of a group at which arrows that lead inside pass.
    var passage: Double { y + height - GraphPlaces.padding / 2 }
    /// The height at which arrows begin and end.
    var middle: Double { y + boxHeight / 2 }
  }

  static let margin = 24.0
  /// The distance between the frame of a group and its children.
  static let padding = 16.0

  let nesting: GraphNesting
  let labels: [GraphLabel]
  /// The frame of each node.
  private(set) var frames: [Frame] = []
  /// The edges between the children of each group, or between the nodes without a group.
  private(set) var levels: [Int?: [(edge: Int, from: Int, to: Int)]] = [:]
  private(set) var layouts: [Int?: GraphLayout] = [:]
  /// The number of each node among the children of its group.
  private var numbers: [Int]

  /// The size of the picture.
  var size: (width: Double, height: Double) {
    let layout = layouts[nil]
    return ((layout?.width ?? 0) + Self.margin * 2, (layout?.height ?? 0) + Self.margin * 2)
  }

  init(_ graph: OperationGraph) {
    nesting = GraphNesting(graph)
    labels = graph.nodes.map(GraphLabel.init)
    numbers = [Int](repeating: 0, count: graph.nodes.count)
    for siblings in nesting.children + [nesting.roots] {
      for (number, node) in siblings.enumerated() { numbers[node] = number }
    }
    for (number, edge) in nesting.edges.enumerated() {
      guard let edge, case .between(let from, let to) = nesting.level(of: edge) else { continue }
      levels[nesting.parents[from], default: []].append((number, from, to))
    }
    placeNodes()
  }

  /// Lays out the groups from the inside to the outside, and then places the nodes from the outside to the
  /// inside.
  private mutating func placeNodes() {
    var sizes = labels.map { (width: $0.width, height: $0.height, mayBeWider: true) }
    func layout(_ nodes: [Int], of group: Int?) -> GraphLayout {
      let edges = (levels[group] ?? []).map { (from: numbers[$0.from], to: numbers[$0.to]) }
      return GraphLayout(nodes.map { sizes[$0] }, edges)
    }
    for group in nesting.order.reversed() where !nesting.children[group].isEmpty {
      let inside = layout(nesting.children[group], of: group)
      layouts[group] = inside
      sizes[group].width = max(sizes[group].width, inside.width + Self.padding * 2)
      sizes[group].height += inside.height + Self.padding * 2
      sizes[group].mayBeWider = false
    }
    layouts[nil] = layout(nesting.roots, of: nil)

    var places = [Frame?](repeating: nil, count: sizes.count)
    for node in nesting.order {
      let (left, top) = Self.origin(of: nesting.parents[node].flatMap { places[$0] })
      guard let box = layouts[nesting.parents[node]]?.boxes[numbers[node]] else { continue }
      places[node] = Frame(
        x: left + box.x,
        y: top + box.y,
        width: box.width,
        height: box.height,
        boxHeight: labels[node].height,
        columnEnd: left + box.columnEnd
      )
    }
    frames = places.compactMap { $0 }
  }

  /// Returns the point at which the children of a group begin, or the nodes without a group.
  func origin(of group: Int?) -> (x: Double, y: Double) {
    Self.origin(of: group.map { frames[$0] })
  }

  private static func origin(of group: Frame?) -> (x: Double, y: Double) {
    guard let group else { return (margin, margin) }
    return (group.x + padding, group.y + group.boxHeight + padding)
  }
}

/// The name and the state of an operation in a box.
struct GraphLabel {
  static let fontSize = 13.0
  static let noteSize = 11.0
  static let lineHeight = 16.0
  static let indent = 10.0
  static let firstBaseline = 20.0

  let lines: [String]
  /// The state in words; nil if the operation waits.
  let note: String?
  /// The size of the box, in any of the usual fonts.
  let width: Double
  let height: Double

  init(_ node: OperationGraph.Node) {
    lines = FoldedName.lines(of: node.name)
    note = node.statusText == OperationStatus.waiting.text ? nil : node.statusText
    // Measure all names in bold, because the name of a group is bold.
    let widths = lines.map { PictureText.width(of: $0, size: Self.fontSize, isBold: true) }
    let noteWidth = PictureText.width(of: note ?? "", size: Self.noteSize)
    width = max(widths.max() ?? 0, noteWidth).rounded(.up) + Self.indent * 2
    height = Self.lineHeight * Double(lines.count + (note == nil ? 0 : 1)) + 14
  }
}
