import AdvancedOperationsTesting
import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Dependencies of a queued operation` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue

  init() { queue = OperationQueue(executor: executor) }

  @Test func `a dependency that is added to a waiting operation delays it`() {
    let first = Operation()
    let late = Operation()
    let child = Operation()
    child.addDependency(first)
    queue.addOperation(child)
    child.addDependency(late)
    first.start()
    executor.runAll()
    #expect(!child.isFinished)
    late.start()
    executor.runAll()
    #expect(child.isFinished)
  }

  @Test func `a dependency that is added to a ready operation delays it`() {
    let late = Operation()
    let child = Operation()
    queue.addOperation(child)
    #expect(child.isReady)
    child.addDependency(late)
    #expect(!child.isReady)
    let other = Operation()
    queue.addOperation(other)
    executor.runAll()
    #expect(other.isFinished)
    #expect(!child.isFinished)
    late.start()
    executor.runAll()
    #expect(child.isFinished)
  }

  @Test func `a ready operation keeps its place if a late dependency finishes early`() {
    let log = Log<Int>()
    let late = Operation()
    let operations = (0..<3).map { number in BlockOperation { log.add(number) } }
    queue.addOperations(operations)
    operations[0].addDependency(late)
    late.start()
    executor.runAll()
    #expect(log.entries == [0, 1, 2])
  }

  @Test func `an operation's place depends on its adding rather than its dependencies`() {
    let log = Log<Int>()
    let late = Operation()
    let operations = (0..<3).map { number in
      BlockOperation {
        log.add(number)
        if number == 1 { late.start() }
      }
    }
    queue.addOperations(operations)
    operations[0].addDependency(late)
    executor.runAll()
    #expect(log.entries == [1, 0, 2])
  }

  /// Adds a dependency to itself while its queue asks whether it may start.
  private final class Hesitant: Operation, @unchecked Sendable {
    private let late: Operation
    private let endsWhileAsked: Bool
    private let asked = Tally()

    init(_ late: Operation, endsWhileAsked: Bool) {
      self.late = late
      self.endsWhileAsked = endsWhileAsked
      super.init()
    }

    override var isReady: Bool {
      guard asked.add() == 0 else { return super.isReady }
      addDependency(late)
      let isReady = super.isReady
      if endsWhileAsked { late.start() }
      return isReady
    }
  }

  @Test(arguments: [false, true])
  func `a dependency that is added during a readiness check doesn't strand it`(endsWhileAsked: Bool)
  {
    let late = Operation()
    let hesitant = Hesitant(late, endsWhileAsked: endsWhileAsked)
    queue.addOperation(hesitant)
    executor.runAll()
    if !endsWhileAsked {
      #expect(!hesitant.isFinished)
      late.start()
      executor.runAll()
    }
    #expect(hesitant.isFinished)
    #expect(queue.operationCount == 0)
  }

  @Test func `removing the last unfinished dependency starts the operation`() {
    let never = Operation()
    let child = Operation()
    child.addDependency(never)
    queue.addOperation(child)
    executor.runAll()
    #expect(!child.isFinished)
    child.removeDependency(never)
    executor.runAll()
    #expect(child.isFinished)
    #expect(!never.isFinished)
  }

  @Test func `removing one of two dependencies doesn't start the operation`() {
    let never = Operation()
    let second = Operation()
    let child = Operation()
    child.addDependency(never)
    child.addDependency(second)
    queue.addOperation(child)
    child.removeDependency(never)
    executor.runAll()
    #expect(!child.isFinished)
    second.start()
    executor.runAll()
    #expect(child.isFinished)
  }

  @Test func `removing an operation that isn't a dependency changes nothing`() {
    let first = Operation()
    let child = Operation()
    child.addDependency(first)
    queue.addOperation(child)
    child.removeDependency(Operation())
    child.removeDependency(child)
    first.start()
    child.removeDependency(first)
    executor.runAll()
    #expect(child.isFinished)
    #expect(child.dependencies.isEmpty)
  }

  @Test func `a removed dependency that finishes later isn't counted`() {
    let removed = Operation()
    let second = Operation()
    let child = Operation()
    child.addDependency(removed)
    child.addDependency(second)
    queue.addOperation(child)
    child.removeDependency(removed)
    removed.start()
    executor.runAll()
    #expect(!child.isReady)
    #expect(!child.isFinished)
    second.start()
    executor.runAll()
    #expect(child.isFinished)
  }

  @Test func `a dependency that is added after the start is only recorded`() {
    final class AddsInMain: Operation, @unchecked Sendable {
      let never = Operation()
      override func main() { addDependency(never) }
    }
    let operation = AddsInMain()
    queue.addOperation(operation)
    executor.runAll()
    #expect(operation.isFinished)
    #expect(operation.isReady)
    let afterEnd = Operation()
    operation.addDependency(afterEnd)
    #expect(operation.dependencies == [operation.never, afterEnd])
    operation.never.start()
    afterEnd.start()
    operation.removeDependency(afterEnd)
    #expect(operation.dependencies == [operation.never])
    #expect(queue.operationCount == 0)
  }

  /// Against plain arrays of the dependencies of each operation.
  @Test(arguments: Effort.seeds(40))
  func `random additions and removals keep the order of dependencies`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let started = Log<Int>()
    let parents = (0..<Int.random(in: 2...40, using: &random)).map { _ in Operation() }
    let children = (0..<3).map { number in BlockOperation { started.add(number) } }
    var expected = children.map { _ in [Operation]() }
    for _ in 0..<Effort.rounds(300) {
      let child = Int.random(in: children.indices, using: &random)
      let parent = Int.random(in: parents.indices, using: &random)
      if Int.random(in: 0..<3, using: &random) > 0 {
        children[child].addDependency(parents[parent])
        guard !expected[child].contains(parents[parent]) else { continue }
        expected[child].append(parents[parent])
      } else {
        children[child].removeDependency(parents[parent])
        expected[child].removeAll { $0 === parents[parent] }
      }
      #expect(children[child].dependencies == expected[child])
    }
    queue.addOperations(children)
    for parent in parents { parent.start() }
    executor.runAll()
    #expect(started.entries == Array(children.indices))
    #expect(children.map(\.dependencies) == expected)
  }

  @Test func `many threads may change dependencies while others finish`() async throws {
    let queue = OperationQueue()
    let parents = (0..<400).map { _ in Operation() }
    let children = (0..<20).map { _ in Operation() }
    queue.addOperations(children.map { $0 })
    let done = Countdown(3)
    for part in 0..<3 {
      launchThread {
        for (index, parent) in parents.enumerated() where index % 3 == part {
          for child in children { child.addDependency(parent) }
          if index.isMultiple(of: 2) { queue.addOperation(parent) } else { parent.start() }
          for child in children { child.removeDependency(parent) }
        }
        done.count()
      }
    }
    await done.done.opened()
    try await queue.untilAllOperationsAreFinished()
    #expect((parents + children).allSatisfy { $0.isFinished })
    #expect(children.allSatisfy { $0.dependencies.isEmpty })
  }
}
