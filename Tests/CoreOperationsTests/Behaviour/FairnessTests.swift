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

  @Test func `does not hold up the completion blocks of what has finished`() async throws {
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

  @Test func `does not hold up another queue`() async throws {
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

  @Test func `does not hold up an async closure that has suspended`() async throws {
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
