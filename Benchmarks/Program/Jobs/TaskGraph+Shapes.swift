extension TaskGraph {
  /// Nodes that wait for nothing.
  static func independent(_ count: Int) -> TaskGraph {
    TaskGraph(predecessors: Array(repeating: [], count: count))
  }

  /// Each node waits for the one before.
  static func chain(_ count: Int) -> TaskGraph {
    TaskGraph(predecessors: (0..<count).map { $0 == 0 ? [] : [$0 - 1] })
  }

  /// All but two wait for the first, and the last waits for all of these.
  static func fan(_ count: Int) -> TaskGraph {
    guard count > 2 else { return chain(count) }
    let middle = (1..<(count - 1)).map { _ in [0] }
    return TaskGraph(predecessors: [[]] + middle + [Array(1..<(count - 1))])
  }

  /// A node is waited for by two.
  static func binaryTree(_ count: Int) -> TaskGraph {
    TaskGraph(predecessors: (0..<count).map { $0 == 0 ? [] : [($0 - 1) / 2] })
  }

  /// A square in which each node waits for those above it and to its left.
  static func wavefront(_ count: Int) -> TaskGraph {
    let side = max(1, Int(Double(count).squareRoot()))
    return TaskGraph(
      predecessors: (0..<(side * side)).map { node in
        (node >= side ? [node - side] : []) + (node.isMultiple(of: side) ? [] : [node - 1])
      }
    )
  }

  /// Layers of 64 nodes, each of which waits for one to four of the layer before.
  static func layered(_ count: Int, seed: UInt64) -> TaskGraph {
    let width = 64
    var generator = SplitMix64(seed: seed)
    return TaskGraph(
      predecessors: (0..<count).map { node in
        let layer = node / width
        guard layer > 0 else { return [] }
        let chosen = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
          (layer - 1) * width + Int.random(in: 0..<width, using: &generator)
        }
        return Set(chosen).sorted()
      }
    )
  }

  /// Steps of a computation on a line of `width` cells; `reads` says which cells of the step before
  /// a cell reads, given its own number.
  static func steps(_ count: Int, width: Int, reads: (Int) -> [Int]) -> TaskGraph {
    TaskGraph(
      predecessors: (0..<count).map { node in
        let step = node / width
        guard step > 0 else { return [] }
        let cells = Set(reads(node % width).filter { (0..<width).contains($0) })
        return cells.sorted().map { (step - 1) * width + $0 }
      }
    )
  }
}

/// A small generator with good statistics (Steele, Lea and Flood, 2014).
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
