import CoreOperations
import TestSupport
import Testing

/// Cycles that close at moments at which nothing that is a member begins to wait.
@Suite(.watched) struct `Cycles that close late` {
  private let queue = OperationQueue()
  private let elsewhere = OperationQueue()

  /// Has an operation hold a slot of `queue`, wait for another one when `mayBegin` opens, and end
  /// when `isOver` does.
  private func hold(
    waitingFor awaited: Operation,
    mayBegin: Latch,
    hasBegun: Latch,
    isOver: Latch
  ) {
    queue.addOperation {
      mayBegin.pass()
      let token = try? OwnWaits.begin(for: .operation(awaited))
      hasBegun.open()
      isOver.pass()
      if let token { OwnWaits.end(token) }
    }
  }

  @Test func `a lowered limit during an addition completes a cycle that is found`() async throws {
    let (mayBegin, hasBegun, isOver) = (Latch(), Latch(), Latch())
    let awaited = BlockOperation {}
    queue.maxConcurrentOperationCount = 2
    hold(waitingFor: awaited, mayBegin: mayBegin, hasBegun: hasBegun, isOver: isOver)
    let queue = queue
    let last = Layered("last") { answers in
      answers.needsDidEnqueue = false
      answers.willEnqueue = { _ in
        mayBegin.open()
        hasBegun.pass()
        queue.maxConcurrentOperationCount = 1
      }
    }
    await onThread { queue.addOperations([awaited, last]) }
    #expect(awaited.cancellationReason is OperationCycleError)
    isOver.open()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `a pause that ends before its start returned completes a cycle`() async throws {
    let (mayBegin, hasBegun, isOver) = (Latch(), Latch(), Latch())
    let (isInStart, mayReturn) = (Latch(), Latch())
    let paused = Layered("paused") { answers in
      answers.isOverAtOnce = false
      answers.start = { operation in
        operation.beginPause()
        operation.endPause()
        isInStart.open()
        mayReturn.pass()
      }
      answers.turnCameAgain = { $0.end() }
    }
    queue.maxConcurrentOperationCount = 2
    hold(waitingFor: paused, mayBegin: mayBegin, hasBegun: hasBegun, isOver: isOver)
    queue.addOperation(paused)
    await isInStart.opened()
    mayBegin.open()
    await hasBegun.opened()
    queue.maxConcurrentOperationCount = 1
    mayReturn.open()
    await eventually { paused.isCancelled }
    isOver.open()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `a run-time cycle is found next to a cycle of dependencies`() async throws {
    let (mayBegin, hasBegun, isOver) = (Latch(), Latch(), Latch())
    let (one, other, member) = (BlockOperation {}, BlockOperation {}, BlockOperation {})
    queue.maxConcurrentOperationCount = 1
    hold(waitingFor: one, mayBegin: mayBegin, hasBegun: hasBegun, isOver: isOver)
    queue.addOperation(member)
    one.addDependency(other)
    other.addDependency(one)
    mayBegin.open()
    await hasBegun.opened()
    one.addDependency(member)
    other.removeDependency(one)
    elsewhere.addOperations([one, other])
    let operations = [one, other, member]
    #expect(operations.contains { $0.cancellationReason is OperationCycleError })
    isOver.open()
    for queue in [queue, elsewhere] { try await queue.untilAllOperationsAreFinished() }
  }
}
