/// The life of an operation: its phase, and whether it was cancelled.
///
/// This is a pure value. Each event is one mutating method that returns the action of the caller. The methods
/// acquire no lock, call no other code and know no queue. The whole value fits into one atomic word.
package struct OperationLife: Equatable, Sendable {
  /// The phases, which are entered only in this order; some are skipped.
  package enum Phase: UInt32, Comparable, CaseIterable, Sendable {
    /// The operation was created and isn't in a queue. Exits: `enqueued`, `executing` (manually), `finished`.
    case created
    /// The operation is in a queue that has not started it. Exits: `started`, `finished` (an override reports
    /// early).
    case enqueued
    /// The queue has called `start()`. An operation of a layer stays here while it executes. Exits:
    /// `executing`, `finished`.
    case started
    /// The operation is in `main()`, which the default `start()` called. Exits: `ended`, `finished`.
    case executing
    /// `main()` has returned, and an overridden `isFinished` has not confirmed the end. Exit: `finished`.
    case ended
    /// The operation has finished, and dependents are released. No exit.
    case finished

    package static func < (a: Phase, b: Phase) -> Bool { a.rawValue < b.rawValue }
  }

  /// A caller's mistake, as a value.
  package enum Mistake: Equatable, Sendable {
    case enqueuedTwice, enqueuedAfterStart
    case startedWhileQueued, startedWhileExecuting, startedBeforeReady
  }

  package private(set) var phase = Phase.created
  package private(set) var isCancelled = false
  /// A Boolean value that indicates whether any event other than an early report of an override has changed
  /// the phase.
  private(set) var wasStarted = false

  package init() {}

  // MARK: Events

  /// The action when an operation is added to a queue.
  package enum EnqueueAction: Equatable, Sendable {
    /// Add the operation.
    case admit
    /// Do nothing, because the operation reported its end before.
    case ignore
    case reject(Mistake)
  }

  /// Records that the operation is added to a queue.
  package mutating func enqueued() -> EnqueueAction {
    switch phase {
    case .created:
      phase = .enqueued
      return .admit
    case .enqueued: return .reject(.enqueuedTwice)
    case .finished where !wasStarted: return .ignore
    case .started, .executing, .ended, .finished: return .reject(.enqueuedAfterStart)
    }
  }

  /// The action of a queue for an operation that it decided to start.
  package enum TurnAction: Equatable, Sendable {
    /// Call `start()`.
    case callStart
    /// Resume the operation, because it was started before and has paused since.
    case goOn
    /// Let the operation leave, because it reported its end before.
    case leave
  }

  /// Records that the queue decided to start the operation, or to resume it after a pause.
  package mutating func turnCame() -> TurnAction {
    switch phase {
    case .enqueued:
      phase = .started
      wasStarted = true
      return .callStart
    case .started: return .goOn
    case .finished: return .leave
    case .created, .executing, .ended:
      internalError("a queue started an operation in the phase \(phase)")
    }
  }

  /// Records that the queue starts an operation whose `start()` is known to be the default implementation, in
  /// one event.
  ///
  /// - Returns: Whether to run the work and report ``mainReturnedForGood()``. Otherwise nothing changed, and
  ///   ``turnCame()`` is the event to use.
  package mutating func turnCameToMain() -> Bool {
    guard phase == .enqueued, !isCancelled else { return false }
    phase = .executing
    wasStarted = true
    return true
  }

  /// Records the end of an operation whose `isFinished` is known not to be overridden, because its work
  /// returned.
  package mutating func mainReturnedForGood() {
    guard phase == .executing else { internalError("the work returned in the phase \(phase)") }
    phase = .finished
  }

  /// The action of the default `start()`.
  package enum StartAction: Equatable, Sendable {
    /// Call `main()`, then report ``mainReturned()``.
    case callMain
    /// Finish the operation without calling `main()`, because it was cancelled.
    case finishCancelled
    /// Do nothing, because the operation has finished.
    case ignore
    case reject(Mistake)
  }

  /// Records a call of the default `start()`.
  ///
  /// - Parameter isReady: A Boolean value that indicates whether all dependencies have finished. The value is
  ///   read only for an operation that is started manually and not cancelled.
  /// - Returns: The action of `start()`.
  package mutating func startCalled(isReady: Bool) -> StartAction {
    switch phase {
    case .created:
      if isCancelled {
        wasStarted = true
        phase = .ended
        return .finishCancelled
      }
      guard isReady else { return .reject(.startedBeforeReady) }
      wasStarted = true
      phase = .executing
      return .callMain
    case .enqueued: return .reject(.startedWhileQueued)
    case .started:
      if isCancelled {
        phase = .ended
        return .finishCancelled
      }
      phase = .executing
      return .callMain
    case .executing: return .reject(.startedWhileExecuting)
    case .ended, .finished: return .ignore
    }
  }

  /// The action of an operation of a layer, which has its own `start()`.
  package enum ManualStartAction: Equatable, Sendable {
    case begin
    case ignore
    case reject(Mistake)
  }

  /// Records that the program started an operation of a layer that isn't in a queue, and runs it.
  package mutating func startedManually() -> ManualStartAction {
    switch phase {
    case .created:
      phase = .started
      wasStarted = true
      return .begin
    case .enqueued: return .reject(.startedWhileQueued)
    case .started, .executing, .ended: return .reject(.startedWhileExecuting)
    case .finished: return .ignore
    }
  }

  /// Records that `main()` returned to the default `start()`, which now reads `isFinished`.
  ///
  /// - Returns: Whether to read `isFinished`; false if an override reported the end itself.
  package mutating func mainReturned() -> Bool {
    switch phase {
    case .executing:
      phase = .ended
      return true
    case .finished: return false
    case .created, .enqueued, .started, .ended:
      internalError("main() returned in the phase \(phase)")
    }
  }

  /// The action when the operation has finished.
  package enum FinishAction: Equatable, Sendable {
    /// Release dependents, wake waiters, and leave the queue.
    case close
    /// Do nothing, because the operation was closed before.
    case ignore
  }

  /// Records the end, which the default `start()` found, or which an override reported.
  ///
  /// An override may report the end at any time and any number of times.
  package mutating func finished() -> FinishAction {
    if phase == .finished { return .ignore }
    phase = .finished
    return .close
  }

  /// The action of `cancel()`.
  package enum CancelAction: Equatable, Sendable {
    /// The operation has finished, and the flag stays false.
    case ignore
    /// The operation was cancelled before, and nothing changes.
    case again
    /// Only the flag changed.
    case flagged
    /// The flag changed, and a queue should let the operation leave ahead of others.
    case leaveAhead
    /// `main()` has returned, and only `isFinished` indicates whether that was the end. Read it, and call
    /// ``cancelCalled(isFinishDenied:)`` if it is false.
    case askWhetherFinished
  }

  /// Records a call of `cancel()`.
  ///
  /// - Parameter isFinishDenied: A Boolean value that indicates whether an overridden `isFinished` is false,
  ///   so that the work continues after `main()`.
  /// - Returns: The action of `cancel()`.
  package mutating func cancelCalled(isFinishDenied: Bool = false) -> CancelAction {
    if phase == .finished { return .ignore }
    if isCancelled { return .again }
    if phase == .ended && !isFinishDenied { return .askWhetherFinished }
    isCancelled = true
    return phase == .enqueued ? .leaveAhead : .flagged
  }
}

extension OperationLife: RawRepresentable {
  package init?(rawValue: UInt32) {
    guard let phase = Phase(rawValue: rawValue & 0b111), rawValue < 1 << 5 else { return nil }
    self.phase = phase
    isCancelled = rawValue & 1 << 3 != 0
    wasStarted = rawValue & 1 << 4 != 0
  }

  package var rawValue: UInt32 {
    phase.rawValue | (isCancelled ? 1 << 3 : 0) | (wasStarted ? 1 << 4 : 0)
  }
}
