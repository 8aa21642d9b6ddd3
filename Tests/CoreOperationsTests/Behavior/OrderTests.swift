import AdvancedOperationsTesting
import TestSupport
import Testing

@testable import CoreOperations

/// Operations that are ready start by priority, and in the order of adding.
@Suite(.watched) struct `The order of starts` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue
  private let log = Log<String>()

  init() {
    queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 1
  }

  private func operation(_ name: String) -> BlockOperation {
    BlockOperation { [log] in log.add(name) }
  }

  @Test func `operations that one end makes ready start in adding order`() {
    let (a, b, c) = (operation("a"), operation("b"), operation("c"))
    c.addDependency(a)
    b.addDependency(a)
    queue.addOperations([a, b, c])
    executor.runAll()
    #expect(log.entries == ["a", "b", "c"])
  }

  @Test func `an operation that becomes ready starts before later ready operations`() {
    let (a, b, c) = (operation("a"), operation("b"), operation("c"))
    b.addDependency(a)
    for operation in [a, b, c] { queue.addOperation(operation) }
    executor.runAll()
    #expect(log.entries == ["a", "b", "c"])
  }

  @Test func `the order of starts survives a renumbering`() {
    var members = QueueMembers(lastNumber: .max - 2)
    let operations = (0..<5).map { _ in Operation() }
    for operation in operations { members.append(Member(operation)) }
    #expect(members.operations == operations)
    let numbers = operations.map { $0.scheduling.number }
    #expect(numbers == numbers.sorted())
    #expect(Set(numbers).count == 5)
    for operation in operations {
      members.remove(Member(operation))
      _ = Member(operation).released()
    }
  }

  /// A queue with limit 1 takes, of the operations that are ready, the most urgent and among equals
  /// the one that was added first, as a search through all of them finds it.
  @Test(arguments: Effort.seeds(200))
  func `the order of starts equals a search through all ready operations`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let count = Int.random(in: 2...30, using: &random)
    let operations = (0..<count).map { operation("\($0)") }
    for operation in operations {
      if Bool.random(using: &random) {
        operation.queuePriority =
          Operation.QueuePriority.allCases.randomElement(using: &random) ?? .normal
      }
    }
    // Edges lead from a lower to a higher rank, which isn't the order of adding, in any order.
    let ranks = (0..<count).shuffled(using: &random)
    var edges: [(earlier: Int, later: Int)] = []
    for _ in 0..<Int.random(in: 0...(2 * count), using: &random) {
      let earlier = Int.random(in: 0..<count, using: &random)
      let later = Int.random(in: 0..<count, using: &random)
      if ranks[earlier] < ranks[later] { edges.append((earlier, later)) }
    }
    for edge in edges { operations[edge.later].addDependency(operations[edge.earlier]) }
    queue.isSuspended = true
    if Bool.random(using: &random) {
      queue.addOperations(operations)
    } else {
      for operation in operations { queue.addOperation(operation) }
    }
    if Bool.random(using: &random) {
      operations[0].queuePriority = .veryHigh
      operations[0].queuePriority = .normal
    }
    queue.isSuspended = false
    executor.runAll()

    var expected: [String] = []
    var left = Set(0..<count)
    while !left.isEmpty {
      let ready = left.filter { piece in
        !edges.contains { $0.later == piece && left.contains($0.earlier) }
      }
      guard
        let next = ready.min(by: { a, b in
          let (first, second) = (operations[a].queuePriority, operations[b].queuePriority)
          return first == second ? a < b : first > second
        })
      else { break }
      left.remove(next)
      expected.append("\(next)")
    }
    #expect(log.entries == expected)
  }
}
