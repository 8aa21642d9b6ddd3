import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `A queue's progress` {
  @Test func `a queue's progress counts added operations and those that left`() async throws {
    let executor = ManualExecutor(operationsPerWorker: 1)
    let queue = OperationQueue(executor: executor)
    #expect(queue.progress.fractionCompleted == 0)
    queue.addOperations((0..<4).map { _ in Operation() })
    #expect(queue.progress.totalUnitCount == 4)
    #expect(queue.progress.completedUnitCount == 0)
    executor.runOne()
    #expect(queue.progress.completedUnitCount == 1)
    #expect(queue.progress.fractionCompleted == 0.25)
    executor.runAll()
    #expect(queue.progress.completedUnitCount == 4)
    #expect(queue.progress.fractionCompleted == 1)
  }

  @Test func `a queue's progress restarts when an operation is added to an empty queue`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    queue.addOperations([Operation(), Operation()])
    executor.runAll()
    queue.addOperation(Operation())
    #expect(queue.progress.totalUnitCount == 1)
    #expect(queue.progress.completedUnitCount == 0)
  }

  @Test func `a queue's progress keeps a total that was set`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    queue.progress.totalUnitCount = 10
    queue.addOperations([Operation(), Operation()])
    executor.runAll()
    #expect(queue.progress.totalUnitCount == 10)
    #expect(queue.progress.fractionCompleted == 0.2)
  }

  @Test func `a queue's progress reaches a set total even if the queue empties`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let progress = queue.progress
    progress.totalUnitCount = 4
    for count in 1...4 {
      if count.isMultiple(of: 2) { queue.addOperation(Operation()) } else { queue.addOperation {} }
      executor.runAll()
      #expect(progress.completedUnitCount == count)
    }
    #expect(progress.fractionCompleted == 1)
    // The next total of an empty queue is one of what comes.
    progress.totalUnitCount = 2
    #expect(progress.completedUnitCount == 0)
    queue.addOperation(Operation())
    executor.runAll()
    #expect(progress.fractionCompleted == 0.5)
    progress.resetTotalUnitCount()
    #expect(progress.totalUnitCount == 0 && progress.completedUnitCount == 0)
  }
}

@Suite struct `The fraction of a progress` {
  @Test(
    arguments: zip([-1, 0.25, 2, .infinity, -.infinity, .nan], [0, 0.25, 1, 1, 0, 0] as [Double])
  )
  func `the fraction of a progress is a number from 0 to 1`(fraction: Double, expected: Double) {
    let progress = OperationProgress(
      completedUnitCount: 1,
      totalUnitCount: 2,
      fractionCompleted: fraction
    )
    #expect(progress.fractionCompleted == expected)
    #expect(progress == progress)
  }
}
