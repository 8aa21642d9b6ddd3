public import AdvancedOperations
public import WorkflowDocument

/// One run of a workflow, from its start, or from where an earlier one ended, to its end.
public final class WorkflowRun: Sendable {
  /// What the command line says about a run.
  public struct Options: Sendable {
    /// How many steps run at a time.
    public var jobs: Int
    /// Whether steps that don't need a failed one still run.
    public var keepsGoing = false
    /// The only steps to run, with what they need; empty: all.
    public var only: [String] = []
    /// The time between being asked to end and being killed.
    public var gracePeriod: Duration = .seconds(10)

    /// Creates options.
    public init(jobs: Int) { self.jobs = jobs }
  }

  /// Begins to run a workflow in a queue of its own.
  ///
  /// - Parameters:
  ///   - workflow: What to run.
  ///   - folder: Where its journal, logs and events are kept; it says which steps an earlier run has
  ///     finished.
  ///   - engine: Where commands run.
  ///   - options: How.
  ///   - environment: The clock and the executor; another one for tests.
  ///   - report: Called for each event, in order, one at a time.
  public init(
    _ workflow: Workflow,
    in folder: RunFolder,
    engine: any StepEngine,
    options: Options,
    environment: OperationEnvironment = OperationEnvironment(),
    report: @escaping @Sendable (RunEvent) -> Void
  ) {
    fatalError("not written yet")
  }

  /// Runs it to its end.
  ///
  /// - Returns: How its steps ended.
  /// - Throws: What kept it from beginning, or its journal from being written.
  public func run() async throws -> RunEnd { fatalError("not written yet") }

  /// Ends it: steps that run are asked to end, others don't start, what succeeded is rolled back.
  public func cancel(because reason: String) {}

  /// Kills what still runs, rollbacks too.
  public func kill() {}

  /// Why a step isn't running, or how it ended: some lines.
  ///
  /// - Returns: nil if there is no such step.
  public func explain(_ step: String) -> String? { nil }

  /// The steps and what waits for what, for `--graph`.
  public func graph() -> OperationGraph { fatalError("not written yet") }
  /// What happened when, for `--timeline`.
  public func timeline() -> OperationTimeline { fatalError("not written yet") }
}
