import CoreOperations
import Dispatch
import TestSupport
import Testing

/// A worker has a share of 256 operations, and leaves earlier when they are long and others wait.
///
/// Judged by how many operations began, not by seconds.
@Suite(.watched, .heavy, .serialized) struct `A backlog of long operations` {
  private static let share = 256

  /// So long that a share of them takes seconds, whatever else the machine does.
  private static func work() {
    let begin = DispatchTime.now().uptimeNanoseconds
    while DispatchTime.now().uptimeNanoseconds - begin < 15_000_000 {}
  }

  private let queue = OperationQueue()
  private let begun = Tally()

  private func addBacklog() {
    for _ in 0..<(4 * Self.share) {
      queue.addOperation(
        BlockOperation { [begun] in
          begun.add()
          Self.work()
        }
      )
    }
  }

  @Test func `a backlog of long operations doesn't delay completion blocks`() async throws {
    let begunThen = Log<Int>()
    let first = BlockOperation { Self.work() }
    first.completionBlock = { [queue, begun] in
      begunThen.add(begun.now)
      queue.cancelAllOperations()
    }
    queue.addOperation(first)
    addBacklog()
    try await queue.untilAllOperationsAreFinished()
    #expect(begunThen.entries.allSatisfy { $0 < Self.share })
    #expect(begunThen.count == 1)
  }

  @Test func `a backlog of long operations doesn't delay another queue`() async throws {
    let other = OperationQueue()
    let begunThen = Log<Int>()
    let busy = Countdown(40)
    for _ in 0..<40 {
      queue.addOperation(
        BlockOperation {
          busy.count()
          Self.work()
        }
      )
    }
    addBacklog()
    await busy.done.opened()
    other.addOperation(
      BlockOperation { [queue, begun] in
        begunThen.add(begun.now)
        queue.cancelAllOperations()
      }
    )
    try await queue.untilAllOperationsAreFinished()
    #expect(begunThen.entries.allSatisfy { $0 < Self.share - 40 })
    #expect(begunThen.count == 1)
  }

  @Test func `a backlog of long operations doesn't delay a suspended async closure`() async throws {
    let other = OperationQueue()
    let begunThen = Log<Int>()
    let busy = Countdown(40)
    for _ in 0..<40 {
      queue.addOperation(
        BlockOperation {
          busy.count()
          Self.work()
        }
      )
    }
    addBacklog()
    await busy.done.opened()
    other.addOperation { [queue, begun] in
      await Task.yield()
      begunThen.add(begun.now)
      queue.cancelAllOperations()
    }
    try await queue.untilAllOperationsAreFinished()
    try await other.untilAllOperationsAreFinished()
    #expect(begunThen.entries.allSatisfy { $0 < Self.share - 40 })
    #expect(begunThen.count == 1)
  }
}

/// Queues whose operations compute for long, on more threads than there are processors.
@Suite(
  .watched,
  .heavy,
  .needsThreadPool("Dispatch starts no thread while others compute")
) struct `Operations that compute until another queue has begun` {
  private static let heavyQueues = 8

  /// Computes until a gate opens, at most for some seconds of a processor.
  private static func compute(until gate: Latch) {
    let begin = computedByThread()
    while !gate.isOpen && computedByThread() - begin < 3_000_000_000 {}
  }

  /// Keeps all processors busy, and then runs a body.
  private func besideHeavyQueues(
    until gate: Latch,
    _ body: () async throws -> Void
  ) async throws {
    let queues = (0..<Self.heavyQueues).map { _ in OperationQueue() }
    let ended = Tally()
    let begun = Countdown(Self.heavyQueues)
    for queue in queues {
      for number in 0..<2 {
        queue.addOperation {
          if number == 0 { begun.count() }
          Self.compute(until: gate)
          if !gate.isOpen { ended.add() }
        }
      }
    }
    await begun.done.opened()
    try await body()
    for queue in queues { try await queue.untilAllOperationsAreFinished() }
    #expect(ended.now == 0)
  }

  @Test
  func `computing operations don't delay the first operations of other queues`() async throws {
    let gate = Latch()
    try await besideHeavyQueues(until: gate) {
      let begun = Countdown(20)
      let others = (0..<20).map { _ in OperationQueue() }
      for queue in others { queue.addOperation { begun.count() } }
      await begun.done.opened()
      gate.open()
      for queue in others { try await queue.untilAllOperationsAreFinished() }
    }
  }

  @Test
  func `computing operations don't delay completion blocks or suspended tasks`() async throws {
    let gate = Latch()
    try await besideHeavyQueues(until: gate) {
      let begun = Countdown(2)
      let other = OperationQueue()
      let operation = BlockOperation {}
      operation.completionBlock = { begun.count() }
      other.addOperation(operation)
      other.addOperation {
        await Task.yield()
        begun.count()
      }
      await begun.done.opened()
      gate.open()
      try await other.untilAllOperationsAreFinished()
    }
  }

  @Test
  func `computing operations don't delay an operation that another one awaits`() async throws {
    let gate = Latch()
    try await besideHeavyQueues(until: gate) {
      let other = OperationQueue()
      let inner = BlockOperation { gate.open() }
      other.addOperation(BlockOperation { inner.waitUntilFinished() })
      other.addOperation(inner)
      try await other.untilAllOperationsAreFinished()
    }
  }
}
