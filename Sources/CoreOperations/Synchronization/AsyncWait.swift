/// The wait of one task, which ends once: by what it waits for or by the task's cancellation.
package final class AsyncWait: Sendable {
  private enum State {
    case fresh
    case suspended(CheckedContinuation<Void, any Error>)
    case ended((any Error)?)
  }

  private let state = Locked(State.fresh)

  package init() {}

  package var hasEnded: Bool {
    state.withLock { state in
      switch state {
      case .fresh, .suspended: false
      case .ended: true
      }
    }
  }

  package func finish() { end(with: nil) }

  package func cancel() { end(with: CancellationError()) }

  private func end(with error: (any Error)?) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      switch state {
      case .fresh:
        state = .ended(error)
        return nil
      case .suspended(let continuation):
        state = .ended(error)
        return continuation
      case .ended: return nil
      }
    }
    guard let continuation else { return }
    if let error { continuation.resume(throwing: error) } else { continuation.resume() }
  }

  /// Suspends the task until the wait has ended.
  ///
  /// - Parameters:
  ///   - register: Called once, before suspending, unless the task is cancelled already. Returns
  ///     false when there is nothing to wait for.
  ///   - unregister: Called when the task was cancelled while it waited.
  /// - Throws: `CancellationError` when the task was cancelled first.
  package func run(
    register: @Sendable (AsyncWait) -> Bool,
    unregister: @escaping @Sendable (AsyncWait) -> Void
  ) async throws {
    try Task.checkCancellation()
    guard register(self) else { return }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Void, any Error>? in
          switch state {
          case .fresh:
            state = .suspended(continuation)
            return nil
          case .suspended: trap("one wait was begun twice")
          case .ended(nil): return .success(())
          case .ended(let error?): return .failure(error)
          }
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      // The runtime holds a lock of the task here.
      uninterrupted {
        cancel()
        unregister(self)
      }
    }
  }
}
