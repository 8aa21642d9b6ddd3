import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `The end of an operation of the advanced layer` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue
  private let log = Log<String>()

  init() {
    queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 1
  }

  private func layered(
    _ name: String,
    _ change: (inout sending Layered.Answers) -> Void = { _ in }
  ) -> Layered {
    Layered(name, log: log, change)
  }

  @Test func `an idle hold keeps slot and membership and delays no dependent`() {
    let operation = layered("a") { answers in
      answers.start = { operation in
        operation.holdUntilIdle()
        operation.finishAndClose(isHeldUntilIdle: false)
      }
      answers.isOverAtOnce = false
    }
    let other = OperationQueue(executor: executor)
    let dependent = Operation()
    dependent.addDependency(operation)
    let next = Operation()
    queue.addOperations([operation, next])
    other.addOperation(dependent)
    executor.runAll()
    #expect(operation.isFinished)
    #expect(dependent.isFinished)
    #expect(queue.operations == [operation, next])
    #expect(!next.isFinished)
    operation.releaseIdleHold()
    #expect(queue.operations == [next])
    executor.runAll()
    #expect(next.isFinished)
  }

  @Test func `a synchronous end lets dependents start before the start returns`() {
    queue.maxConcurrentOperationCount = 2
    let dependent = Operation()
    let finished = Log<Bool>()
    let operation = layered("a") { answers in
      answers.start = { [executor] operation in
        operation.finishAndClose(isHeldUntilIdle: false)
        executor.runAll()
        finished.add(dependent.isFinished)
      }
      answers.isOverAtOnce = false
    }
    dependent.addDependency(operation)
    queue.addOperations([operation, dependent])
    executor.runAll()
    #expect(finished.entries == [true])
    #expect(queue.operationCount == 0)
  }

  @Test func `an idle hold between end and start's return keeps the slot`() {
    let operation = layered("a") { answers in
      answers.start = { operation in
        operation.finishAndClose(isHeldUntilIdle: false)
        operation.holdUntilIdle()
      }
      answers.isOverAtOnce = false
    }
    let next = layered("b")
    queue.addOperations([operation, next])
    executor.runAll()
    #expect(operation.isFinished)
    #expect(queue.operations == [operation, next])
    operation.releaseIdleHold()
    executor.runAll()
    #expect(log.entries.last == "b started")
    #expect(queue.operationCount == 0)
  }

  @Test func `a synchronous end keeps its slot until the start returns`() {
    let counts = Log<Int>()
    let operation = layered("a") { answers in
      answers.start = { [queue, executor] operation in
        operation.finishAndClose(isHeldUntilIdle: false)
        executor.runAll()
        counts.add(queue.operationCount)
      }
      answers.isOverAtOnce = false
    }
    let next = layered("b")
    queue.addOperations([operation, next])
    executor.runAll()
    #expect(counts.entries == [2])
    #expect(log.entries.last == "b started")
    #expect(queue.operationCount == 0)
  }

  @Test func `an operation that ends while it is being added isn't accepted`() {
    let operation = layered("a") { answers in
      answers.willEnqueue = { $0.finishAndClose(isHeldUntilIdle: false) }
    }
    let dependent = Operation()
    dependent.addDependency(operation)
    queue.addOperations([operation, dependent])
    executor.runAll()
    #expect(dependent.isFinished)
    #expect(queue.operationCount == 0)
    #expect(log.entries == ["a will enqueue"])
  }

  @Test func `an operation that ends in its enqueued callback leaves without starting`() {
    let operation = layered("a") { answers in answers.didEnqueue = { $0.end() } }
    let barrier = Tally()
    queue.addOperations([operation, layered("b")])
    queue.addBarrierBlock { barrier.add() }
    #expect(queue.operationCount == 1)
    executor.runAll()
    #expect(!log.entries.contains("a started"))
    #expect(queue.operationCount == 0)
    #expect(barrier.now == 1)
  }

  @Test func `a cancel in the enqueued callback takes effect afterwards`() {
    let operation = layered("a") { answers in
      answers.didEnqueue = { [executor, log] operation in
        operation.cancel()
        executor.runAll()
        log.add("told")
      }
    }
    let other = layered("b")
    queue.addOperations([operation, other])
    executor.runAll()
    #expect(log.entries.prefix(3) == ["a will enqueue", "b will enqueue", "a did enqueue"])
    #expect(log.entries.dropFirst(3).first == "told")
    #expect(log.entries.contains("a left"))
    #expect(operation.isFinished)
    #expect(other.isFinished)
  }

  @Test func `a cancel during the decision to park lets the operation leave`() {
    let operation = layered("a") { answers in
      answers.decideStart = { operation in
        operation.cancel()
        return .park
      }
    }
    queue.addOperation(operation)
    executor.runAll()
    #expect(log.entries.last == "a left")
    #expect(queue.operationCount == 0)
  }

  @Test(arguments: [false, true])
  func `a held or parked operation that is cancelled leaves without a slot`(isHeld: Bool) {
    let operation = layered("a") { answers in
      answers.holds = isHeld
      answers.decideStart = { _ in .park }
    }
    let holder = SelfKept()
    queue.addOperations([operation, holder])
    executor.runAll()
    #expect(holder.isExecuting)
    operation.cancel()
    executor.runAll()
    #expect(operation.isFinished)
    #expect(log.entries.last == "a left")
    holder.end()
    #expect(queue.operationCount == 0)
  }

  @Test func `cancelling all operations marks each one before any callback`() {
    let flags = Log<[Bool]>()
    final class Teller: Operation, @unchecked Sendable {
      private let tell: @Sendable () -> Void
      init(_ tell: @escaping @Sendable () -> Void) { self.tell = tell }
      override func cancel() {
        super.cancel()
        tell()
      }
    }
    let operations = [layered("a"), layered("b")]
    let teller = Teller { flags.add(operations.map { $0.isCancelled }) }
    queue.addOperations([operations[0], teller, operations[1]])
    queue.cancelAllOperations()
    #expect(flags.entries == [[true, true]])
    executor.runAll()
    #expect(log.entries.suffix(2).sorted() == ["a left", "b left"])
    #expect(queue.operationCount == 0)
  }
}
