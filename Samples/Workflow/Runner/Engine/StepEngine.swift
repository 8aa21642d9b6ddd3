public import WorkflowDocument

/// Where the commands of steps run: on this machine, or where a cluster places them.
public protocol StepEngine: Sendable {
  /// What it is called on the command line: `local`, `slurm`.
  var name: String { get }

  /// Runs one attempt of a step, and returns when nothing of it runs any more.
  ///
  /// What it prints is appended to its log, all of it by then, and is read from there by others.
  ///
  /// When the task is cancelled, the attempt is ended: asked first (SIGTERM to all of its
  /// processes), then, when the grace period of the attempt is over, killed. Its end is awaited in
  /// any case, and then the call throws `CancellationError`.
  ///
  /// - Parameters:
  ///   - attempt: What to run.
  ///   - report: Called with what happens on the way, in order.
  /// - Returns: How it ended.
  /// - Throws: What kept it from running, or from being known how it ended.
  func run(
    _ attempt: StepAttempt,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit

  /// Whether an earlier runner submitted the attempt and died before it could say so.
  ///
  /// ``run(_:report:)`` then waits for that one, whose files have to stay.
  func hasSubmitted(_ attempt: StepAttempt) -> Bool

  /// Waits for an attempt that an earlier runner started, and that may have gone on since.
  ///
  /// - Parameters:
  ///   - attempt: What it runs.
  ///   - handle: What ``StepReport/started(node:handle:)`` said when it was started.
  ///   - report: Called with what happens on the way, in order.
  /// - Returns: How it ended; nil if nothing is known of it, so that it has to be run again.
  /// - Throws: What kept it from being known how it ended.
  func takeUp(
    _ attempt: StepAttempt,
    handle: String,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit?

  /// Ends what an earlier runner has left, if it can't be taken up.
  ///
  /// Called for all of it before the first step begins: it may use what others claim.
  ///
  /// - Parameters:
  ///   - handle: What ``StepReport/started(node:handle:)`` said when it was started.
  ///   - gracePeriod: The time between being asked to end and being killed.
  ///   - report: Called with what happens on the way, in order.
  func endLeftover(
    handle: String,
    gracePeriod: Duration,
    report: @escaping @Sendable (StepReport) -> Void
  ) async

  /// Ends what an earlier runner had started when it died, before it could say so.
  ///
  /// Called before the first step begins, behind ``endLeftover(handle:gracePeriod:report:)``.
  ///
  /// - Parameters:
  ///   - gracePeriod: The time between being asked to end and being killed.
  ///   - find: Returns for the file of an attempt's outputs, its `WORKFLOW_OUTPUT`, what takes reports
  ///     of its step; nil if nothing of that is to be ended.
  func endUnrecorded(
    gracePeriod: Duration,
    _ find: @Sendable (_ outputFile: String) -> (@Sendable (StepReport) -> Void)?
  ) async

  /// Kills all attempts that are running, without a grace period; later ones don't begin.
  func kill()

  /// Stops all attempts that are running, as Ctrl-Z does, and those that begin, until ``resume()``.
  ///
  /// - Returns: Whether the engine can: attempts go on otherwise.
  func suspend() -> Bool

  /// Lets the attempts go on that ``suspend()`` has stopped.
  func resume()

  /// Whether a handle is of use after this machine has lost its power.
  ///
  /// The journal is synced before an attempt goes on whose handle is: true unless an engine says
  /// otherwise.
  var handlesOutliveMachine: Bool { get }
}

extension StepEngine {
  /// Nothing is known of earlier runners.
  public func hasSubmitted(_ attempt: StepAttempt) -> Bool { false }

  /// Does nothing: it can be taken up.
  public func endLeftover(
    handle: String,
    gracePeriod: Duration,
    report: @escaping @Sendable (StepReport) -> Void
  ) async {}

  /// Does nothing: an engine that knows an attempt before it begins finds it again.
  public func endUnrecorded(
    gracePeriod: Duration,
    _ find: @Sendable (_ outputFile: String) -> (@Sendable (StepReport) -> Void)?
  ) async {}

  /// Does nothing: attempts end when their tasks are cancelled.
  public func kill() {}

  /// False: they go on.
  public func suspend() -> Bool { false }

  /// Does nothing: nothing was stopped.
  public func resume() {}

  /// True.
  public var handlesOutliveMachine: Bool { true }

  /// Nothing goes on without its runner.
  public func takeUp(
    _ attempt: StepAttempt,
    handle: String,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit? { nil }
}

/// What an engine throws when an attempt ended through no fault of its command: its machine is
/// gone.
///
/// A step whose attempt was lost is run again, up to ``StepAttempt/limitOfLosses`` times, whether
/// its file has a `retry` or not; its reason is the error's description.
public protocol AttemptLost: Error, CustomStringConvertible {
  /// The machine that was lost, if it is known.
  var node: String? { get }
}

/// One attempt to run a step, with every place of its templates filled.
public struct StepAttempt: Sendable {
  /// What to run.
  public enum Command: Sendable, Equatable, Codable {
    /// A line for `/bin/sh -c`.
    case shell(String)
    /// A program and its arguments.
    case arguments([String])
  }

  /// How many lost attempts of one step are followed by another one.
  ///
  /// More would hide a command that takes its machine down each time.
  public static let limitOfLosses = 3

  /// The name of the run.
  public var run: String
  /// The step, as the file has it.
  public var step: Step
  /// From 1.
  public var number: Int
  /// What to run.
  public var command: Command
  /// All of its variables, `WORKFLOW_OUTPUT`, `WORKFLOW_STEP`, `WORKFLOW_ATTEMPT` and
  /// `WORKFLOW_RUN` among them.
  public var environment: [String: String]
  /// An absolute path.
  public var workingDirectory: String
  /// The file that gets what it prints, on both streams; it is appended to.
  public var logFile: String
  /// Whether it has the terminal of the runner: its step is interactive, and it isn't a rollback.
  public var isInteractive = false
  /// A folder of the run's own where an engine may keep files of this attempt.
  public var scratchFolder: String
  /// The time between being asked to end and being killed.
  public var gracePeriod: Duration

  /// Creates an attempt.
  public init(
    run: String,
    step: Step,
    number: Int,
    command: Command,
    environment: [String: String],
    workingDirectory: String,
    logFile: String,
    scratchFolder: String,
    gracePeriod: Duration = .seconds(10)
  ) {
    self.run = run
    self.step = step
    self.number = number
    self.command = command
    self.environment = environment
    self.workingDirectory = workingDirectory
    self.logFile = logFile
    self.scratchFolder = scratchFolder
    self.gracePeriod = gracePeriod
  }
}

/// What happens while an attempt runs.
public enum StepReport: Sendable, Equatable {
  /// It can't begin yet; what it waits for, in words. Nil: nothing any more.
  case waiting(for: String?)
  /// It has begun, on that machine; a later runner finds it by its handle.
  case started(node: String?, handle: String?)
  /// It has ended, and its command ran for that time: said where it may have waited before that, or
  /// have begun in the time of an earlier runner.
  case ran(for: Duration)
  /// Something that is to be known of it: words to go on after the name of the step.
  case notice(String)
}

/// How an attempt ended.
public struct StepExit: Sendable, Equatable, Codable {
  /// What the process said at its end.
  public enum Status: Sendable, Equatable, Codable {
    /// It exited with that code.
    case exited(Int)
    /// A signal ended it.
    case signalled(Int)
  }

  /// What the process said.
  public var status: Status
  /// The machine that it ran on; nil: this one.
  public var node: String?

  /// Creates an exit.
  public init(_ status: Status, node: String? = nil) {
    self.status = status
    self.node = node
  }

  /// Whether it exited with 0.
  public var isSuccess: Bool { status == .exited(0) }
}
