import AdvancedOperations
import AdvancedOperationsVisualization
import CoreOperations

extension FeatureWorkload {
  /// The observers in the box, and events as a sequence, beside an operation that nobody observes.
  static let observers = FeatureWorkload("observers", "who is told what operations do") { size in
    [
      Lane("Advanced", operations: size) { _ in run(size) { CountingOperation() } },
      Lane("BlockObserver", operations: size, expectedRuns: 2 * size) { _ in
        run(size, observedBy: BlockObserver(didFinish: { _, _ in RunCount.add() }))
      },
      Lane("TimeoutObserver", operations: size) { _ in
        run(size, observedBy: TimeoutObserver(.seconds(3_600)))
      },
      // A line each when it is enqueued, starts and ends.
      Lane("LogObserver", operations: size, expectedRuns: 4 * size) { _ in
        run(size, observedBy: LogObserver { _ in RunCount.add() })
      },
      Lane("ProgressObserver", operations: size) { _ in
        let observer = ProgressObserver()
        run(size, observedBy: observer)
        try check(
          Int(observer.progress.completedUnitCount),
          equals: size,
          "finished, as is observed"
        )
      },
      Lane("progress", operations: size, expectedRuns: 2 * size) { _ in
        run(size) {
          let operation = ProgressingOperation()
          operation.addObserver(CountingProgress())
          return operation
        }
      },
      Lane("TimelineRecorder", operations: size) { _ in
        let recorder = TimelineRecorder()
        run(size, observedBy: recorder)
        try check(recorder.timeline.spans.count, equals: size, "spans")
      },
      Lane("events", operations: size, expectedRuns: 2 * size) { _ in readEvents(size) },
    ]
  }

  private static func run(_ size: Int, observedBy observer: any OperationObserver) {
    run(size) {
      let operation = CountingOperation()
      operation.addObserver(observer)
      return operation
    }
  }

  /// Reads the events of each operation in a task of its own, and counts the last ones.
  private static func readEvents(_ size: Int) {
    Blocking.run {
      let queue = CoreOperations.OperationQueue()
      await withDiscardingTaskGroup { group in
        for _ in 0..<size {
          let operation = CountingOperation()
          let events = operation.events
          group.addTask {
            for await event in events {
              if case .finished = event { RunCount.add() }
            }
          }
          queue.addOperation(operation)
        }
      }
    }
  }
}

private final class ProgressingOperation: AdvancedOperation, @unchecked Sendable {
  override func execute() {
    RunCount.add()
    updateProgress(completed: 1, total: 1)
    finish()
  }
}

private struct CountingProgress: OperationObserver {
  func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgress
  ) { RunCount.add() }
}
