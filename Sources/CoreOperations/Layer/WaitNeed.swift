/// Something that has to happen before an operation can go on.
package enum WaitNode: Hashable, Sendable {
  /// The operation starts, or goes on after a pause.
  case start(Operation)
  /// The operation finishes.
  case end(Operation)
  /// The operation gives back its slot and leaves its queue.
  case quiet(Operation)

  var operation: Operation {
    switch self {
    case .start(let operation), .end(let operation), .quiet(let operation): operation
    }
  }
}

/// One thing that a node needs: so many of some others that what they give is enough.
package struct WaitNeed: Hashable, Sendable {
  package struct Source: Hashable, Sendable {
    let node: WaitNode
    /// What comes of it, in units of the need.
    let units: Int

    package init(_ node: WaitNode, units: Int) {
      self.node = node
      self.units = units
    }
  }

  let sources: [Source]
  let units: Int
  /// Tells two waits for the same apart; 0 where that can't happen.
  let stamp: UInt64
  /// Whether a dependency is what makes it wait.
  let isDependency: Bool

  /// At most as many units as come of all sources are needed.
  package init(units: Int, from sources: [Source]) {
    self.sources = sources
    self.units = min(units, sources.reduce(0) { $0 + $1.units })
    stamp = 0
    isDependency = false
  }

  package init(_ node: WaitNode, stamp: UInt64 = 0, isDependency: Bool = false) {
    sources = [Source(node, units: 1)]
    units = 1
    self.stamp = stamp
    self.isDependency = isDependency
  }

  init(anyOf nodes: [WaitNode]) {
    self.init(units: 1, from: nodes.map { Source($0, units: 1) })
  }
}
