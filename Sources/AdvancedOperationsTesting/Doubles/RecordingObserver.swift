public import AdvancedOperations
import CoreOperations

/// An observer that keeps the events of the operations that it is attached to, in order.
///
/// ```swift
/// let recorder = RecordingObserver()
/// operation.addObserver(recorder)
/// queue.addOperation(operation)
/// simulation.run()
/// #expect(recorder.kinds == [.enqueued, .started, .willFinish, .finished])
/// ```
public final class RecordingObserver: OperationObserver {
  private let recorded = Locked<[OperationEvent]>([])

  /// Creates an observer that has recorded nothing.
  public init() {}

  /// The events so far, of all operations that the observer is attached to.
  public var events: [OperationEvent] { recorded.withLock { $0 } }

  /// The kinds of the events, without the values that come with them.
  public var kinds: [OperationEvent.Kind] { events.map(\.kind) }

  private func record(_ event: OperationEvent) { recorded.withLock { $0.append(event) } }

  /// Records `.enqueued`.
  public func operationDidEnqueue(_ operation: AdvancedOperation) { record(.enqueued) }
  /// Records `.started`.
  public func operationDidStart(_ operation: AdvancedOperation) { record(.started) }
  /// Records `.produced`.
  public func operation(
    _ operation: AdvancedOperation,
    didProduce newOperation: AdvancedOperation
  ) { record(.produced(newOperation)) }
  /// Records `.progress`.
  public func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgressUpdate
  ) { record(.progress(progress)) }
  /// Records `.retrying`.
  public func operation(
    _ operation: AdvancedOperation,
    willRetryAsAttempt attempt: Int,
    after delay: Duration,
    because error: any Error
  ) { record(.retrying(attempt: attempt, after: delay, because: error)) }
  /// Records `.cancelled`.
  public func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    record(.cancelled(errors))
  }
  /// Records `.willFinish`.
  public func operationWillFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    record(.willFinish(errors))
  }
  /// Records `.finished`.
  public func operationDidFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    if let outcome = operation.outcome { record(.finished(outcome)) }
  }
}
