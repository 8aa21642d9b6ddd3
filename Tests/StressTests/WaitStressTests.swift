import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Threads that wait for one operation after another, while workers look out for the next one.
@Suite(.heavy, .serialized) struct `CoreStress: waits that block` {
  /// What a body writes and a waiter reads, without anything else that makes it visible.
  private final class Value: @unchecked Sendable {
    // Sendable: the body writes before its operation ends, and the waiter reads after that.
    var number = 0
  }

  /// Ends on a thread of its own, and says so twice.
  private final class Elsewhere: Operation, @unchecked Sendable {
    // Sendable: `phase` is a tally.
    private let phase = CoreStress.Tally()

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { phase.now == 1 }
    override var isFinished: Bool { phase.now > 1 }

    override func start() {
      advance()
      if isCancelled { return advance() }
      CoreStress.launch {
        self.advance()
        self.advance()
      }
    }

    private func advance() {
      for key in ["isExecuting", "isFinished"] { willChangeValue(forKey: key) }
      phase.add()
      for key in ["isExecuting", "isFinished"] { didChangeValue(forKey: key) }
    }
  }

  private static func wait(_ rounds: Int, in queue: OperationQueue, wrong: CoreStress.Tally) {
    for round in 1...rounds {
      let value = Value()
      let operation =
        round % 17 == 0 ? Elsewhere() : BlockOperation { value.number = round }
      if round % 5 == 0 { operation.queuePriority = .veryHigh }
      queue.addOperation(operation)
      if round % 7 == 0 { operation.cancel() }
      operation.waitUntilFinished()
      if !operation.isFinished { wrong.add() }
      if operation is BlockOperation, !operation.isCancelled, value.number != round { wrong.add() }
    }
  }

  @Test(arguments: [1, 2, 16], [1, -1])
  func `each blocking wait ends after its operation and sees its effects`(
    threads: Int,
    limit: Int
  ) async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = limit
    let wrong = CoreStress.Tally()
    let done = Countdown(threads)
    for _ in 0..<threads {
      CoreStress.launch {
        Self.wait(CoreStress.scaled(8_000) / threads, in: queue, wrong: wrong)
        done.count()
      }
    }
    await done.done.opened()
    #expect(wrong.now == 0)
  }

  @Test func `all blocking waits for one operation end whenever they began`() async {
    let wrong = CoreStress.Tally()
    for round in 0..<CoreStress.scaled(100) {
      let queue = OperationQueue()
      let operation = BlockOperation {}
      let (begun, done) = (CoreStress.Tally(), Countdown(40))
      for _ in 0..<40 {
        CoreStress.launch {
          begun.add()
          operation.waitUntilFinished()
          if !operation.isFinished { wrong.add() }
          done.count()
        }
      }
      while begun.now < round % 41 { await Task.yield() }
      queue.addOperation(operation)
      await done.done.opened()
    }
    #expect(wrong.now == 0)
  }
}
