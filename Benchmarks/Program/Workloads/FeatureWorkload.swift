import AdvancedOperations
import CoreOperations

/// What a feature costs: lanes of our own, compared with the first.
struct FeatureWorkload: Workload {
  let name: String
  let title: String
  /// Half of it for what has no budget.
  let weight: Double
  var pairing: Pairing { .othersWithFirst }
  let makeLanes: @Sendable (Int) -> [Lane]

  init(
    _ name: String,
    _ title: String,
    weight: Double = 0.5,
    lanes: @escaping @Sendable (Int) -> [Lane]
  ) {
    self.name = name
    self.title = title
    self.weight = weight
    makeLanes = lanes
  }

  func lanes(size: Int, contestants: [any Contestant]) -> [Lane] {
    contestants.contains { $0 is OurQueue } ? makeLanes(size) : []
  }
}

// What several of them need.
extension FeatureWorkload {
  /// Adds operations one by one to a queue and waits for all.
  static func run(
    _ size: Int,
    in queue: CoreOperations.OperationQueue = CoreOperations.OperationQueue(),
    _ make: () -> CoreOperations.Operation
  ) {
    for _ in 0..<size { queue.addOperation(make()) }
    queue.waitUntilAllOperationsAreFinished()
  }

  /// Runs operations as one batch, and sees whether they succeeded.
  static func runBatch(_ operations: [AdvancedOperation]) throws {
    let queue = CoreOperations.OperationQueue()
    queue.addOperations(operations)
    queue.waitUntilAllOperationsAreFinished()
    let others = operations.count { if case .succeeded = $0.outcome { false } else { true } }
    try check(others, equals: 0, "operations did not succeed")
  }

  /// A number as a sum of fours and what is left.
  static func fours(_ size: Int) -> [Int] {
    Array(repeating: 4, count: size / 4) + (size % 4 > 0 ? [size % 4] : [])
  }

  static func check(_ found: Int, equals expected: Int, _ what: String) throws {
    guard found == expected else {
      throw WrongResult(description: "\(found) \(what), not \(expected)")
    }
  }
}

/// Counts itself and is finished.
final class CountingOperation: AdvancedOperation, @unchecked Sendable {
  override func execute() {
    RunCount.add()
    finish()
  }
}

/// Counts itself and fails.
final class FailingOperation: AdvancedOperation, @unchecked Sendable {
  struct Failure: Error {}

  override func execute() {
    RunCount.add()
    finish(withError: Failure())
  }
}
