import AdvancedOperations
import CoreOperations
import Dispatch

/// Expects that code of a test ends within a time, and otherwise fails with a report of all operations.
///
/// A test that hangs then reports the causes, in Swift Testing and in XCTest:
///
/// ```swift
/// try await expectEnd(within: .seconds(60)) {
///   let queue = AdvancedOperationQueue(name: "imports")
///   queue.addOperation(work)
///   try await queue.untilAllOperationsAreFinished()
/// }
/// ```
///
/// The time is real. In a simulation, use `simulation.run { }`, which reports a hang without waiting.
///
/// After the time limit, the function creates the report, cancels the task of the body, and throws. It
/// doesn't wait for the body, because a body that awaits a lost continuation never ends. If the body blocks all
/// threads of tasks, the test can't fail. The report is then written to the standard error.
///
/// Swift Testing's `.timeLimit` cancels the test, and reports nothing about operations. Choose a `limit` that is
/// shorter than `.timeLimit`. If the test is cancelled, the body is cancelled, and the limit still applies.
///
/// - Parameters:
///   - limit: The time that the body may take.
///   - fileID: The file of the call.
///   - line: The line of the call.
///   - body: The code. The report contains queues that it creates, and earlier queues that are recorded by
///     `OperationDiagnostics`. The report contains the texts of errors.
/// - Returns: The value of the body.
/// - Throws: ``ExpectationFailure`` after the time limit, and the error of the body.
public func expectEnd<Value: Sendable>(
  within limit: Duration,
  fileID: String = #fileID,
  line: Int = #line,
  _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await expectEnd(within: limit, patience: 5, fileID: fileID, line: line, body)
}

/// Expects that code of a test ends within a time.
///
/// - Parameters:
///   - limit: The time that the body may take.
///   - patience: The seconds after which the report is written to the standard error, if the call can't
///     return.
///   - fileID: The file of the call.
///   - line: The line of the call.
///   - body: The code.
/// - Returns: The value of the body.
/// - Throws: ``ExpectationFailure`` if the time is over, and the error of the body.
package func expectEnd<Value: Sendable>(
  within limit: Duration,
  patience: Double,
  fileID: String = #fileID,
  line: Int = #line,
  _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  OperationDiagnostics.startRecording()
  let task = Task { try await body() }
  let hasEnded = DispatchSemaphore(value: 0)
  let hasReturned = DispatchSemaphore(value: 0)
  defer { hasReturned.signal() }
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      let resume = RemovableClosure<@Sendable (Result<Value, any Error>) -> Void> {
        continuation.resume(with: $0)
      }
      Task {
        let result = await task.result
        hasEnded.signal()
        resume.take()?.call(result)
      }
      // The threads of tasks may be blocked by the code that hangs.
      _ = DetachedThread.launch {
        if hasEnded.wait(timeout: .now() + limit / .seconds(1)) == .success { return }
        let report = OperationDiagnostics.makeReport(showsErrors: true)
        let failure = ExpectationFailure(
          "The code hasn't ended after \(limit.readable).\n\(report)",
          fileID: fileID,
          line: line
        )
        resume.take()?.call(.failure(failure))
        task.cancel()
        if hasReturned.wait(timeout: .now() + patience) == .timedOut {
          Output.send("\(failure)\n", to: 2)
        }
      }
    }
  } onCancel: {
    task.cancel()
  }
}
