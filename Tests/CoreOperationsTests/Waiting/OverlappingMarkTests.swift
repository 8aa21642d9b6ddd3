import CoreOperations
import TestSupport
import Testing

/// Two threads mark the same operations at once, and something comes between that neither of them
/// has marked yet.
@Suite(.watched) struct `Cycles that are completed while others are marked` {
  private let queue = OperationQueue()
  private let elsewhere = OperationQueue()
  private let middle = Layered("middle")
  private let last = BlockOperation {}

  /// Runs `body` when something has marked `middle`, and not yet what `middle` waits for.
  private func whileMarked(_ body: @escaping @Sendable () -> Void) {
    let isDone = Locked(false)
    middle.answer { answers in
      answers.askedForNeeds = { _ in
        if !isDone.withLock({ exchange(&$0, with: true) }) { body() }
      }
    }
  }

  /// Has an operation, that holds the only slot of `queue`, begin a wait for `middle` between, and
  /// `last` come into that queue.
  ///
  /// - Returns: What lets that operation end.
  private func waitBetween() -> Latch {
    queue.maxConcurrentOperationCount = 1
    middle.addDependency(last)
    elsewhere.addOperation(middle)
    let (mayBegin, hasBegun, isOver) = (Latch(), Latch(), Latch())
    queue.addOperation { [middle] in
      mayBegin.pass()
      let token = try? OwnWaits.begin(for: .operation(middle))
      hasBegun.open()
      isOver.pass()
      if let token { OwnWaits.end(token) }
    }
    whileMarked { [queue, last] in
      mayBegin.open()
      hasBegun.pass()
      queue.addOperation(last)
    }
    return isOver
  }

  private func end(_ isOver: Latch) async throws {
    isOver.open()
    for queue in [queue, elsewhere] { try await queue.untilAllOperationsAreFinished() }
  }

  @Test(arguments: [false, true])
  func `a wait can complete a cycle while others are marked`(isQueueAwaited: Bool) async throws {
    let (hasBegun, isAwaited, mayEnd) = (Latch(), Latch(), Latch())
    if isQueueAwaited {
      // What comes into the queue then is marked at once, and looked at only if it waits for others.
      elsewhere.addOperation { [queue] in
        let token = try? OwnWaits.begin(for: .queue(queue))
        isAwaited.open()
        mayEnd.pass()
        if let token { OwnWaits.end(token) }
      }
      await isAwaited.opened()
    }
    let isOver = waitBetween()
    elsewhere.addOperation { [middle] in
      let token = try? OwnWaits.begin(for: .operation(middle))
      hasBegun.open()
      if let token { OwnWaits.end(token) }
    }
    await hasBegun.opened()
    #expect(last.cancellationReason is OperationCycleError)
    mayEnd.open()
    try await end(isOver)
  }

  @Test
  func `a dependency of an awaited operation can complete a cycle during marking`() async throws {
    let isOver = waitBetween()
    let awaited = BlockOperation {}
    let (isAwaited, mayEnd) = (Latch(), Latch())
    elsewhere.addOperation {
      let token = try? OwnWaits.begin(for: .operation(awaited))
      isAwaited.open()
      mayEnd.pass()
      if let token { OwnWaits.end(token) }
    }
    await isAwaited.opened()
    awaited.addDependency(middle)
    #expect(last.cancellationReason is OperationCycleError)
    mayEnd.open()
    try await end(isOver)
  }

  @Test func `a child of an awaited operation can complete a cycle during marking`() async throws {
    let isOver = waitBetween()
    let awaited = OperationQueue()
    awaited.isSuspended = true
    let (isAwaited, mayEnd) = (Latch(), Latch())
    elsewhere.addOperation {
      let token = try? OwnWaits.begin(for: .queue(awaited))
      isAwaited.open()
      mayEnd.pass()
      if let token { OwnWaits.end(token) }
    }
    await isAwaited.opened()
    let child = BlockOperation {}
    child.addDependency(middle)
    awaited.addOperation(child)
    #expect(last.cancellationReason is OperationCycleError)
    mayEnd.open()
    awaited.isSuspended = false
    try await end(isOver)
  }

  /// In a process of its own: other cycles of barriers make everything look.
  @Test func `a barrier can complete a cycle while others are marked`() async {
    await #expect(processExitsWith: .success) {
      let (one, other, elsewhere) = (OperationQueue(), OperationQueue(), OperationQueue())
      let (first, second, last) = (BlockOperation {}, BlockOperation {}, BlockOperation {})
      let middle = Layered("middle")
      let isDone = Locked(false)
      middle.answer { answers in
        answers.askedForNeeds = { _ in
          if isDone.withLock({ exchange(&$0, with: true) }) { return }
          other.addBarrierBlock {}
          other.addOperation(last)
        }
      }
      middle.addDependency(last)
      elsewhere.addOperation(middle)
      first.addDependency(middle)
      second.addDependency(middle)
      other.addOperation(second)
      one.addOperation(first)
      one.addBarrierBlock {}
      try #require(last.cancellationReason is OperationCycleError)
      for queue in [one, other, elsewhere] { try await queue.untilAllOperationsAreFinished() }
    }
  }
}
