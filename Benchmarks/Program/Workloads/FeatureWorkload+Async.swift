import AdvancedOperations
import CoreOperations
import Dispatch

extension FeatureWorkload {
  /// An async condition, beside one bare task and an operation without it.
  static let asyncCondition = FeatureWorkload(
    "async-condition",
    "a condition that is evaluated in a task",
    weight: 1
  ) { size in
    [
      Lane("Task + Advanced", operations: size, expectedRuns: 2 * size) { _ in
        let queue = CoreOperations.OperationQueue()
        let group = DispatchGroup()
        for _ in 0..<size {
          startTask(group)
          queue.addOperation(CountingOperation())
        }
        group.wait()
        queue.waitUntilAllOperationsAreFinished()
      },
      Lane("async condition", operations: size, expectedRuns: 2 * size) { _ in
        let queue = CoreOperations.OperationQueue()
        for _ in 0..<size {
          let operation = CountingOperation()
          operation.addCondition(AsyncCondition())
          queue.addOperation(operation)
        }
        queue.waitUntilAllOperationsAreFinished()
      },
    ]
  }

  /// Async bodies, beside bare tasks.
  static let results = FeatureWorkload(
    "result",
    "an async body with a result",
    weight: 1
  ) { size in
    [
      Lane("Task", operations: size) { _ in
        let group = DispatchGroup()
        for _ in 0..<size { startTask(group) }
        group.wait()
      },
      Lane("ResultOperation", operations: size) { _ in
        let queue = CoreOperations.OperationQueue()
        for node in 0..<size {
          queue.addOperation(
            ResultOperation {
              RunCount.add()
              return node
            }
          )
        }
        queue.waitUntilAllOperationsAreFinished()
      },
      Lane("async closure", operations: size) { _ in
        let queue = CoreOperations.OperationQueue()
        let body: @Sendable () async -> Void = { RunCount.add() }
        for _ in 0..<size { queue.addOperation(body) }
        queue.waitUntilAllOperationsAreFinished()
      },
      Lane("value of a chain of 2", operations: size, expectedRuns: 2 * size) { _ in
        let queue = CoreOperations.OperationQueue()
        for node in 0..<size {
          let first = ResultOperation {
            RunCount.add()
            return node
          }
          let second = first.then { value in
            RunCount.add()
            return value + 1
          }
          queue.addOperations([first, second])
        }
        queue.waitUntilAllOperationsAreFinished()
      },
      Lane("value awaited", operations: size) { _ in
        Blocking.run {
          let queue = CoreOperations.OperationQueue()
          let operations = (0..<size).map { node in ResultOperation { node } }
          queue.addOperations(operations)
          for (node, operation) in operations.enumerated()
          where (try? await operation.value) == node { RunCount.add() }
        }
      },
      Lane("after: 2 others", operations: size, expectedRuns: size) { _ in
        let queue = CoreOperations.OperationQueue()
        for node in 0..<size {
          let first = ResultOperation { node }
          let second = ResultOperation { 1 }
          let sum = ResultOperation(after: first, second) { first, second in
            if first + second == node + 1 { RunCount.add() }
          }
          queue.addOperations([first, second, sum])
        }
        queue.waitUntilAllOperationsAreFinished()
      },
    ]
  }

  /// Async bodies that suspend once, beside bare tasks that do.
  static let suspendingResults = FeatureWorkload(
    "result-suspending",
    "an async body that suspends once",
    weight: 1
  ) { size in
    [
      Lane("Task", operations: size) { _ in
        let group = DispatchGroup()
        for _ in 0..<size { startTask(group, suspending: true) }
        group.wait()
      },
      Lane("ResultOperation", operations: size) { _ in
        let queue = CoreOperations.OperationQueue()
        for node in 0..<size {
          queue.addOperation(
            ResultOperation {
              await Task.yield()
              RunCount.add()
              return node
            }
          )
        }
        queue.waitUntilAllOperationsAreFinished()
      },
      Lane("async closure", operations: size) { _ in
        let queue = CoreOperations.OperationQueue()
        let body: @Sendable () async -> Void = {
          await Task.yield()
          RunCount.add()
        }
        for _ in 0..<size { queue.addOperation(body) }
        queue.waitUntilAllOperationsAreFinished()
      },
    ]
  }

  /// One bare task; the group says when all have ended.
  private static func startTask(_ group: DispatchGroup, suspending: Bool = false) {
    group.enter()
    Task.detached {
      if suspending { await Task.yield() }
      RunCount.add()
      group.leave()
    }
  }
}

/// Holds, and says so in a task.
private struct AsyncCondition: OperationCondition {
  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    RunCount.add()
    return .satisfied
  }
}
