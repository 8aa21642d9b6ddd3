import AdvancedOperations
import CoreOperations
import Dispatch

extension FeatureWorkload {
  /// One reason that reaches everything, before it runs and while groups do.
  static let cancelTree = FeatureWorkload("cancel-tree", "a cancel whose reason reaches all") {
    size in
    [
      Lane("no group", operations: size, expectedRuns: 0) { _ in
        let operations = (0..<size).map { _ in CountingOperation() }
        cancelSuspended(operations)
        try check(operations)
      },
      Lane("one group", operations: size, expectedRuns: 0) { _ in
        let operations = (0..<size).map { _ in CountingOperation() }
        cancelSuspended([GroupOperation { operations }])
        try check(operations)
      },
      Lane("a tree of groups", operations: size, expectedRuns: 0) { _ in
        let tree = GroupTree(leaves: size) { CountingOperation() }
        cancelSuspended([tree.root])
        try check(tree.leaves + tree.groups)
      },
      Lane("a tree that runs", operations: size, expectedRuns: 0) { _ in
        let tree = GroupTree(leaves: size) { CountingOperation() }
        cancelRunning(tree)
        try check(tree.leaves + tree.groups)
      },
    ]
  }

  private struct Reason: Error {}

  private static func cancelSuspended(_ operations: [AdvancedOperation]) {
    let queue = AdvancedOperationQueue()
    queue.isSuspended = true
    queue.addOperations(operations)
    queue.cancelAllOperations(withError: Reason())
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
  }

  /// Cancels the root when every group has started; what is in them waits for one that is in no
  /// queue.
  private static func cancelRunning(_ tree: GroupTree) {
    let queue = AdvancedOperationQueue()
    let gate = CoreOperations.BlockOperation()
    for leaf in tree.leaves { leaf.addDependency(gate) }
    let started = DispatchGroup()
    for group in tree.groups {
      started.enter()
      group.onStart { _ in started.leave() }
    }
    queue.addOperation(tree.root)
    started.wait()
    tree.root.cancel(withError: Reason())
    queue.waitUntilAllOperationsAreFinished()
  }

  /// Children of a group that never executed leave on their own, perhaps after it.
  private static func check(_ operations: [AdvancedOperation]) throws {
    for operation in operations { operation.waitUntilFinished() }
    let cancelled = operations.count { $0.cancellationReason is Reason }
    try check(cancelled, equals: operations.count, "have the reason")
  }
}
