/// Why steps were cancelled: somebody asked the run to end.
public struct RunCancelled: Error, Equatable, CustomStringConvertible {
  /// Why, as a sentence or a part of one.
  public var reason: String

  /// Creates an error.
  public init(reason: String) { self.reason = reason }

  /// The reason.
  public var description: String { reason }
}

/// Why a step didn't begin: another one had failed before.
public struct StepGivenUp: Error, Equatable, CustomStringConvertible {
  /// The step that had failed.
  public var failed: String

  /// Creates an error.
  public init(failed: String) { self.failed = failed }

  /// A part of a sentence.
  public var description: String { "‘\(failed)’ failed" }
}

/// Why a run did not begin.
public enum RunError: Error, Equatable, CustomStringConvertible {
  /// Another process runs its steps.
  case isRunning(run: String)
  /// The journal is that of another version of the workflow; what is different, if it is known.
  case workflowChanged(run: String)
  /// What an earlier runner has left of a step may go on, and only another engine can find it.
  case otherEngine(String, step: String)
  /// There is no such step.
  case noStep(String)
  /// A step uses a resource that the workflow doesn't have.
  case noResource(name: String, step: String)

  /// A file of variables can't be read.
  case environmentFile(String, reason: String)

  /// One sentence.
  public var description: String {
    switch self {
    case .environmentFile(let name, let reason):
      "The ‘env-file’ \(name) can't be read: \(reason)."
    case .isRunning(let run):
      "The run \(run) is running in another process; “workflow explain” says what it waits for, and "
        + "Ctrl-C in its terminal ends it."
    case .workflowChanged(let run): "The workflow was changed since the run \(run) began."
    case .otherEngine(let engine, let step):
      "Step ‘\(step)’ may still be running with the engine ‘\(engine)’, which alone can find it: "
        + "resume with “--engine \(engine)”."
    case .noStep(let id): "There is no step ‘\(id)’."
    case .noResource(let name, let step):
      "Step ‘\(step)’ uses ‘\(name)’, which is not among the resources of the workflow."
    }
  }
}
