public import AdvancedOperations
import CoreOperations

/// The record of a simulation about one operation.
final class WatchedOperation: Sendable {
  private struct State {
    weak var operation: Operation?
    var lastStep = "none"
    var time = Duration.zero
    /// The number of waits for the test that the test controls.
    var heldCount = 0
    var hasSlept = false
  }

  let subject: StepSubject
  private let state: Locked<State>

  init(_ operation: Operation, _ subject: StepSubject) {
    self.subject = subject
    state = Locked(State(operation: operation))
  }

  var name: String { subject.name }

  var operation: Operation? { state.withLock { $0.operation } }

  func took(_ step: String, at time: Duration) {
    state.withLock { state in
      state.lastStep = step
      state.time = time
    }
  }

  func held(_ change: Int) { state.withLock { $0.heldCount += change } }

  /// Notes that code of the operation sleeps by the clock of the simulation.
  func sleeps() { state.withLock { $0.hasSlept = true } }

  /// Whether the operation waits for the test, for example for a probe.
  var isHeld: Bool { state.withLock { $0.heldCount > 0 } }

  var hasSlept: Bool { state.withLock { $0.hasSlept } }

  /// - Parameters:
  ///   - waitsForTest: Returns whether an operation that has begun waits for the test.
  ///   - reason: Returns the reason why such an operation has not finished; nil if it is unknown.
  /// - Returns: The operation if it has left the simulation; otherwise nil.
  func stray(
    unless waitsForTest: (Operation) -> Bool,
    because reason: (AdvancedOperation) -> String?
  ) -> StrayOperation? {
    let (operation, step, time, isHeld) = state.withLock {
      ($0.operation as? AdvancedOperation, $0.lastStep, $0.time, $0.heldCount > 0)
    }
    guard let operation, !isHeld else { return nil }
    let current = operation.state
    switch current {
    case .pending, .ready, .finished: return nil
    case .evaluatingConditions, .executing, .finishing: break
    }
    // A group waits for its children, which are strays themselves if they have left.
    if let group = operation as? GroupOperation, group.children.contains(where: { !$0.isFinished })
    {
      return nil
    }
    // Last, because this check has to explain the operation.
    if waitsForTest(operation) { return nil }
    return StrayOperation(
      name: name,
      state: current,
      lastStep: step,
      time: time,
      reason: reason(operation)
    )
  }
}

/// The state of a simulation that concerns the real-time watchdog.
struct Watched {
  /// The number of runs that have begun.
  var runCount = 0
  /// Whether the watchdog checks the steps that nothing runs.
  var isEntered = false
  /// Whether the watchdog has reported the steps that nothing runs.
  var hasReported = false
  /// Whether a run was ended because its task was cancelled.
  var wasCancelled = false
  /// Whether the `SimulatedEnvironment` was released, so that nothing can run the simulation any
  /// more.
  var isAbandoned = false
  /// Whether operations, steps or timers were left when the `SimulatedEnvironment` was released.
  var hasLostOperations = false
}

/// An operation that has left a simulation: it has not finished, and has no step in the simulation.
///
/// An operation that sleeps by the clock until the end of time is also a stray, because only a
/// cancel can wake it. Its description contains this reason.
///
/// The usual reason is a body that calls `Task.sleep`, which sleeps in real time. With
/// `OperationClock.current.sleep(for:)`, the body sleeps in the time of the simulation.
///
/// ```swift
/// simulation.run()
/// #expect(simulation.strays.isEmpty)
/// ```
public struct StrayOperation: Sendable, CustomStringConvertible {
  /// The name of the operation in the log.
  public let name: String
  /// The state of the operation.
  public let state: AdvancedOperation.State
  /// The name of the last step of the operation.
  public let lastStep: String
  /// The virtual time of the last step.
  public let time: Duration
  /// The reason why the operation has not finished, in sentences; nil if it is unknown.
  let reason: String?

  /// The state and the last step of the operation, with the probable reason for leaving the
  /// simulation.
  public var description: String {
    "“\(name)” is \(state) and has no pending step; its last step was “\(lastStep)” at "
      + "\(time.readable). "
      + (reason ?? "It waits for an event that never happens, or " + Self.hint)
  }

  /// The ways to leave a simulation, and alternatives to them, as the end of a sentence.
  static let hint =
    "it left the simulation: with Task.sleep (sleep by the clock instead, as in "
    + "OperationClock.current.sleep(for: .seconds(1))), in a Task {} of its own (use async "
    + "let or a task group), in a detached task, on the main actor, on another executor, or in "
    + "real input and output."
}
