import AdvancedOperationsTesting
import TestSupport
import Testing

@testable import CoreOperations

@Suite(.watched, .heavy) struct `The search for cycles` {
  @Test func `large chains, trees and fans never start a search`() async throws {
    let count = Effort.size(20_000)
    var shapes: [[Operation]] = []
    let forwards = (0..<count).map { _ in Operation() }
    for index in 1..<count { forwards[index].addDependency(forwards[index - 1]) }
    shapes.append(forwards)
    let backwards = (0..<count).map { _ in Operation() }
    for index in (1..<count).reversed() { backwards[index].addDependency(backwards[index - 1]) }
    shapes.append(backwards)
    let tree = (0..<count).map { _ in Operation() }
    for index in 1..<count { tree[index].addDependency(tree[(index - 1) / 2]) }
    shapes.append(tree)
    let upwards = (0..<count).map { _ in Operation() }
    for index in 1..<count { upwards[(index - 1) / 2].addDependency(upwards[index]) }
    shapes.append(upwards)
    let fan = (0..<count).map { _ in Operation() }
    for index in 1..<count - 1 {
      fan[index].addDependency(fan[0])
      fan[count - 1].addDependency(fan[index])
    }
    shapes.append(fan)
    let queue = OperationQueue()
    for shape in shapes {
      queue.addOperations(shape)
      try await queue.untilAllOperationsAreFinished()
    }
    let operations = shapes.joined()
    #expect(operations.allSatisfy { $0.isFinished && !$0.isCancelled })
    // Only marked operations are searched from.
    #expect(!operations.contains { $0.withLinks { $0.mayBeInCycle } })
  }

  @Test(arguments: Effort.seeds(300))
  func `random graphs lose exactly the operations of their cycles`(seed: UInt64) async throws {
    var generator = SplitMix64(seed: seed)
    let count = Int.random(in: 2...24, using: &generator)
    let edgeCount = Int.random(in: 1...count * 2, using: &generator)
    let operations = (0..<count).map { _ in Operation() }
    var reaches = (0..<count).map { _ in Set<Int>() }
    for _ in 0..<edgeCount {
      let from = Int.random(in: 0..<count, using: &generator)
      let to = Int.random(in: 0..<count, using: &generator)
      if from == to { continue }
      operations[from].addDependency(operations[to])
      reaches[from].insert(to)
    }
    // Warshall's closure: in a cycle is who reaches itself.
    for middle in 0..<count {
      for from in 0..<count where reaches[from].contains(middle) {
        reaches[from].formUnion(reaches[middle])
      }
    }
    let queue = OperationQueue()
    if Bool.random(using: &generator) {
      queue.addOperations(operations.shuffled(using: &generator))
    } else {
      // Nothing may start before the last was added, or edges would be gone.
      queue.isSuspended = true
      for operation in operations.shuffled(using: &generator) { queue.addOperation(operation) }
      queue.isSuspended = false
    }
    try await queue.untilAllOperationsAreFinished()
    for (index, operation) in operations.enumerated() {
      let isInCycle = reaches[index].contains(index)
      #expect(operation.isCancelled == isInCycle, "seed \(seed), operation \(index)")
      #expect(isInCycle == (operation.cancellationReason is OperationCycleError))
    }
  }
}
