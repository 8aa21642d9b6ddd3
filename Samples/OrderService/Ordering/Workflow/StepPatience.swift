import AdvancedOperations
import Synchronization

/// How long the requests of a step have gone on, without the time in which they stood in line.
///
/// A request waits for the provider's rate, which instances share, and with that for the store. That
/// says nothing about the provider, so that no order fails for it. It observes the requests of one
/// step, of which one is on its way at a time.
final class StepPatience: OperationObserver {
  private struct State {
    var waited = Duration.zero
    /// When the request was made that waits now.
    var waitsSince: Duration?
  }

  private let limit: Duration
  private let clock: OperationClock
  private let begin: Duration
  private let state = Mutex(State())

  /// Begins to count.
  ///
  /// - Parameters:
  ///   - limit: How long requests, and the waits between them, may take.
  ///   - clock: Whose time counts.
  init(_ limit: Duration, clock: OperationClock) {
    self.limit = limit
    self.clock = clock
    begin = clock.now
  }

  /// Whether the time is over.
  var isOver: Bool {
    let now = clock.now
    return state.withLock { state in
      let waits = state.waitsSince.map { now - $0 } ?? .zero
      return now - begin - state.waited - waits >= limit
    }
  }

  func operationDidEnqueue(_ operation: AdvancedOperation) {
    let now = clock.now
    state.withLock { $0.waitsSince = now }
  }

  func operationDidStart(_ operation: AdvancedOperation) { waitIsOver() }

  // One whose condition failed has never started.
  func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    waitIsOver()
  }

  private func waitIsOver() {
    let now = clock.now
    state.withLock { state in
      guard let since = state.waitsSince else { return }
      state.waited += now - since
      state.waitsSince = nil
    }
  }
}
