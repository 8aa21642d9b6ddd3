import AdvancedOperations
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `A cancel while a body waits for its slot` {
  /// Runs a body that waits for its slot in a suspended queue, and cancels it there.
  ///
  /// - Returns: Whether the body found its task cancelled when it continued.
  private static func isTaskCancelled(
    _ add: (OperationQueue, @escaping @Sendable () async -> Void) -> Operation
  ) async -> Bool {
    let queue = AdvancedOperationQueue(maxConcurrentOperationCount: 1)
    let (begun, found) = (Latch(), Changing(false))
    let operation = add(queue) { [weak queue] in
      await releasingSlot {
        queue?.isSuspended = true
        begun.open()
      }
      found.value = Task.isCancelled
    }
    await begun.opened()
    while !operation.waitCauses.contains(where: { if case .suspended = $0 { true } else { false } })
    {
      await Task.yield()
    }
    operation.cancel()
    queue.isSuspended = false
    try? await operation.untilFinished()
    return found.value
  }

  @Test func `a body that waits for its slot finds its task cancelled`() async {
    for _ in 0..<Effort.rounds(500) {
      let isCancelled = await Self.isTaskCancelled { queue, body in
        let operation = ResultOperation { await body() }
        queue.addOperation(operation)
        return operation
      }
      #expect(isCancelled)
    }
  }

  @Test func `an async closure that waits for its slot finds its task cancelled`() async throws {
    for _ in 0..<Effort.rounds(500) {
      let isCancelled = await Self.isTaskCancelled { queue, body in
        queue.isSuspended = true
        queue.addOperation { await body() }
        let operation = queue.operations[0]
        queue.isSuspended = false
        return operation
      }
      #expect(isCancelled)
    }
  }
}
