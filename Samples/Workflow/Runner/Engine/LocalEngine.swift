import Subprocess
import Synchronization
import WorkflowDocument

#if canImport(System)
import System
#else
import SystemPackage
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Runs commands as processes of this machine.
///
/// - Each attempt is the leader of a session of its own. It has no terminal, so a command that
///   wants to ask for a password fails instead of waiting; standard input is `/dev/null`.
/// - Both output streams are the log, in the order of writing.
/// - An attempt ends when its process does, as with make: what a command that succeeded leaves in
///   the background goes on, and may go on to write to the log; that it does is reported. What one
///   that failed leaves is ended as by a cancel.
/// - An interactive step is in the session of the runner, has its standard input, and writes to the
///   terminal instead of its log.
/// - When an attempt is cancelled, all processes of its session's group get SIGTERM, and SIGKILL
///   when the grace period is over.
public final class LocalEngine: StepEngine {
  private struct State {
    var groups: Set<ProcessGroup> = []
    var isKilled = false
    var isSuspended = false
  }

  private let state = Mutex(State())
  /// What runners execute.
  private let runner: String
  /// How steps have the terminal.
  private let terminal: Terminal
  /// Takes a moment in which a process goes on.
  private let pause: @Sendable () async -> Void

  /// Begins what an attempt waits for that a killed runner has left.
  public static let earlierProcess = "an earlier run's process "

  /// The terminal of the runner, which interactive steps are lent.
  public struct Terminal: Sendable {
    /// The file descriptor that they write to.
    public var output: Int32
    /// Called with the name of a step before it has the terminal, and with nil afterwards.
    public var lend: @Sendable (String?) -> Void

    /// Creates a terminal.
    public init(output: Int32 = 1, lend: @escaping @Sendable (String?) -> Void = { _ in }) {
      self.output = output
      self.lend = lend
    }
  }

  /// Creates an engine.
  public convenience init(terminal: Terminal = Terminal()) {
    self.init(runner: "/proc/self/exe", terminal: terminal) {
      try? await ContinuousClock().sleep(for: .milliseconds(10))
    }
  }

  init(
    runner: String,
    terminal: Terminal = Terminal(),
    pause: @escaping @Sendable () async -> Void
  ) {
    self.runner = runner
    self.terminal = terminal
    self.pause = pause
  }

  /// `local`.
  public var name: String { "local" }

  /// False: processes end with their machine.
  public var handlesOutliveMachine: Bool { false }

