import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Overrides of isReady` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue

  init() { queue = OperationQueue(executor: executor) }

  @Test func `an isReady override delays the start until it reports a change`() {
    let ran = Tally()
    let operation = Switched { ran.add() }
    let other = Operation()
    queue.addOperations([operation, other])
    executor.runAll()
    #expect(other.isFinished)
    #expect(ran.now == 0)
    #expect(operation.asked.now > 0)
    operation.turnOn()
    executor.runAll()
    #expect(ran.now == 1)
    #expect(queue.operationCount == 0)
  }

  @Test func `an operation holds no slot while its isReady override returns false`() {
    queue.maxConcurrentOperationCount = 1
    let operation = Switched {}
    let others = (0..<3).map { _ in Operation() }
    queue.addOperations([operation] + others)
    executor.runAll()
    #expect(others.allSatisfy { $0.isFinished })
    operation.turnOn()
    executor.runAll()
    #expect(operation.isFinished)
  }

  @Test func `an operation keeps its place while its isReady override returns false`() {
    let log = Log<String>()
    let operation = Switched { log.add("delayed") }
    queue.addOperation(operation)
    executor.runAll()
    queue.isSuspended = true
    let later = BlockOperation { log.add("later") }
    queue.addOperation(later)
    operation.turnOn()
    queue.isSuspended = false
    executor.runAll()
    #expect(log.entries == ["delayed", "later"])
  }

  @Test func `an isReady override without super doesn't bypass the dependencies`() {
    let ran = Tally()
    let dependency = Operation()
    let operation = Switched(isOn: true, asksSuper: false) { ran.add() }
    operation.addDependency(dependency)
    #expect(operation.isReady)
    queue.addOperation(operation)
    operation.turnOn()
    executor.runAll()
    #expect(ran.now == 0)
    dependency.start()
    executor.runAll()
    #expect(ran.now == 1)
  }

  @Test func `an isReady override is called again after a late dependency`() {
    let ran = Tally()
    let operation = Switched { ran.add() }
    let late = Operation()
    queue.addOperation(operation)
    executor.runAll()
    operation.addDependency(late)
    operation.turnOn()
    executor.runAll()
    #expect(ran.now == 0)
    late.start()
    executor.runAll()
    #expect(ran.now == 1)
  }

  @Test func `a report during an isReady call isn't lost`() {
    /// Turns on, on the asking stack, after the answer was made up.
    final class Late: Operation, @unchecked Sendable {
      private let asked = Tally()
      override var isReady: Bool {
        guard asked.add() == 0 else { return true }
        didChangeValue(for: \.isReady)
        return false
      }
    }
    let operation = Late()
    queue.addOperation(operation)
    executor.runAll()
    #expect(operation.isFinished)
  }

  @Test func `an isReady override isn't called after a cancel`() {
    let ran = Tally()
    let operation = Switched { ran.add() }
    queue.addOperation(operation)
    executor.runAll()
    let asked = operation.asked.now
    operation.cancel()
    executor.runAll()
    #expect(operation.isFinished)
    #expect(ran.now == 0)
    #expect(operation.asked.now == asked)
  }

  @Test func `operations whose readiness several threads change all run`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let operations = (0..<500).map { _ in Switched {} }
    queue.addOperations(operations)
    for part in 0..<3 {
      launchThread {
        for index in operations.indices where index % 3 == part { operations[index].turnOn() }
      }
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(operations.allSatisfy { $0.isFinished })
  }
}
