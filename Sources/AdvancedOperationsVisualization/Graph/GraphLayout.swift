/// A layout of boxes that arrows connect, in columns from left to right.
///
/// A box is in a column to the right of all boxes that it depends on. An arrow over several columns has a
/// separate place in each column between, so arrows don't cross boxes.
///
/// The method is that of K. Sugiyama, S. Tagawa and M. Toda, “Methods for visual understanding of
/// hierarchical system structures”, IEEE Transactions on Systems, Man, and Cybernetics 11, 1981. This method
/// reverses the edges that complete a cycle, chooses columns, and orders each column by the means of its
/// neighbors.
struct GraphLayout {
  struct Box {
    var (x, y) = (0.0, 0.0)
    var width: Double
    let height: Double
    /// The right end of the column.
    fileprivate(set) var columnEnd = 0.0

    fileprivate init(width: Double = 0, height: Double = 0) {
      (self.width, self.height) = (width, height)
    }

    var right: Double { x + width }
    var middle: Double {
      get { y + height / 2 }
      set { y = newValue - height / 2 }
    }
  }

  /// The way of one edge, from the left to the right.
  struct Way {
    /// The box where the arrow begins, its places in the columns between, and the box where it ends.
    fileprivate(set) var boxes: [Int]
    /// Whether the edge leads from the right to the left, because it completes a cycle.
    let isReversed: Bool
  }

  private enum Side {
    case before, after
  }

  private static let columnGap = 52.0
  private static let rowGap = 14.0
  /// The greatest number of places of arrows in columns; a drawing with more places shows nothing.
  private static let mostPlaces = 5_000

  /// The boxes of the nodes, followed by the places of arrows in the columns between.
  private(set) var boxes: [Box]
  /// The way of each edge.
  private(set) var ways: [Way] = []
  private var columns: [[Int]] = []
  private var before: [[Int]]
  private var after: [[Int]]

  var width: Double { boxes.reduce(0) { max($0, $1.right) } }
  var height: Double { boxes.reduce(0) { max($0, $1.y + $1.height) } }

  /// Places boxes to the right of the origin and below it.
  ///
  /// - Parameters:
  ///   - sizes: The sizes of the boxes. In a column, all boxes that may be wider become equally wide.
  ///   - edges: The boxes between which arrows lead.
  /// - Precondition: No edge leads from a box to itself.
  /// - Complexity: O((n + e) log n), n the number of boxes and e the number of edges.
  init(
    _ sizes: [(width: Double, height: Double, mayBeWider: Bool)],
    _ edges: [(from: Int, to: Int)]
  ) {
    boxes = sizes.map { Box(width: $0.width, height: $0.height) }
    let reversed = Self.cycleEdges(sizes.count, edges)
    let forward = zip(edges, reversed).map { $1 ? (from: $0.to, to: $0.from) : $0 }
    var depths = Self.depths(sizes.count, forward)
    let places = forward.reduce(0) { $0 + depths[$1.to] - depths[$1.from] - 1 }
    for (edge, isReversed) in zip(forward, reversed) {
      var way = Way(boxes: [edge.from], isReversed: isReversed)
      if places <= Self.mostPlaces {
        for depth in (depths[edge.from] + 1)..<depths[edge.to] {
          way.boxes.append(depths.count)
          depths.append(depth)
        }
      }
      way.boxes.append(edge.to)
      ways.append(way)
    }
    boxes += [Box](repeating: Box(), count: depths.count - boxes.count)
    before = [[Int]](repeating: [], count: boxes.count)
    after = before
    for way in ways {
      for (from, to) in zip(way.boxes, way.boxes.dropFirst()) {
        after[from].append(to)
        before[to].append(from)
      }
    }
    columns = [[Int]](repeating: [], count: (depths.max() ?? -1) + 1)
    for (node, depth) in depths.enumerated() { columns[depth].append(node) }
    placeColumns(sizes.map(\.mayBeWider))
    placeRows()
  }

  // MARK: Columns