  /// Runs one attempt of a step, and returns when its process has ended.
  public func run(
    _ attempt: StepAttempt,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit {
    let program = try await LocalProgram(attempt)
    let log = try Self.openLog(attempt.logFile)
    #if os(Linux)
    await Niceness.preparation.value
    #endif
    try checkGoesOn()
    return StepExit(try await spawn(program, attempt, log, report).stepStatus)
  }

  /// Ends what an earlier runner has left: its end would not be known.
  public func takeUp(
    _ attempt: StepAttempt,
    handle: String,
    report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> StepExit? {
    await endLeftover(handle: handle, gracePeriod: attempt.gracePeriod, report: report)
    return nil
  }

  /// Ends the process group of an earlier runner's attempt.
  public func endLeftover(
    handle: String,
    gracePeriod: Duration,
    report: @escaping @Sendable (StepReport) -> Void
  ) async {
    guard let group = LocalHandle(handle)?.group, group.isThere else { return }
    await Self.end(group, gracePeriod, report)
  }

  /// Ends the processes that have a variable of an attempt: one that was killed a moment after it
  /// had started them has written nothing down.
  public func endUnrecorded(
    gracePeriod: Duration,
    _ find: @Sendable (_ outputFile: String) -> (@Sendable (StepReport) -> Void)?
  ) async {
    // One that hasn't come to its own program yet has the variables of the runner, and none of the
    // runner's files any more, so that its lock is free; it comes to it within moments.
    var looks = 0
    while looks < 100, !ProcessStatus.beginning(of: runner).isEmpty {
      looks += 1
      await pause()
    }
    var found: [ProcessGroup: @Sendable (StepReport) -> Void] = [:]
    for process in ProcessStatus.processes {
      guard let file = ProcessStatus.variable("WORKFLOW_OUTPUT", of: process),
        let report = find(file)
      else { continue }
      let leader = getpgid(process)
      if leader > 1, leader != getpgrp() { found[ProcessGroup(leader: leader)] = report }
    }
    await withTaskGroup { tasks in
      for (group, report) in found {
        tasks.addTask { await Self.end(group, gracePeriod, report) }
      }
    }
  }

  private static func end(
    _ group: ProcessGroup,
    _ gracePeriod: Duration,
    _ report: @Sendable (StepReport) -> Void
  ) async {
    report(.waiting(for: "\(earlierProcess)\(group.leader), which was asked to end"))
    await group.end(gracePeriod: gracePeriod)
  }

  /// Kills all attempts that are running; later ones don't begin.
  public func kill() {
    let groups = state.withLock { state in
      state.isKilled = true
      return state.groups
    }
    for group in groups { group.send(SIGKILL) }
  }

  /// Stops the processes of all attempts, and of those that begin, until ``resume()``: true.
  ///
  /// They have no terminal, so its Ctrl-Z reaches none of them.
  public func suspend() -> Bool {
    suspend(true)
    return true
  }

  /// Lets them go on.
  public func resume() { suspend(false) }

  private func suspend(_ isSuspended: Bool) {
    state.withLock { state in
      state.isSuspended = isSuspended
      // Under the lock: one that is just beginning must not be stopped after all others go on.
      // SIGTSTP wouldn't stop the leader of a session.
      for group in state.groups { group.send(isSuspended ? SIGSTOP : SIGCONT) }
    }
  }

  private func checkGoesOn() throws {
    try Task.checkCancellation()
    if state.withLock({ $0.isKilled }) { throw CancellationError() }
  }

  private static func openLog(_ path: String) throws(LocalEngineError) -> OpenFile {
    do throws(SystemCallError) {
      return try OpenFile(appendingTo: path)
    } catch {
      throw .noLog(path: path, reason: "\(error)")
    }
  }

  /// Starts the process, and awaits its end.
  private func spawn(
    _ program: LocalProgram,
    _ attempt: StepAttempt,
    _ log: OpenFile,
    _ report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> TerminationStatus {
    if attempt.isInteractive {
      terminal.lend(attempt.step.id)
      defer { terminal.lend(nil) }
      return try await spawn(
        program,
        attempt,
        .fileDescriptor(.standardInput, closeAfterSpawningProcess: false),
        FileDescriptor(rawValue: terminal.output),
        report
      )
    }
    return try await spawn(
      program,
      attempt,
      .none,
      FileDescriptor(rawValue: log.descriptor),
      report
    )
  }

  private func spawn(
    _ program: LocalProgram,
    _ attempt: StepAttempt,
    _ input: some InputProtocol,
    _ output: FileDescriptor,
    _ report: @escaping @Sendable (StepReport) -> Void
  ) async throws -> TerminationStatus {
    var options = PlatformOptions()
    // With a group alone, a command that wants to read from the terminal would be stopped for ever.
    options.createSession = !attempt.isInteractive
    options.teardownSequence = [
      .send(
        signal: .terminate,
        toProcessGroup: !attempt.isInteractive,
        allowedDurationToNextStep: attempt.gracePeriod
      )
    ]
    let started = Mutex<ProcessGroup?>(nil)
    defer {
      let group = started.withLock { $0 }
      if let group { _ = state.withLock { $0.groups.remove(group) } }
    }
    let status: TerminationStatus
    let earliest = LocalHandle.now
    do {
      status = try await Subprocess.run(
        .path(FilePath(program.path)),
        arguments: Arguments(
          executablePathOverride: program.name,
          remainingValues: program.arguments
        ),
        environment: .custom(program.environment),
        workingDirectory: FilePath(attempt.workingDirectory),
        platformOptions: options,
        input: input,
        output: .fileDescriptor(output, closeAfterSpawningProcess: false),
        error: .fileDescriptor(output, closeAfterSpawningProcess: false)
      ) { execution in
        let group = ProcessGroup(
          leader: execution.processIdentifier.value,
          variable: attempt.isInteractive ? attempt.outputFile : nil
        )
        started.withLock { $0 = group }
        let isKilled = state.withLock { state in
          state.groups.insert(group)
          if state.isSuspended { group.send(SIGSTOP) }
          return state.isKilled
        }
        if isKilled { group.send(SIGKILL) }
        // The terminal goes with the runner, and with it whoever it was lent to.
        let handle = attempt.isInteractive ? nil : LocalHandle(group, since: earliest)?.text
        report(.started(node: nil, handle: handle))
      }.terminationStatus
    } catch let error as SubprocessError {
      try checkGoesOn()
      throw LocalEngineError(error, program, attempt)
    }
    if Task.isCancelled, let group = started.withLock({ $0 }) {
      // Subprocess waits for the leader only, and asks no others that have no group of their own.
      await group.end(isAsked: !attempt.isInteractive, gracePeriod: attempt.gracePeriod)
    }
    try checkGoesOn()
    if let group = started.withLock({ $0 }), group.isThere {
      await leaderEnded(group, attempt, isSuccess: status == .exited(0), report)
    }
    return status
  }

  /// Processes go on whose leader has ended: those of an attempt that failed mustn't run beside the
  /// next one, or what undoes others.
  private func leaderEnded(
    _ group: ProcessGroup,
    _ attempt: StepAttempt,
    isSuccess: Bool,
    _ report: @escaping @Sendable (StepReport) -> Void
  ) async {
    if !isSuccess {
      report(.waiting(for: "processes that its command left, which were asked to end"))
      await group.end(gracePeriod: attempt.gracePeriod)
      return report(.waiting(for: nil))
    }
    // Unless they are just about to end as well.
    try? await ContinuousClock().sleep(for: .milliseconds(50))
    guard group.isThere else { return }
    report(
      .notice(
        "its command has ended, and left processes behind that keep running"
          + (attempt.isInteractive ? "" : " (process group \(group.leader))")
      )
    )
  }
}

extension TerminationStatus {
  fileprivate var stepStatus: StepExit.Status {
    switch self {
    case .exited(let code): .exited(Int(code))
    case .signaled(let signal): .signalled(Int(signal))
    }
  }
}

extension LocalEngineError {
  fileprivate init(_ error: SubprocessError, _ program: LocalProgram, _ attempt: StepAttempt) {
    let reason = error.underlyingError.map { SystemCallError(code: $0.rawValue) }
    switch error.code {
    case .failedToChangeWorkingDirectory:
      self = .noWorkingDirectory(
        path: attempt.workingDirectory,
        reason: reason.map { "\($0)" } ?? "it isn't there"
      )
    case .executableNotFound:
      if let interpreter = program.interpreter {
        self = .interpreterNotFound(script: program.name, interpreter: interpreter)
      } else {
        self = .programNotFound(name: program.name, searched: nil)
      }
    default:
      if reason?.code == E2BIG {
        self = .tooLong
        return
      }
      self = .notStarted(reason.map { "\($0)" } ?? "\(error)")
    }
  }
}
