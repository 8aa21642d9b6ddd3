public import AdvancedOperations
import CoreOperations

/// What a simulation knows of one operation.
final class WatchedOperation: Sendable {
  private struct State {
    weak var operation: Operation?
    var lastStep = "none"
    var time = Duration.zero
    /// Whether the operation waits for the test, and the test knows.
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

  /// Code of the operation sleeps by the clock of the simulation.
  func sleeps() { state.withLock { $0.hasSlept = true } }

  /// Whether the operation waits for the test, as one does that asks a probe.
  var isHeld: Bool { state.withLock { $0.heldCount > 0 } }

  var hasSlept: Bool { state.withLock { $0.hasSlept } }

  /// - Parameters:
  ///   - waitsForTest: Whether an operation that has begun waits for the test.
  ///   - reason: Why such an operation has not finished, as far as that is known.
  /// - Returns: The operation if it has left the simulation.
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
    // A group waits for its children, who speak for themselves.
    if let group = operation as? GroupOperation, group.children.contains(where: { !$0.isFinished })
    {
      return nil
    }
    // Last, because it explains the operation.
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

/// What the watchdog of real time knows of a simulation.
struct Watched {
  /// How many runs have begun.
  var runCount = 0
  /// Whether the watchdog looks at the steps that nothing runs.
  var isEntered = false
  /// Whether it has reported them.
  var hasReported = false
  /// Whether a run was ended because its task was cancelled.
  var wasCancelled = false
  /// Whether the `SimulatedEnvironment` is gone, so that nothing can run it any more.
  var isAbandoned = false
  /// Whether it went when operations, steps or timers were left.
  var hasLostOperations = false
}

/// An operation that has left a simulation: it goes on, and nothing of it is a step.
///
/// An operation that sleeps by the clock until the end of time is one as well, because nothing will
/// wake it before it is cancelled. The description says so.
///
/// The usual reason is a body that calls `Task.sleep`, which sleeps in real time. By
/// `OperationClock.current.sleep(for:)` it sleeps in the time of the simulation.
///
/// ```swift
/// simulation.run()
/// #expect(simulation.strays.isEmpty)
/// ```
public struct StrayOperation: Sendable, CustomStringConvertible {
  /// What the operation is called in the log.
  public let name: String
  /// Where it is in its life.
  public let state: AdvancedOperation.State
  /// The last step that was taken for it.
  public let lastStep: String
  /// When that was.
  public let time: Duration
  /// Why it has not ended, as far as that is known, in sentences; nil when nothing is known.
  let reason: String?

  /// A sentence or two that say where to look.
  public var description: String {
    "“\(name)” is \(state) and nothing of it is pending; its last step was “\(lastStep)” at "
      + "\(time.readable). "
      + (reason ?? "It waits for something that doesn't come, or " + Self.hint)
  }

  /// What leaves a simulation, and what to do instead; the end of a sentence.
  static let hint =
    "it left the simulation: with Task.sleep (sleep by the clock instead, as in "
    + "OperationClock.current.sleep(for: .seconds(1))), in a Task {} of its own (use async "
    + "let or a task group), in a detached task, on the main actor, on another executor, or in "
    + "real input and output."
}
