import CoreOperations
import Dispatch
import Foundation

/// Everything is cancelled before any of it ran, or while it runs.
struct CancelWorkload: Workload {
  enum Moment: Sendable { case before, during }

  let moment: Moment

  var name: String { moment == .before ? "cancel-all" : "cancel-storm" }
  var title: String {
    moment == .before
      ? "a chain in a suspended queue, cancelled at once"
      : "operations, each cancelled by another thread while they run"
  }

  func lanes(size: Int, contestants: [any Contestant]) -> [Lane] {
    contestants.compactMap { contestant in
      switch (contestant, moment) {
      case (is OurQueue, .before):
        lane(contestant, size, expectedRuns: 0) { clock in try Self.cancelOurs(size, &clock) }
      case (is OurQueue, .during):
        lane(contestant, size, expectedRuns: nil) { clock in try Self.stormOurs(size, &clock) }
      case (is FoundationQueue, .before):
        lane(contestant, size, expectedRuns: 0) { clock in
          try Self.cancelFoundation(size, &clock)
        }
      case (is FoundationQueue, .during):
        lane(contestant, size, expectedRuns: nil) { clock in
          try Self.stormFoundation(size, &clock)
        }
      default: nil
      }
    }
  }

  private func lane(
    _ contestant: any Contestant,
    _ size: Int,
    expectedRuns: Int?,
    run: @escaping @Sendable (inout PhaseClock) throws -> Void
  ) -> Lane {
    var lane = Lane(contestant.name, operations: size, run: run)
    lane.expectedRuns = expectedRuns
    lane.assumedExponent = contestant is FoundationQueue && moment == .before ? 2 : 1
    if contestant is FoundationQueue, moment == .before, size > 50_000 {
      lane.objection = "it would release the chain recursively"
    }
    return lane
  }

  private static func check(_ size: Int, finished: Int, left: Int) throws {
    guard finished == size, left == 0 else {
      throw WrongResult(description: "\(finished) of \(size) finished, \(left) are in the queue")
    }
  }

  private static func cancelOurs(_ size: Int, _ clock: inout PhaseClock) throws {
    let queue = CoreOperations.OperationQueue()
    queue.isSuspended = true
    let operations = (0..<size).map { _ in CoreOperations.BlockOperation { RunCount.add() } }
    for (operation, next) in zip(operations, operations.dropFirst()) {
      next.addDependency(operation)
    }
    clock.markBuilt()
    queue.addOperations(operations)
    queue.cancelAllOperations()
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    clock.markRan()
    try check(
      size,
      finished: operations.count { $0.isFinished && $0.isCancelled },
      left: queue.operationCount
    )
  }

  private static func cancelFoundation(_ size: Int, _ clock: inout PhaseClock) throws {
    let queue = Foundation.OperationQueue()
    queue.isSuspended = true
    let operations = (0..<size).map { _ in Foundation.BlockOperation { RunCount.add() } }
    for (operation, next) in zip(operations, operations.dropFirst()) {
      next.addDependency(operation)
    }
    clock.markBuilt()
    queue.addOperations(operations, waitUntilFinished: false)
    queue.cancelAllOperations()
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    clock.markRan()
    try check(
      size,
      finished: operations.count { $0.isFinished && $0.isCancelled },
      left: queue.operationCount
    )
  }

  private static func stormOurs(_ size: Int, _ clock: inout PhaseClock) throws {
    let queue = CoreOperations.OperationQueue()
    let operations = (0..<size).map { _ in CoreOperations.BlockOperation { RunCount.add() } }
    clock.markBuilt()
    let end = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      for operation in operations.reversed() { operation.cancel() }
      end.signal()
    }
    for operation in operations { queue.addOperation(operation) }
    queue.waitUntilAllOperationsAreFinished()
    end.wait()
    clock.markRan()
    try check(size, finished: operations.count { $0.isFinished }, left: queue.operationCount)
  }

  private static func stormFoundation(_ size: Int, _ clock: inout PhaseClock) throws {
    let queue = Foundation.OperationQueue()
    let operations = (0..<size).map { _ in Foundation.BlockOperation { RunCount.add() } }
    clock.markBuilt()
    let end = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      for operation in operations.reversed() { operation.cancel() }
      end.signal()
    }
    for operation in operations { queue.addOperation(operation) }
    queue.waitUntilAllOperationsAreFinished()
    end.wait()
    clock.markRan()
    try check(size, finished: operations.count { $0.isFinished }, left: queue.operationCount)
  }
}
