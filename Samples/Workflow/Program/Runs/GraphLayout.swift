/// Where the boxes of a graph stand: in columns, each beside what it belongs to.
struct GraphLayout {
  struct Box {
    var (x, y) = (0.0, 0.0)
    var width: Double
    var height: Double

    init(width: Double = 0, height: Double = 0) { (self.width, self.height) = (width, height) }

    var middle: Double {
      get { y + height / 2 }
      set { y = newValue - height / 2 }
    }
  }

  private enum Side {
    case before, after
  }

  private static let columnGap = 60.0
  private static let rowGap = 12.0
  /// Arrows over several columns have places of their own in them, unless they are too many.
  private static let mostPlaces = 5_000

  /// Those of the nodes, and then the places of arrows between columns.
  private(set) var boxes: [Box]
  /// Each arrow: where it begins, its places, where it ends.
  private(set) var ways: [[Int]] = []
  private var columns: [[Int]] = []
  private var before: [[Int]]
  private var after: [[Int]]

  var width: Double { boxes.map { $0.x + $0.width }.max() ?? 0 }
  var height: Double { boxes.map { $0.y + $0.height }.max() ?? 0 }

  /// - Parameters:
  ///   - sizes: Those of the nodes.
  ///   - edges: What leads from which node to which.
  ///   - margin: What stays free on the left and above.
  init(_ sizes: [(width: Double, height: Double)], _ edges: [(from: Int, to: Int)], margin: Double)
  {
    boxes = sizes.map(Box.init)
    var depths = Self.depths(sizes.count, edges)
    let places = edges.reduce(0) { $0 + max(depths[$1.to] - depths[$1.from] - 1, 0) }
    for edge in edges {
      var way = [edge.from]
      if places <= Self.mostPlaces {
        for depth in (depths[edge.from] + 1)..<max(depths[edge.to], depths[edge.from] + 1) {
          way.append(depths.count)
          depths.append(depth)
        }
      }
      ways.append(way + [edge.to])
    }
    boxes += [Box](repeating: Box(), count: depths.count - boxes.count)
    before = [[Int]](repeating: [], count: boxes.count)
    after = before
    for way in ways {
      for (from, to) in zip(way, way.dropFirst()) {
        after[from].append(to)
        before[to].append(from)
      }
    }
    columns = [[Int]](repeating: [], count: (depths.max() ?? -1) + 1)
    for (node, depth) in depths.enumerated() { columns[depth].append(node) }
    placeColumns(margin)
    placeRows(margin)
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

  private mutating func placeColumns(_ margin: Double) {
    var x = margin
    for column in columns {
      let width = column.map { boxes[$0].width }.max() ?? 0
      for node in column {
        boxes[node].x = x
        boxes[node].width = width
      }
      x += width + Self.columnGap
    }
  }

  /// Beside the mean of what comes after, and then of what comes before, a few times: in the end,
  /// what needs the same stands together.
  private mutating func placeRows(_ margin: Double) {
    for column in columns { place(column, at: [Double](repeating: 0, count: column.count)) }
    for _ in 0..<4 {
      for index in columns.indices.dropLast().reversed() { sort(index, by: .after) }
      for index in columns.indices.dropFirst() { sort(index, by: .before) }
    }
    // The order stays now; what both sides pull at stands between them.
    for _ in 0..<8 {
      for index in columns.indices.reversed() + Array(columns.indices) {
        place(columns[index], at: columns[index].map { mean($0, of: .before, .after) })
      }
    }
    // Such that chains are straight.
    for column in columns { place(column, at: column.map { mean($0, of: .before) }) }
    let top = boxes.map(\.y).min() ?? 0
    for node in boxes.indices { boxes[node].y += margin - top }
  }

  private mutating func sort(_ index: Int, by side: Side) {
    let sorted = columns[index].map { (mean: mean($0, of: side), node: $0) }
      .sorted { ($0.mean, boxes[$0.node].y, $0.node) < ($1.mean, boxes[$1.node].y, $1.node) }
    columns[index] = sorted.map(\.node)
    place(columns[index], at: sorted.map(\.mean))
  }

  /// A neighbour counts less the more nodes pull at it from the same side: it stands in the middle
  /// of them anyway, and would draw them away from what they alone belong to.
  private func mean(_ node: Int, of sides: Side...) -> Double {
    var (sum, weights) = (0.0, 0.0)
    for side in sides {
      let neighbours = side == .before ? before[node] : after[node]
      for neighbour in neighbours {
        let rivals = side == .before ? after[neighbour].count : before[neighbour].count
        sum += boxes[neighbour].middle / Double(rivals)
        weights += 1 / Double(rivals)
      }
    }
    return weights > 0 ? sum / weights : boxes[node].middle
  }

  /// Places a column, in its order, as near to the wanted places as there is room for.
  ///
  /// What would overlap stands together, around the mean of the places that it wants: the least
  /// sum of the squares of the distances to them (pool adjacent violators).
  private mutating func place(_ column: [Int], at wanted: [Double]) {
    // How far below the first of the column each stands if there is nothing between them.
    var offsets: [Double] = []
    for (index, node) in column.enumerated() {
      guard let last = offsets.last else {
        offsets.append(0)
        continue
      }
      let height = (boxes[column[index - 1]].height + boxes[node].height) / 2
      offsets.append(last + height + Self.rowGap)
    }
    var blocks: [(sum: Double, count: Int)] = []
    for (place, offset) in zip(wanted, offsets) {
      var block = (sum: place - offset, count: 1)
      while let last = blocks.last,
        last.sum / Double(last.count) >= block.sum / Double(block.count)
      {
        block = (block.sum + last.sum, block.count + last.count)
        blocks.removeLast()
      }
      blocks.append(block)
    }
    var index = 0
    for block in blocks {
      for _ in 0..<block.count {
        boxes[column[index]].middle = block.sum / Double(block.count) + offsets[index]
        index += 1
      }
    }
  }
}
