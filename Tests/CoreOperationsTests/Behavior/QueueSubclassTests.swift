import CoreOperations
import Testing

@Suite(.watched) struct `A subclass of the queue` {
  private class Counting: OperationQueue, @unchecked Sendable {
    let added = Log<Operation>()

    override func addOperation(_ op: Operation) {
      added.add(op)
      super.addOperation(op)
    }
  }

  private final class Deeper: Counting, @unchecked Sendable {}

  @Test func `an addOperation override receives an operation for each closure`() async throws {
    for queue in [Counting(), Deeper()] {
      let ran = Tally()
      queue.addOperation(BlockOperation { ran.add() })
      queue.addOperation { ran.add() }
      queue.addOperation { () async in ran.add() }
      try await queue.untilAllOperationsAreFinished()
      #expect(ran.now == 3)
      #expect(queue.added.count == 3)
      #expect(queue.added.entries.allSatisfy { $0.isFinished })
    }
  }

  /// The prerequisite that programs for Foundation's queue have.
  private final class Batching: OperationQueue, @unchecked Sendable {
    override func addOperations(_ ops: [Operation]) {
      addOperations(ops, waitUntilFinished: false)
    }
  }

  @Test func `an override of addOperations may call the waiting variant`() async throws {
    let queue = Batching()
    let ran = Tally()
    queue.addOperations([BlockOperation { ran.add() }, BlockOperation { ran.add() }])
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == 2)
  }
}
