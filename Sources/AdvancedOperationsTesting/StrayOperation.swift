public import AdvancedOperations

/// An operation that has left a simulation: it goes on, and nothing of it is a step.
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

  /// One sentence that says where to look.
  public var description: String {
    "“\(name)” is \(state) and nothing of it is pending; its last step was “\(lastStep)” at \(time)."
      + " It left the simulation (a detached task, a real sleep, the main actor, another executor),"
      + " or waits for something that nobody does."
  }
}
