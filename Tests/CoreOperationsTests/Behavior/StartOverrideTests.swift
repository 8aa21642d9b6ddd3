import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Overrides of main and start` {
  @Test func `main runs once while the operation is executing`() async throws {
    final class Main: Operation, @unchecked Sendable {
      let log = Log<String>()
      override func main() { log.add("\(isExecuting) \(isFinished) \(isReady)") }
    }
    let operation = Main()
    let queue = OperationQueue()
    queue.addOperation(operation)
    try await operation.untilFinished()
    #expect(operation.log.entries == ["true false true"])
    #expect(!operation.isExecuting)
    #expect(operation.isFinished)
    #expect(!operation.isAsynchronous)
    #expect(!operation.isConcurrent)
  }

  @Test func `a manually started operation has finished when start returns`() {
    let ran = Tally()
    let thread = Log<UInt>()
    let operation = BlockOperation {
      ran.add()
      thread.add(threadID())
    }
    operation.start()
    #expect(operation.isFinished)
    #expect(thread.entries == [threadID()])
    operation.start()
    #expect(ran.now == 1)
  }

  @Test(arguments: Reporting.allCases)
  func `an asynchronous operation finishes when it reports its end`(reporting: Reporting) {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 1
    let operation = SelfKept(reporting)
    let dependent = Operation()
    dependent.addDependency(operation)
    let next = Operation()
    queue.addOperations([operation, dependent, next])
    executor.runAll()
    #expect(operation.isExecuting)
    #expect(operation.isConcurrent)
    #expect(!dependent.isReady)
    #expect(!next.isFinished, "the slot is taken")
    #expect(queue.operationCount == 3)
    operation.end()
    #expect(queue.operationCount == 2)
    executor.runAll()
    #expect(dependent.isFinished)
    #expect(next.isFinished)
    #expect(operation.starts.now == 1)
  }

  @Test func `an asynchronous operation may end within its start`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let operation = SelfKept { $0.end() }
    queue.addOperation(operation)
    executor.runAll()
    #expect(queue.operationCount == 0)
  }

  @Test func `an unreported end is found when start returns`() {
    final class Silent: Operation, @unchecked Sendable {
      private let isOver = Locked(false)
      override var isFinished: Bool { isOver.withLock { $0 } }
      override func start() { isOver.withLock { $0 = true } }
    }
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let dependent = Operation()
    let silent = Silent()
    dependent.addDependency(silent)
    queue.addOperations([silent, dependent])
    executor.runAll()
    #expect(dependent.isFinished)
    #expect(queue.operationCount == 0)
  }

  /// A class that reports the property from which its others follow.
  private final class Stated: Operation, @unchecked Sendable {
    private let key: String
    private let isOver = Locked(false)
    init(key: String) { self.key = key }
    override var isFinished: Bool { isOver.withLock { $0 } }
    override func start() {
      willChangeValue(forKey: key)
      isOver.withLock { $0 = true }
      didChangeValue(forKey: key)
    }
  }

  @Test(arguments: ["state", "_state", "isFinished", "finished", "isReady2"])
  func `an end is found whichever property the subclass reports`(key: String) {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let dependent = Operation()
    let stated = Stated(key: key)
    let completions = Tally()
    stated.completionBlock = { completions.add() }
    dependent.addDependency(stated)
    queue.addOperations([stated, dependent])
    executor.runAll()
    #expect(dependent.isFinished)
    #expect(completions.now == 1)
    #expect(queue.operationCount == 0)
  }

  /// A class whose readiness follows from a property that it reports.
  private final class Gated: Operation, @unchecked Sendable {
    private let isOpen = Locked(false)
    override var isReady: Bool { super.isReady && isOpen.withLock { $0 } }
    func open() {
      willChangeValue(forKey: "gate")
      isOpen.withLock { $0 = true }
      didChangeValue(forKey: "gate")
    }
  }

  @Test func `readiness is checked when a subclass reports any property`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let gated = Gated()
    queue.addOperation(gated)
    executor.runAll()
    #expect(!gated.isFinished)
    gated.open()
    executor.runAll()
    #expect(gated.isFinished)
  }

  /// Reports its end in `main()` or later, with an `isFinished` of its own.
  private class Transform: Operation, @unchecked Sendable {
    private let isOver = Locked(false)
    private let endsInMain: Bool
    init(endsInMain: Bool) { self.endsInMain = endsInMain }
    override var isFinished: Bool { isOver.withLock { $0 } }
    override func main() { if endsInMain { end() } }
    func end() {
      willChangeValue(forKey: "isFinished")
      isOver.withLock { $0 = true }
      didChangeValue(forKey: "isFinished")
    }
  }

  @Test func `main may report the end itself`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let transform = Transform(endsInMain: true)
    let completions = Tally()
    transform.completionBlock = { completions.add() }
    queue.addOperation(transform)
    executor.runAll()
    #expect(queue.operationCount == 0)
    #expect(completions.now == 1)
  }

  @Test func `an isFinished override keeps the operation executing after main`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let transform = Transform(endsInMain: false)
    let dependent = Operation()
    dependent.addDependency(transform)
    queue.addOperations([transform, dependent])
    executor.runAll()
    #expect(!dependent.isFinished)
    transform.end()
    executor.runAll()
    #expect(dependent.isFinished)
  }

  @Test func `an operation can be cancelled while its isFinished override returns false`() {
    let transform = Transform(endsInMain: false)
    transform.start()
    #expect(!transform.isFinished)
    transform.cancel()
    #expect(transform.isCancelled)
    transform.end()
    #expect(transform.isFinished)
  }

  @Test func `an operation found cancelled finishes despite its isFinished override`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let transform = Transform(endsInMain: true)
    let dependent = Operation()
    dependent.addDependency(transform)
    transform.cancel()
    queue.addOperations([transform, dependent])
    executor.runAll()
    #expect(!transform.isFinished)
    #expect(dependent.isFinished)
    #expect(queue.operationCount == 0)
  }

  @Test func `a cancellation reason after the end is ignored`() {
    final class LateLoop: Operation, @unchecked Sendable {
      private let asked = Tally()
      override var isFinished: Bool {
        if asked.add() == 0 { addDependency(self) }
        return super.isFinished
      }
    }
    let operation = LateLoop()
    operation.start()
    #expect(operation.isFinished)
    #expect(!operation.isCancelled)
    #expect(operation.cancellationReason == nil)
  }
}
