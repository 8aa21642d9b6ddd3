public import AdvancedOperations
import Synchronization

/// An observer that writes down when each operation was enqueued, started and finished, and how it
/// ended.
public final class Journal: OperationObserver {
  /// What is known of one operation; times count from the first event of all.
  public struct Entry: Sendable {
    /// The name of the operation.
    public var name: String
    /// When it began to wait.
    public var enqueued: Duration?
    /// When its conditions held and its turn had come.
    public var started: Duration?
    /// When it was over.
    public var finished: Duration?
    /// How it ended.
    public var outcome: OperationOutcome?
  }

  private struct State {
    var origin: Duration?
    var order: [ObjectIdentifier] = []
    var entries: [ObjectIdentifier: Entry] = [:]
  }

  private let state = Mutex(State())

  /// Creates a journal with nothing in it.
  public init() {}

  /// What was written down, in the order in which the operations were first heard of.
  public var entries: [Entry] {
    state.withLock { state in state.order.compactMap { state.entries[$0] } }
  }

  /// Writes down when the operation began to wait.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {
    note(operation) { $0.enqueued = $1 }
  }

  /// Writes down when the operation began to execute.
  public func operationDidStart(_ operation: AdvancedOperation) {
    note(operation) { $0.started = $1 }
  }

  /// Writes down when the operation was over, and how it ended.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    note(operation) { entry, time in
      entry.finished = time
      entry.outcome = outcome
    }
  }

  private func note(_ operation: AdvancedOperation, _ change: (inout Entry, Duration) -> Void) {
    // Of the operation's world, so that in a simulation it is virtual time.
    let now = operation.environment.clock.now
    state.withLock { state in
      let origin = state.origin ?? now
      state.origin = origin
      let id = ObjectIdentifier(operation)
      if state.entries[id] == nil { state.order.append(id) }
      change(&state.entries[id, default: Entry(name: operation.name ?? "unnamed")], now - origin)
    }
  }
}
