import CoreOperations

/// A call that is due at a time.
///
/// ```swift
/// let timer = clock.schedule(at: clock.now + .seconds(30)) { giveUp() }
/// timer.cancel()
/// ```
public final class OperationTimer: Sendable {
  private struct State {
    var action: (@Sendable () -> Void)?
    var sleeper: Task<Void, any Error>?
    /// Where the timer waits for its time, under which number.
    weak var table: (any TimerTable)?
    var number = 0
  }

  private let state: Locked<State>

  package init(_ action: @escaping @Sendable () -> Void) { state = Locked(State(action: action)) }

  /// Makes the call, unless that was done or the timer was cancelled.
  package func fire() { take().action?() }

  /// Whether the call is still to be made.
  package var isPending: Bool { state.withLock { $0.action != nil } }

  /// Prevents the call, if it hasn't been made, and lets go of it at once, however far its time is.
  public func cancel() {
    let old = take()
    old.sleeper?.cancel()
    old.table?.timerCancelled(old.number)
  }

  /// Has a task cancelled with the timer: the one that waits for the time.
  func cancelled(with sleeper: Task<Void, any Error>) {
    let isOver = state.withLock { state in
      if state.action != nil { state.sleeper = sleeper }
      return state.action == nil
    }
    if isOver { sleeper.cancel() }
  }

  /// Has a table forget the timer when it is cancelled; the table has taken it in.
  package func wasTaken(into table: any TimerTable, as number: Int) {
    let isOver = state.withLock { state in
      if state.action != nil {
        state.table = table
        state.number = number
      }
      return state.action == nil
    }
    if isOver { table.timerCancelled(number) }
  }

  private func take() -> State {
    state.withLock { state in
      defer { state = State() }
      return state
    }
  }
}

/// Keeps timers until their time has come.
package protocol TimerTable: AnyObject, Sendable {
  /// A timer was cancelled: forgets it; nothing happens if that has been done.
  func timerCancelled(_ number: Int)
}
