import CoreOperations

/// The wait of an operation for the slot and the claims of its next attempt, which ends once: the
/// attempt begins, or nothing comes of it.
final class AttemptTurn: Sendable {
  private enum State {
    case open
    case begun
    /// With what keeps the attempt from beginning, unless that is the end of the operation.
    case abandoned(OperationFailure.Element?)
  }

  private let state = Locked(State.open)
  private let wait = AsyncWait()

  /// The operation has all that the attempt needs.
  ///
  /// - Returns: Whether the attempt begins; if not, it was abandoned before.
  func begin() -> Bool { end(with: .begun) }

  /// Nothing comes of the attempt; does nothing once it has begun.
  ///
  /// - Returns: Whether this was what ended the wait.
  func abandon(because element: OperationFailure.Element? = nil) -> Bool {
    end(with: .abandoned(element))
  }

  private func end(with new: State) -> Bool {
    let isFirst = state.withLock { state in
      guard case .open = state else { return false }
      state = new
      return true
    }
    if isFirst { wait.finish() }
    return isFirst
  }

  /// What came of a turn.
  enum Outcome {
    case begun
    case abandoned(OperationFailure.Element?)
  }

  /// Waits for the turn, also until the task is cancelled, and abandons it then.
  ///
  /// - Parameter want: Makes the operation wait in its queue.
  /// - Returns: What came of it.
  func outcome(wanting want: @Sendable () -> Void) async -> Outcome {
    try? await wait.run { _ in
      want()
      return true
    } unregister: { _ in
      _ = self.abandon()
    }
    _ = abandon()
    return state.withLock { state in
      if case .abandoned(let element) = state { .abandoned(element) } else { .begun }
    }
  }
}
