import AdvancedOperations
import Synchronization

/// The time that the requests of a step have taken, without that in which they waited for their turn.
///
/// A request that was added and hasn't started waits for the provider's circuit, for its rate, which
/// instances share, or for the store. None of these waits says anything about the order, so no order fails
/// because of them. The same applies to a probe, to the delay after a failed probe, and to the delay that the
/// provider asks for.
/// The patience observes the requests of one step, of which one is on its way at a time. It reads the state
/// of the circuit when a request starts and when it has finished.
final class StepPatience: OperationObserver {
  private struct State {
    var spent = Duration.zero
    /// The beginning of the time that counts now; nil while none does.
    var since: Duration?
    /// The request that is on its way.
    var request: ObjectIdentifier?

    mutating func count(until now: Duration, goesOn: Bool) {
      if let since { spent += now - since }
      since = goesOn ? now : nil
    }
  }

  private let limit: Duration
  private let clock: OperationClock
  private let breaker: CircuitBreaker?
  private let state: Mutex<State>

  /// Begins to count.
  ///
  /// - Parameters:
  ///   - limit: The time for requests, and for the waits between them.
  ///   - clock: The clock that measures it.
  ///   - breaker: The circuit that the requests wait for; nil if there is none.
  init(_ limit: Duration, clock: OperationClock, breaker: CircuitBreaker?) {
    self.limit = limit
    self.clock = clock
    self.breaker = breaker
    state = Mutex(State(since: clock.now))
  }

  /// Whether the time is over.
  var isOver: Bool {
    let now = clock.now
    return state.withLock { $0.spent + ($0.since.map { now - $0 } ?? .zero) >= limit }
  }

  func operationDidEnqueue(_ operation: AdvancedOperation) {
    let now = clock.now
    state.withLock { state in
      state.count(until: now, goesOn: false)
      state.request = ObjectIdentifier(operation)
    }
  }

  func operationDidStart(_ operation: AdvancedOperation) { settle(operation, isAskedToWait: false) }

  // The circuit has been notified of the end by now, and may be open.
  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    let error = outcome.failure?.first(PaymentProviderError.self)
    settle(operation, isAskedToWait: error?.retryAfter != nil)
  }

  /// Counts the time from now on if the circuit is closed, and the provider hasn't asked for a delay.
  private func settle(_ operation: AdvancedOperation, isAskedToWait: Bool) {
    let (now, isClosed) = (clock.now, breaker.map { $0.state == .closed } ?? true)
    state.withLock { state in
      // The end of one may be delivered when the next waits for its turn.
      guard state.request == ObjectIdentifier(operation) else { return }
      state.count(until: now, goesOn: isClosed && !isAskedToWait)
    }
  }
}
