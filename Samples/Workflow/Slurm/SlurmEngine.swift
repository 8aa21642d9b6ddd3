import WorkflowDocument
public import WorkflowRunner

/// Runs steps where Slurm places them.
///
/// A step is a job of its own: `srun` with its processors, memory and time limit. The working directory,
/// the log file and the attempt's folder have to be on a file system that this machine and the nodes
/// share.
///
/// What is submitted goes on when this process dies. ``takeUp(_:handle:report:)`` finds it, and so does
/// ``run(_:report:)`` with an attempt that an earlier process submitted but didn't live to report.
public struct SlurmEngine: StepEngine {
  /// How steps are submitted.
  public struct Options: Sendable {
    /// Options for each `srun`: `--partition=short`, `--account=physics`.
    public var arguments: [String] = []
    /// How long a controller that doesn't answer is waited for.
    public var patience: Duration = .seconds(120)

    /// Creates options.
    public init() {}
  }

  /// How steps are submitted.
  public let options: Options
  let commands: SlurmCommands
  let queue: SlurmQueue

  /// Creates an engine for the cluster that `SLURM_CONF`, or this machine's configuration, names.
  public init(options: Options = Options()) {
    self.init(options: options, commands: SlurmCommands())
  }

  init(options: Options, commands: SlurmCommands) {
    self.options = options
    self.commands = commands
    queue = SlurmQueue { try await commands.jobs() }
  }

  /// `slurm`.
  public var name: String { "slurm" }

  /// Runs one attempt as a job, and returns when it has ended.
  ///
  /// - Parameters:
  ///   - attempt: What to run.
  ///   - report: Called with what happens on the way, in order.
  /// - Returns: How it ended, and on which node.
  /// - Throws: ``SlurmNodeLost``, a ``SlurmError``, or a `CancellationError`.
  public func run(
    _ attempt: StepAttempt,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit {
    if let earlier = SlurmPlace.unfinished(for: attempt),
      let exit = try await wait(for: attempt, at: earlier, report: report)
    {
      return exit
    }
    try Task.checkCancellation()
    let place = try SlurmPlace(newFor: attempt)
    let work = SlurmAttempt(attempt, at: place, engine: self, report: report)
    return try await ending(place) {
      try await work.untilEnd {
        try SlurmPlace.write(SlurmScript.text(attempt, folder: place.path), to: place.script)
        return try await work.runBySrun()
      }
    }
  }

  /// Whether an earlier process submitted the attempt without getting to know how it ended.
  public func hasSubmitted(_ attempt: StepAttempt) -> Bool {
    SlurmPlace.unfinished(for: attempt) != nil
  }

  /// Waits for an attempt that an earlier process submitted.
  ///
  /// - Parameters:
  ///   - attempt: What it runs.
  ///   - handle: The job's number and the attempt's folder.
  ///   - report: Called with what happens on the way, in order.
  /// - Returns: How it ended, now or meanwhile; nil if it is gone without a trace.
  /// - Throws: ``SlurmNodeLost``, a ``SlurmError``, or a `CancellationError`.
  public func takeUp(
    _ attempt: StepAttempt,
    handle: String,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit? {
    guard let space = handle.firstIndex(of: " ") else { return nil }
    let place = SlurmPlace(String(handle[handle.index(after: space)...]))
    guard place.exists else { return nil }
    return try await wait(for: attempt, at: place, report: report)
  }

  private func wait(
    for attempt: StepAttempt,
    at place: SlurmPlace,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit? {
    let work = SlurmAttempt(attempt, at: place, engine: self, report: report)
    return try await ending(place) {
      try await work.untilEnd {
        let exit = try await work.endOfJob()
        // The earlier process's `srun` carries the last lines, and ends its job after them.
        if exit != nil { await work.waitUntilNothingRuns() }
        return exit
      }
    }
  }

  /// Notes that the end of an attempt is known, unless only the controller is silent.
  private func ending<Value>(
    _ place: SlurmPlace,
    _ body: () async throws -> Value
  ) async throws -> Value {
    do {
      let value = try await body()
      place.setReturned()
      return value
    } catch {
      if case SlurmError.unavailable = error, place.isBegun { throw error }
      place.setReturned()
      throw error
    }
  }
}
