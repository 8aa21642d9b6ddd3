public import AdvancedOperations
import CoreOperations

/// An observer that records the events of its operations in order.
///
/// ```swift
/// let recorder = RecordingObserver()
/// operation.addObserver(recorder)
/// queue.addOperation(operation)
/// simulation.run()
/// #expect(recorder.kinds == [.enqueued, .started, .willFinish, .finished])
/// ```
public final class RecordingObserver: OperationObserver {
  private struct Record {
    var events: [OperationEvent] = []
    var openCount = 0
    weak var simulation: Simulation?
  }

  private let recorded = Locked(Record())

  /// Creates an observer without events.
  public init() {}

  /// The events so far, of all operations that the observer is attached to.
  public var events: [OperationEvent] { recorded.withLock { $0.events } }

  /// The kinds of the events, without their values.
  public var kinds: [OperationEvent.Kind] { events.map(\.kind) }

  private func record(_ event: OperationEvent, of operation: AdvancedOperation) {
    let simulation = Simulation.of(operation)
    let change =
      switch event.kind {
      case .enqueued: 1
      case .finished: -1
      default: 0
      }
    recorded.withLock { record in
      record.events.append(event)
      record.openCount += change
      if let simulation { record.simulation = simulation }
    }
  }

  /// The simulation of the operations; nil if no operation was in a simulation.
  var simulation: Simulation? { recorded.withLock { $0.simulation } }

  /// The reason why events may be missing; nil if it is unknown.
  var hint: String? {
    let (isEmpty, openCount, simulation) = recorded.withLock {
      ($0.events.isEmpty, $0.openCount, $0.simulation)
    }
    if isEmpty {
      return "No event was recorded: the operation wasn't added to a queue or started, or the "
        + "observer was attached later. Attach the observer before the operation is added."
    }
    if let simulation { return simulation.sentenceAboutPending }
    return openCount > 0 ? Simulation.sentence(aboutMissing: "The operation") : nil
  }

  /// Records `.enqueued`.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {
    record(.enqueued, of: operation)
  }
  /// Records `.started`.
  public func operationDidStart(_ operation: AdvancedOperation) { record(.started, of: operation) }
  /// Records `.produced`.
  public func operation(
    _ operation: AdvancedOperation,
    didProduce newOperation: AdvancedOperation
  ) { record(.produced(newOperation), of: operation) }
  /// Records `.progress`.
  public func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgress
  ) { record(.progress(progress), of: operation) }
  /// Records `.retrying`.
  public func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) { record(.retrying(retry), of: operation) }
  /// Records `.cancelled`.
  public func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    record(.cancelled(errors), of: operation)
  }
  /// Records `.willFinish`.
  public func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    record(.willFinish(outcome), of: operation)
  }
  /// Records `.finished`.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    record(.finished(outcome), of: operation)
  }
}
