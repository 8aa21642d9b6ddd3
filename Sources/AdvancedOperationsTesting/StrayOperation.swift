public import AdvancedOperations

/// An operation that has left a simulation: it goes on, and nothing of it is a step.
///
/// An operation that sleeps by the clock until the end of time is one as well, because nothing will
/// wake it before it is cancelled. The description says so.
///
/// The usual reason is a body that calls `Task.sleep`, which sleeps in real time. By
/// `operation.environment.clock.sleep(for:)` it sleeps in the time of the simulation.
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
    + "operation.environment.clock.sleep(for: .seconds(1))), in a Task {} of its own (use async "
    + "let or a task group), in a detached task, on the main actor, on another executor, or in "
    + "real input and output."
}
