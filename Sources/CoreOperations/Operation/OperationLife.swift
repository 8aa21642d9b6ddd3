/// The life of an operation: which phase it is in, and whether it was cancelled.
///
/// A pure value. Each event is one mutating method that returns what the caller has to do; nothing
/// here locks, calls out or knows a queue. The whole of it fits into one atomic word.
package struct OperationLife: Equatable, Sendable {
  /// The phases, only ever entered in this order; some are jumped over.
  package enum Phase: UInt32, Comparable, CaseIterable, Sendable {
    /// Made, in no queue. Exits: `enqueued`, `executing` (manually), `finished`.
    case created
    /// In a queue that has not started it. Exits: `started`, `finished` (an override reports
    /// early).
    case enqueued
    /// Handed to its `start()` by its queue; one of a layer stays here while it executes.
    /// Exits: `executing`, `finished`.
    case started
    /// In `main()` by way of the default `start()`. Exits: `ended`, `finished`.
    case executing
    /// `main()` returned, and an overridden `isFinished` has not confirmed it. Exit: `finished`.
    case ended
    /// Over; dependents are released. No exit.
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
  /// Whether anything but an early report of an override has moved the operation on.
  private(set) var wasStarted = false

  package init() {}

  // MARK: Events

  /// What to do when an operation is handed to a queue.
  package enum EnqueueAction: Equatable, Sendable {
    /// Take it in.
    case admit
    /// It reported its end before: there is nothing to take in.
    case ignore
    case reject(Mistake)
  }

  /// The operation was handed to a queue.
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

  /// What a queue does with an operation that it decided to start.
  package enum TurnAction: Equatable, Sendable {
    /// Call its `start()`.
    case callStart
    /// It was started before and has paused since: let it go on.
    case goOn
    /// It reported its end before: let it leave.
    case leave
  }

  /// The queue decided to start the operation, or to let it go on after a pause.
  package mutating func turnCame() -> TurnAction {
    switch phase {
    case .enqueued:
      phase = .started
      wasStarted = true
      return .callStart
    case .started: return .goOn
    case .finished: return .leave
    case .created, .executing, .ended:
      trap("a queue started an operation in the phase \(phase)")
    }
  }

  /// The queue decided to start an operation whose `start()` is known to be the default one: the
  /// turn and the start in one event.
  ///
  /// - Returns: Whether to do its work and report ``mainReturnedForGood()``; if not, nothing
  ///   changed and it takes ``turnCame()``.
  package mutating func turnCameToMain() -> Bool {
    guard phase == .enqueued, !isCancelled else { return false }
    phase = .executing
    wasStarted = true
    return true
  }

  /// The work of an operation returned whose `isFinished` is known not to be overridden: it is
  /// over.
  package mutating func mainReturnedForGood() {
    guard phase == .executing else { trap("the work returned in the phase \(phase)") }
    phase = .finished
  }

  /// What the default `start()` does.
  package enum StartAction: Equatable, Sendable {
    /// Call `main()`, then report ``mainReturned()``.
    case callMain
    /// It was cancelled: finish it without calling `main()`.
    case finishCancelled
    /// It is over already.
    case ignore
    case reject(Mistake)
  }

  /// The default `start()` was called.
  ///
  /// - Parameter isReady: Whether all dependencies have finished; only looked at for an operation
  ///   that is started manually and not cancelled.
  /// - Returns: What to do.
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

  /// What an operation of a layer, which brings its own `start()`, does.
  package enum ManualStartAction: Equatable, Sendable {
    case begin
    case ignore
    case reject(Mistake)
  }

  /// The program started an operation of a layer that isn't in a queue, and runs it.
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

  /// `main()` returned to the default `start()`, which now asks `isFinished`.
  ///
  /// - Returns: Whether there is something to ask: false when an override reported the end itself.
  package mutating func mainReturned() -> Bool {
    switch phase {
    case .executing:
      phase = .ended
      return true
    case .finished: return false
    case .created, .enqueued, .started, .ended: trap("main() returned in the phase \(phase)")
    }
  }

  /// What to do when the operation has finished.
  package enum FinishAction: Equatable, Sendable {
    /// Release dependents, wake waiters, leave the queue.
    case close
    /// That was done before.
    case ignore
  }

  /// The operation has finished: found by the default `start()`, or said by an override, which may
  /// do so at any time and any number of times.
  package mutating func finished() -> FinishAction {
    if phase == .finished { return .ignore }
    phase = .finished
    return .close
  }

  /// What `cancel()` does.
  package enum CancelAction: Equatable, Sendable {
    /// Over already: the flag stays false.
    case ignore
    /// Cancelled before: nothing changes.
    case again
    /// Only the flag changed.
    case flagged
    /// The flag changed, and a queue should let the operation leave ahead of others.
    case leaveAhead
    /// `main()` has returned: whether that was the end, only `isFinished` knows. Ask it, and call
    /// ``cancelCalled(isFinishDenied:)`` if it says no.
    case askWhetherFinished
  }

  /// `cancel()` was called.
  ///
  /// - Parameter isFinishDenied: Whether an overridden `isFinished` says that the work
  ///   goes on after `main()`.
  /// - Returns: What to do.
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