  /// Returns for each edge whether it leads back to a node on the path of the search.
  ///
  /// A graph without these edges has no cycle.
  private static func cycleEdges(_ count: Int, _ edges: [(from: Int, to: Int)]) -> [Bool] {
    enum Visit { case none, open, done }
    var outgoing = [[Int]](repeating: [], count: count)
    for (number, edge) in edges.enumerated() { outgoing[edge.from].append(number) }
    var visits = [Visit](repeating: .none, count: count)
    var isCycleEdge = [Bool](repeating: false, count: edges.count)
    for start in 0..<count where visits[start] == .none {
      // Without recursion, because chains may be long.
      var stack = [(node: start, next: 0)]
      visits[start] = .open
      while let (node, next) = stack.last {
        guard next < outgoing[node].count else {
          visits[node] = .done
          stack.removeLast()
          continue
        }
        stack[stack.count - 1].next += 1
        let edge = outgoing[node][next]
        switch visits[edges[edge].to] {
        case .none:
          visits[edges[edge].to] = .open
          stack.append((edges[edge].to, 0))
        case .open: isCycleEdge[edge] = true
        case .done: break
        }
      }
    }
    return isCycleEdge
  }

  /// Returns the number of columns to the left of each node: the longest path to it (Kahn's algorithm).
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

  private mutating func placeColumns(_ mayBeWider: [Bool]) {
    var x = 0.0
    for column in columns {
      let flexible = column.filter { $0 < mayBeWider.count && mayBeWider[$0] }
      let common = flexible.reduce(0) { max($0, boxes[$1].width) }
      for node in flexible { boxes[node].width = common }
      let end = x + column.reduce(0) { max($0, boxes[$1].width) }
      for node in column { (boxes[node].x, boxes[node].columnEnd) = (x, end) }
      x = end + Self.columnGap
    }
  }

  // MARK: Rows

  /// Moves boxes to the mean of their neighbors on one side, and then on the other, a few times.
  private mutating func placeRows() {
    for column in columns { place(column, at: [Double](repeating: 0, count: column.count)) }
    for _ in 0..<4 {
      for index in columns.indices.dropLast().reversed() { sort(index, by: .after) }
      for index in columns.indices.dropFirst() { sort(index, by: .before) }
    }
    // The order is final now. Move boxes between their neighbors on both sides.
    for _ in 0..<8 {
      for index in columns.indices.reversed() + Array(columns.indices) {
        place(columns[index], at: columns[index].map { mean($0, of: .before, .after) })
      }
    }
    // Make chains straight.
    for column in columns { place(column, at: column.map { mean($0, of: .before) }) }
    let top = boxes.map(\.y).min() ?? 0
    for node in boxes.indices { boxes[node].y -= top }
  }

  private mutating func sort(_ index: Int, by side: Side) {
    let sorted = columns[index].map { (mean: mean($0, of: side), node: $0) }
      .sorted { ($0.mean, boxes[$0.node].y, $0.node) < ($1.mean, boxes[$1.node].y, $1.node) }
    columns[index] = sorted.map(\.node)
    place(columns[index], at: sorted.map(\.mean))
  }

  /// Returns the mean of the middles of a box's neighbors.
  ///
  /// A neighbor that has many neighbors on this side has less weight, because it is in the middle of them
  /// anyway. Otherwise it would draw the box away from a neighbor that has only this box.
  private func mean(_ node: Int, of sides: Side...) -> Double {
    var (sum, weights) = (0.0, 0.0)
    for side in sides {
      for neighbor in side == .before ? before[node] : after[node] {
        let rivals = side == .before ? after[neighbor].count : before[neighbor].count
        sum += boxes[neighbor].middle / Double(rivals)
        weights += 1 / Double(rivals)
      }
    }
    return weights > 0 ? sum / weights : boxes[node].middle
  }

  /// Places a column, in its order, as near to the wanted middles as there is room for.
  ///
  /// Boxes that would overlap are placed below each other, around the mean of their wanted middles. This
  /// results in the least sum of the squares of the distances (pool adjacent violators).
  private mutating func place(_ column: [Int], at wanted: [Double]) {
    // The distance of each middle from the first one, if all boxes are close together.
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
