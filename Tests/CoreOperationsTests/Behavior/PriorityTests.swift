import AdvancedOperationsTesting
import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Priorities` {
  typealias Priority = Operation.QueuePriority

  private let executor = ManualExecutor()
  private let queue: OperationQueue
  private let log = Log<String>()

  init() {
    queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 1
  }

  private func operation(
    _ name: String,
    _ priority: Priority = .normal,
    _ body: @escaping @Sendable () -> Void = {}
  ) -> Operation {
    let operation = BlockOperation { [log] in
      log.add(name)
      body()
    }
    operation.queuePriority = priority
    return operation
  }

  @Test func `an operation's priority is normal unless it is set`() {
    let operation = Operation()
    #expect(operation.queuePriority == .normal)
    for priority in Priority.allCases {
      operation.queuePriority = priority
      #expect(operation.queuePriority == priority)
    }
  }

  @Test func `ready operations start in the order of their priorities`() {
    for priority in [Priority.low, .veryHigh, .normal, .veryLow, .high] {
      queue.addOperation(operation("\(priority) 1", priority))
      queue.addOperation(operation("\(priority) 2", priority))
    }
    executor.runAll()
    #expect(
      log.entries == [
        "veryHigh 1", "veryHigh 2", "high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2",
        "veryLow 1", "veryLow 2",
      ]
    )
  }

  @Test func `an urgent operation never overtakes its dependency`() {
    let low = operation("low", .veryLow)
    let high = operation("high", .veryHigh)
    high.addDependency(low)
    queue.addOperations([high, low, operation("normal")])
    executor.runAll()
    #expect(log.entries == ["normal", "low", "high"])
  }

  @Test func `operations of equal priority start in adding order`() {
    let gates = (0..<3).map { _ in Operation() }
    let waiting = (0..<3).map { operation("\($0)") }
    for (gate, operation) in zip(gates, waiting) { operation.addDependency(gate) }
    queue.addOperations(waiting)
    for index in [2, 0, 1] { gates[index].start() }
    executor.runAll()
    #expect(log.entries == ["0", "1", "2"])
  }

  @Test func `a late operation of the highest priority overtakes all waiting ones`() {
    let first = operation("first", .normal) { [queue, log] in
      let urgent = BlockOperation { log.add("urgent") }
      urgent.queuePriority = .veryHigh
      queue.addOperation(urgent)
    }
    queue.addOperation(first)
    for number in 0..<200 { queue.addOperation(operation("\(number)", .high)) }
    first.queuePriority = .veryHigh
    executor.runAll()
    #expect(log.entries.prefix(3) == ["first", "urgent", "0"])
    #expect(log.count == 202)
  }

  @Test func `a priority that is changed in the waiting list applies from then on`() {
    let names = ["a", "b", "c", "d"]
    let operations = names.map { operation($0) }
    queue.addOperations(operations)
    operations[2].queuePriority = .high
    operations[0].queuePriority = .low
    executor.runAll()
    #expect(log.entries == ["c", "b", "d", "a"])
  }

  @Test func `operations with changed priorities keep adding order among equals`() {
    let first = operation("first")
    let early = operation("early", .high)
    let late = operation("late")
    let middle = operation("middle", .high)
    queue.addOperations([first, early, late, middle])
    first.queuePriority = .high
    late.queuePriority = .veryHigh
    late.queuePriority = .high
    executor.runAll()
    #expect(log.entries == ["first", "early", "late", "middle"])
  }

  @Test func `repeated changes of priorities keep the waiting list intact`() {
    let operations = (0..<300).map { operation("\($0)") }
    queue.addOperations(operations)
    var random = SplitMix64(seed: 7)
    for _ in 0..<Effort.rounds(3_000) {
      let index = Int.random(in: 0..<300, using: &random)
      operations[index].queuePriority = Priority.allCases.randomElement(using: &random) ?? .normal
    }
    let expected = operations.indices.sorted { a, b in
      let (first, second) = (operations[a].queuePriority, operations[b].queuePriority)
      return first == second ? a < b : first > second
    }
    executor.runAll()
    #expect(log.entries == expected.map { "\($0)" })
  }

  @Test func `a priority that is changed before readiness or behind a barrier applies`() {
    let dependency = operation("dependency")
    let waiting = operation("waiting")
    waiting.addDependency(dependency)
    queue.addOperations([dependency, waiting, operation("other")])
    waiting.queuePriority = .high
    queue.addBarrierBlock { [log] in log.add("barrier") }
    let behind = operation("behind")
    queue.addOperations([operation("first"), behind])
    behind.queuePriority = .veryHigh
    executor.runAll()
    #expect(
      log.entries == ["dependency", "waiting", "other", "barrier", "behind", "first"]
    )
  }

  @Test func `a priority that is changed after the start does no harm`() {
    let operation = SelfKept()
    queue.addOperation(operation)
    executor.runAll()
    operation.queuePriority = .veryLow
    operation.end()
    operation.queuePriority = .high
    #expect(operation.queuePriority == .high)
    queue.addOperation(self.operation("next"))
    executor.runAll()
    #expect(log.entries == ["next"])
  }
}
