import TestSupport

#if DEBUG
import CoreOperations
import Dispatch
import Testing

/// One call comes in between another one, at each point at which a second thread could come.
@Suite(.watched) struct `Calls that cross` {
  /// Makes a call and, at one point of it where no lock is held, another one.
  ///
  /// - Returns: Whether there is such a point.
  private func make(
    _ call: () -> Void,
    crossedAt point: Int,
    by other: @escaping @Sendable () -> Void
  ) -> Bool {
    let passed = Tally()
    let thread = Preemption.Thread { if passed.add() == point { other() } }
    Preemption.run(thread, call)
    return passed.now > point
  }

  private func atEachPoint(_ body: (_ point: Int) async throws -> Bool) async rethrows {
    var point = 0
    while try await body(point) { point += 1 }
    #expect(point > 0)
  }

  @Test(arguments: [false, true])
  func `the last of two calls that set the underlying queue wins`(
    isGiven: Bool
  ) async throws {
    let underlying = isGiven ? DispatchQueue(label: "underlying") : nil
    try await atEachPoint { point in
      let executor = ManualExecutor()
      let queue = OperationQueue(executor: executor)
      let isCrossed = make(
        { queue.underlyingQueue = underlying },
        crossedAt: point,
        by: { queue.underlyingQueue = nil }
      )
      let operation = Operation()
      queue.addOperation(operation)
      if queue.underlyingQueue == nil {
        executor.runAll()
        #expect(operation.isFinished)
      } else {
        #expect(executor.waiting == 0)
        try await operation.untilFinished()
      }
      return isCrossed
    }
  }

  @Test func `a call after the emptiness check already sees the new underlying queue`() {
    // What comes at the first point finds the former queue, and is refused; see the test of traps.
    var point = 1
    var isCrossed = true
    while isCrossed {
      let queue = OperationQueue(executor: ManualExecutor())
      let underlying = DispatchQueue(label: "underlying")
      isCrossed = make(
        { queue.underlyingQueue = underlying },
        crossedAt: point,
        by: { #expect(queue.underlyingQueue === underlying) }
      )
      point += 1
    }
  }

  @Test func `the priority that can be read is in force after two concurrent changes`() async {
    await atEachPoint { point in
      let executor = ManualExecutor()
      let queue = OperationQueue(executor: executor)
      queue.maxConcurrentOperationCount = 1
      let log = Log<String>()
      let operation = BlockOperation { log.add("it") }
      queue.addOperations([BlockOperation { log.add("another") }, operation])
      let isCrossed = make(
        { operation.queuePriority = .low },
        crossedAt: point,
        by: { operation.queuePriority = .high }
      )
      let isHigh = operation.queuePriority == .high
      executor.runAll()
      #expect(log.entries == (isHigh ? ["it", "another"] : ["another", "it"]))
      return isCrossed
    }
  }

  @Test func `a queue's completed fraction is of one moment`() async {
    await atEachPoint { point in
      let executor = ManualExecutor(operationsPerWorker: 1)
      let queue = OperationQueue(executor: executor)
      queue.addOperation(Operation())
      var done = 0.0
      let isCrossed = make(
        { done = queue.progress.fractionCompleted },
        crossedAt: point,
        by: {
          executor.runAll()
          queue.addOperations([Operation(), Operation(), Operation()])
          executor.runOne()
          executor.runOne()
        }
      )
      #expect(done == 0 || done == 2.0 / 3)
      executor.runAll()
      return isCrossed
    }
  }
}
#endif
