public import AdvancedOperations
public import AdvancedOperationsVisualization
import Synchronization
public import WorkflowDocument

/// One run of a workflow, from its start, or from where an earlier one ended, to its end.
///
/// ```swift
/// let folder = try RunFolder.create(of: workflow.name, in: runs, file: text)
/// let run = WorkflowRun(workflow, in: folder, engine: LocalEngine(), options: .init(jobs: 4)) {
/// event in
///   print(event)
/// }
/// let end = try await run.run()
/// ```
///
/// Each step is an operation: what it needs are its dependencies, `when` and `require` its
/// conditions, `exclusive`, `uses` and `rate` its claims, `retry` and `timeout` its policy. All are
/// the children of a group, which undoes what succeeded when it fails or is cancelled. A step
/// counts as finished when its end is in the journal of the folder, and not before.
public final class WorkflowRun: Sendable {
  /// What the command line says about a run.
  public struct Options: Sendable {
    /// How many steps run at a time.
    public var jobs: Int
    /// Whether steps that don't need a failed one still run.
    ///
    /// Otherwise none begins after a failure, as with make: what runs is finished, and what is
    /// about how others ended (`when: {outcome: …}`) still has its turn.
    public var keepsGoing = false
    /// The only steps to run, with what they need; empty: all.
    ///
    /// A name without a combination means all combinations of a matrix.
    public var only: [String] = []
    /// The time between being asked to end and being killed.
    public var gracePeriod: Duration = .seconds(10)
    /// The time at which the run is cancelled; nil for no deadline.
    public var deadline: RunDeadline?
    /// The workflow's file, an absolute path, whose folder is that which steps run in; nil: the one
    /// that the journal names, or else no file and the current folder.
    public var file: String?
    /// The variables of the runner; nil: those of the process.
    public var environment: [String: String]?
    /// Whether to go on with a run of which the workflow was changed meanwhile.
    public var acceptsChanges = false
    /// Whether steps run again that could not be undone, neither when that was due nor again now.
    public var acceptsFailedRollbacks = false
    /// What the workflow's file has by now, to be kept if changes are accepted.
    public var fileText: String?

    /// Creates options.
    public init(jobs: Int) { self.jobs = jobs }
  }

  let core: RunCore

  /// Begins to run a workflow in a queue of its own.
  ///
  /// - Parameters:
  ///   - workflow: What to run.
  ///   - folder: Where its journal, logs and events are kept; it says which steps an earlier run
  ///     has finished.
  ///   - engine: Where commands run.
  ///   - options: How.
  ///   - environment: The clock and the executor; another one for tests.
  ///   - report: Called for each event, one at a time, by a thread that does nothing else: steps
  ///     don't wait for it. What follows from something comes after it: the end of a step after
  ///     its lines, and after the ends of those that it needs.
  public convenience init(
    _ workflow: Workflow,
    in folder: RunFolder,
    engine: any StepEngine,
    options: Options,
    environment: OperationEnvironment = OperationEnvironment(),
    report: @escaping @Sendable (RunEvent) -> Void
  ) {
    self.init(
      workflow,
      in: folder,
      engine: engine,
      options: options,
      environment: environment,
      sideWork: .ownThreads,
      report: report
    )
  }

  init(
    _ workflow: Workflow,
    in folder: RunFolder,
    engine: any StepEngine,
    options: Options,
    environment: OperationEnvironment,
    sideWork: SideWork,
    report: @escaping @Sendable (RunEvent) -> Void
  ) {
    core = RunCore(workflow, folder, engine, options, environment, sideWork, report)
  }

  /// Runs it to its end; to be called once.
  ///
  /// - Returns: How its steps ended, when all was reported.
  /// - Throws: What kept it from beginning (``RunError``, ``RunFolderError``, ``JournalError``), or
  ///   its journal from being written.
  public func run() async throws -> RunEnd { try await core.run() }

  /// Whether all steps have ended, and what undoes them: what is left is to report what they printed.
  public var isOver: Bool { core.state.withLock { $0.isOver } }

  /// Ends it: steps that run are asked to end, others don't start, what succeeded is rolled back.
  ///
  /// When all have ended, what they printed and was not reported yet stays in their logs. Other
  /// later calls do nothing.
  public func cancel(because reason: String) { core.cancel(because: reason) }

  /// Kills what still runs, rollbacks too.
  public func kill() { core.kill() }

  /// Stops what runs, as Ctrl-Z does, until ``resume()``; the time of timeouts goes on.
  ///
  /// - Returns: Whether the engine can; steps go on otherwise.
  public func suspend() -> Bool { core.engine.suspend() }

  /// Lets steps go on that ``suspend()`` has stopped.
  public func resume() { core.engine.resume() }

  /// Why a step isn't running, or how it ended: some lines.
  ///
  /// - Returns: nil if there is no such step.
  public func explain(_ step: String) -> String? { core.explain(step).map(core.secrets.masked) }

  /// The steps and what waits for what, for `--graph`; a step that was undone isn't drawn as a success.
  public func graph() -> OperationGraph {
    var graph = OperationGraph(of: core.operations)
    let undone = core.undone
    for index in graph.nodes.indices {
      graph.nodes[index].outcome = graph.nodes[index].outcome?.masked(by: core.secrets)
      guard undone.contains(graph.nodes[index].name) else { continue }
      graph.nodes[index].name += ", undone"
      graph.nodes[index].outcome = .cancelled(OperationFailure(elements: []))
    }
    return graph
  }

  /// What happened when, for `--timeline`: steps, `build on n1` where that is another machine, and what
  /// undid them.
  public func timeline() -> OperationTimeline {
    var timeline = core.recorder.timeline
    let (nodes, undone) = (core.nodes, core.undone)
    for index in timeline.spans.indices {
      let step = timeline.spans[index].name
      timeline.spans[index].outcome = timeline.spans[index].outcome?.masked(by: core.secrets)
      if let node = nodes[step] { timeline.spans[index].name += " on \(node)" }
      if undone.contains(step) {
        timeline.spans[index].name += ", undone"
        timeline.spans[index].outcome = .cancelled(OperationFailure(elements: []))
      }
    }
    return timeline
  }
}
