public import AdvancedOperations
import CoreOperations

/// An observer that keeps what it is told, in order.
///
/// ```swift
/// let recorder = RecordingObserver()
/// operation.addObserver(recorder)
/// queue.addOperation(operation)
/// simulation.run()
/// #expect(recorder.names == ["enqueued", "started", "willFinish", "finished"])
/// ```
public final class RecordingObserver: OperationObserver {
  private let recorded = Locked<[OperationEvent]>([])

  /// Creates an observer that was told nothing.
  public init() {}

  /// What it was told so far, by all operations that it is attached to.
  public var events: [OperationEvent] { recorded.withLock { $0 } }

  /// The names of the events, without what they carry: those of the cases of `OperationEvent`.
  public var names: [String] { events.map(\.name) }

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

extension OperationEvent {
  /// The name of the case.
  var name: String {
    switch self {
    case .enqueued: "enqueued"
    case .started: "started"
    case .produced: "produced"
    case .progress: "progress"
    case .cancelled: "cancelled"
    case .willFinish: "willFinish"
    case .finished: "finished"
    case .dropped: "dropped"
    }
  }
}
