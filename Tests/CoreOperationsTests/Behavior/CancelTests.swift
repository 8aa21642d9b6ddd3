import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `A cancel` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue
  private let ran = Tally()

  init() { queue = OperationQueue(executor: executor) }

  private func operation() -> BlockOperation { BlockOperation { [ran] in ran.add() } }

  @Test func `a cancel before enqueueing only sets the flag`() {
    let operation = operation()
    let dependency = Operation()
    operation.addDependency(dependency)
    operation.cancel()
    operation.cancel()
    #expect(operation.isCancelled)
    #expect(!operation.isFinished)
    #expect(!operation.isExecuting)
    #expect(operation.isReady)
    #expect(operation.cancellationReason == nil)
  }

  @Test func `an operation that is cancelled before enqueueing leaves without running`() {
    let operation = operation()
    operation.addDependency(Operation())
    operation.cancel()
    queue.addOperation(operation)
    #expect(queue.operationCount == 1)
    executor.runAll()
    #expect(operation.isFinished)
    #expect(ran.now == 0)
    #expect(queue.operationCount == 0)
  }

  @Test func `a cancel before a manual start finishes the operation without running it`() {
    let operation = operation()
    operation.addDependency(Operation())
    operation.cancel()
    operation.start()
    #expect(operation.isFinished)
    #expect(ran.now == 0)
  }

  @Test func `a cancelled operation stops waiting for its dependencies`() {
    let never = Operation()
    let operation = operation()
    operation.addDependency(never)
    let dependent = self.operation()
    dependent.addDependency(operation)
    queue.addOperations([operation, dependent])
    executor.runAll()
    #expect(!operation.isFinished)
    operation.cancel()
    #expect(operation.isReady)
    executor.runAll()
    #expect(operation.isFinished)
    #expect(dependent.isFinished)
    #expect(ran.now == 1)
    #expect(operation.dependencies == [never])
    never.start()
    #expect(queue.operationCount == 0)
  }

  @Test func `a cancelled operation leaves before others`() {
    let order = Log<Int>()
    let operations = (0..<4).map { number in
      SelfKept { operation in
        order.add(number)
        operation.end()
      }
    }
    let last = Leaver(order)
    queue.maxConcurrentOperationCount = 1
    queue.addOperations(operations + [last])
    last.cancel()
    executor.runAll()
    #expect(order.entries == [-1, 0, 1, 2, 3])
  }

  private final class Leaver: Operation, @unchecked Sendable {
    private let order: Log<Int>
    init(_ order: Log<Int>) { self.order = order }
    override func start() {
      order.add(isCancelled ? -1 : 1)
      super.start()
    }
  }

  @Test func `a cancelled operation leaves without a slot`() {
    queue.maxConcurrentOperationCount = 1
    let holder = SelfKept()
    let operations = (0..<5).map { _ in operation() }
    queue.addOperations([holder] + operations)
    executor.runAll()
    #expect(holder.isExecuting)
    for operation in operations[1...] { operation.cancel() }
    executor.runAll()
    #expect(operations[1...].allSatisfy { $0.isFinished })
    #expect(!operations[0].isFinished)
    #expect(ran.now == 0)
    holder.end()
    executor.runAll()
    #expect(ran.now == 1)
  }

  @Test func `a cancel during execution only sets the flag`() {
    let seen = Log<Bool>()
    final class Looks: Operation, @unchecked Sendable {
      let seen: Log<Bool>
      init(_ seen: Log<Bool>) { self.seen = seen }
      override func main() {
        seen.add(isCancelled)
        cancel()
        seen.add(isCancelled)
        seen.add(isExecuting)
        seen.add(isFinished)
      }
    }
    let operation = Looks(seen)
    queue.addOperation(operation)
    executor.runAll()
    #expect(seen.entries == [false, true, true, false])
    #expect(operation.isFinished)
    #expect(operation.isCancelled)
  }

  @Test func `a cancel after the end does nothing`() {
    let operation = operation()
    queue.addOperation(operation)
    executor.runAll()
    operation.cancel()
    #expect(!operation.isCancelled)
    #expect(operation.isFinished)
  }

  @Test func `a cancel in a suspended queue takes effect when that resumes`() {
    queue.isSuspended = true
    let operation = operation()
    queue.addOperation(operation)
    operation.cancel()
    executor.runAll()
    #expect(!operation.isFinished)
    #expect(queue.operationCount == 1)
    queue.isSuspended = false
    executor.runAll()
    #expect(operation.isFinished)
    #expect(ran.now == 0)
  }

  @Test(arguments: [false, true])
  func `an operation that is cancelled behind a barrier leaves immediately`(waits: Bool) {
    let front = SelfKept()
    let behind = operation()
    if waits { behind.addDependency(Operation()) }
    let barriers = Tally()
    queue.addOperation(front)
    queue.addBarrierBlock { barriers.add() }
    queue.addOperation(behind)
    executor.runAll()
    behind.cancel()
    executor.runAll()
    #expect(behind.isFinished)
    #expect(barriers.now == 0)
    front.end()
    executor.runAll()
    #expect(barriers.now == 1)
    #expect(queue.operationCount == 0)
  }

  @Test func `a cancelled operation leaves a queue with a limit of 0`() {
    queue.maxConcurrentOperationCount = 0
    let operations = (0..<3).map { _ in operation() }
    queue.addOperations(operations)
    for operation in operations[..<2] { operation.cancel() }
    executor.runAll()
    #expect(operations.map { $0.isFinished } == [true, true, false])
  }

  @Test func `a cancelled operation runs its completion block`() {
    let completions = Tally()
    let operation = operation()
    operation.completionBlock = { completions.add() }
    queue.addOperation(operation)
    operation.cancel()
    executor.runAll()
    #expect(completions.now == 1)
    #expect(queue.operationCount == 0)
  }

  @Test func `simultaneous cancels from many threads have the effect of one`() async throws {
    let queue = OperationQueue()
    for _ in 0..<Effort.rounds(200) {
      let never = Operation()
      let operation = operation()
      operation.addDependency(never)
      queue.addOperation(operation)
      for _ in 0..<3 { launchThreadFromPool { operation.cancel() } }
      try await operation.untilFinished()
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 0)
  }
}
