import AdvancedOperations
import CoreOperations

extension FeatureWorkload {
  /// Children of groups, beside the same operations in a queue.
  static let groups = FeatureWorkload("groups", "operations as children of groups") { size in
    [
      Lane("no group", operations: size) { _ in
        try runBatch((0..<size).map { _ in CountingOperation() })
      },
      Lane("one group", operations: size) { _ in try runBatch([group(size)]) },
      Lane("groups of 4", operations: size) { _ in
        try runBatch(fours(size).map { group($0) })
      },
      Lane("a tree of groups", operations: size) { _ in
        try runBatch([GroupTree(leaves: size) { CountingOperation() }.root])
      },
      Lane("recovered errors", operations: size) { _ in
        try runBatch(
          fours(size).map { count in
            let group = GroupOperation { (0..<count).map { _ in FailingOperation() } }
            group.mapChildErrors { _, _ in nil }
            return group
          }
        )
      },
      // Nothing executes but the first of each group, which the others wait for.
      Lane("failed fast", operations: size, expectedRuns: fours(size).count) { _ in
        let groups = fours(size).map { failingFast($0) }
        CoreOperations.OperationQueue().addOperations(groups, waitUntilFinished: true)
        let cancelled = groups.reduce(0) { $0 + $1.children.count(where: \.isCancelled) }
        try check(cancelled, equals: size - groups.count, "children were cancelled")
      },
      Lane("rolled back", operations: size, expectedRuns: 2 * size) { _ in
        let queue = CoreOperations.OperationQueue()
        let groups = fours(size).map { rollingBack($0) }
        queue.addOperations(groups)
        queue.waitUntilAllOperationsAreFinished()
        let failed = groups.count { if case .failed = $0.outcome { true } else { false } }
        try check(failed, equals: groups.count, "groups failed")
      },
    ]
  }

  private static func group(_ size: Int) -> GroupOperation {
    GroupOperation { (0..<size).map { _ in CountingOperation() } }
  }

  /// A group whose first child fails, while the others wait for it.
  private static func failingFast(_ size: Int) -> GroupOperation {
    let first = FailingOperation()
    return GroupOperation(errorPolicy: .failFast) {
      first
      for _ in 1..<max(size, 1) { dependent(on: first) }
    }
  }

  private static func dependent(on other: AdvancedOperation) -> AdvancedOperation {
    let operation = CountingOperation()
    operation.addDependency(other)
    return operation
  }

  /// A group whose children fail, and each register what undoes it.
  private static func rollingBack(_ size: Int) -> GroupOperation {
    let group = GroupOperation()
    for _ in 0..<size {
      let child = FailingOperation()
      child.onRollback { RunCount.add() }
      _ = group.addOperation(child)
    }
    return group
  }
}

/// Groups of four in groups of four, up to one.
struct GroupTree {
  let leaves: [AdvancedOperation]
  let groups: [GroupOperation]
  var root: GroupOperation { groups[groups.count - 1] }

  init(leaves count: Int, make: () -> AdvancedOperation) {
    leaves = (0..<count).map { _ in make() }
    var groups: [GroupOperation] = []
    var level = leaves
    repeat {
      let above = stride(from: 0, to: level.count, by: 4).map { begin in
        GroupOperation { Array(level[begin..<min(begin + 4, level.count)]) }
      }
      groups += above
      level = above
    } while level.count > 1
    self.groups = groups
  }
}
