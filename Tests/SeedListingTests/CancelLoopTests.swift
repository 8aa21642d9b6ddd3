import CoreOperations
import Dispatch
import TestSupport
import Testing

/// The class of document 003 whose `cancel()` reports `isFinished`.
///
/// With Foundation it crashes.
@Suite(.watched) struct `003, a cancel that reports the end` {
  /// When the cancel comes.
  enum Moment: CaseIterable {
    case beforeAdding, afterAdding, whileAdding, whileStarting, afterTheEnd
  }

  @Test func `many times at any moment, neither crashes nor sticks`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 4
    let batch = 100
    for _ in 0..<(Effort.size(10_000) / batch) {
      var operations: [ReducedDownloadOperation] = []
      var dependents: [Operation] = []
      let completions = Countdown(batch)
      let cancels = Countdown(batch)
      for number in 0..<batch {
        let download = ReducedDownloadOperation()
        download.completionBlock = { completions.count() }
        let dependent = Operation()
        dependent.addDependency(download)
        operations.append(download)
        dependents.append(dependent)
        let cancel: @Sendable () -> Void = {
          download.cancel()
          cancels.count()
        }
        switch Moment.allCases[number % Moment.allCases.count] {
        case .beforeAdding:
          cancel()
          queue.addOperations([download, dependent])
        case .afterAdding:
          queue.addOperations([download, dependent])
          cancel()
        case .whileAdding:
          launch(cancel)
          queue.addOperations([download, dependent])
        case .whileStarting:
          queue.addOperations([download, dependent])
          Task {
            await download.untilExecutingOrFinished()
            cancel()
          }
        case .afterTheEnd:
          queue.addOperations([download, dependent])
          Task {
            try? await download.untilFinished()
            cancel()
          }
        }
      }
      try await queue.untilAllOperationsAreFinished()
      await completions.done.opened()
      await cancels.done.opened()
      #expect(operations.allSatisfy { $0.isFinished && !$0.isExecuting })
      #expect(dependents.allSatisfy { $0.isFinished })
      #expect(queue.operationCount == 0)
    }
  }
}
