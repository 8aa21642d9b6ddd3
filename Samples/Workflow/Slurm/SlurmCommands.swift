import Foundation
import Subprocess

#if canImport(System)
import System
#else
import SystemPackage
#endif

/// Runs Slurm's commands on this machine.
struct SlurmCommands: Sendable {
  /// What a command printed, and how it ended.
  struct Result: Sendable {
    var code: Int
    var output: String
    var messages: String
  }

  /// The variables that they see.
  let environment: [String: String]

  /// Takes the variables of this process, without what they say about a job that it may run in: its
  /// steps are jobs of their own.
  init(environment: [String: String] = ProcessInfo.processInfo.environment) {
    let isInJob = environment["SLURM_JOB_ID"] != nil || environment["SLURM_JOBID"] != nil
    self.environment =
      isInJob
      ? environment.filter { !$0.key.hasPrefix("SLURM") || $0.key == "SLURM_CONF" } : environment
  }

  /// Runs a command to its end, whether the task is cancelled or not.
  func run(_ name: String, _ arguments: [String], input: String = "") async throws -> Result {
    try await Self.uncancelled { [environment] in
      let result = try await Self.naming(name) {
        try await Subprocess.run(
          .name(name),
          arguments: Arguments(arguments),
          environment: Self.custom(environment),
          input: .string(input),
          output: .string(limit: 1 << 26),
          error: .string(limit: 1 << 20)
        )
      }
      return Result(
        code: Self.code(result.terminationStatus),
        output: result.standardOutput,
        messages: result.standardError
      )
    }
  }

  /// Runs `srun` to its end; a cancelled task ends it.
  ///
  /// It has a session of its own, so that neither this process's end nor a key on its terminal ends
  /// the step.
  ///
  /// - Parameters:
  ///   - arguments: Its arguments.
  ///   - output: The file that gets the step's output appended.
  ///   - messages: The file that gets what `srun` itself has to say.
  /// - Returns: Its exit code, 128 and the signal if one ended it.
  /// - Throws: What kept it from being started.
  func srun(_ arguments: [String], output: String, messages: String) async throws -> Int {
    var options = PlatformOptions()
    options.createSession = true
    options.teardownSequence = [.send(signal: .terminate, allowedDurationToNextStep: .seconds(5))]
    let log = try FileDescriptor.open(
      output,
      .writeOnly,
      options: [.append, .create, .closeOnExec],
      permissions: [.ownerReadWrite, .groupRead, .otherRead]
    )
    let complaints: FileDescriptor
    do {
      complaints = try FileDescriptor.open(
        messages,
        .writeOnly,
        options: [.truncate, .create, .closeOnExec],
        permissions: .ownerReadWrite
      )
    } catch {
      try? log.close()
      throw error
    }
    let result = try await Self.naming("srun") { [environment, options] in
      try await Subprocess.run(
        .name("srun"),
        arguments: Arguments(arguments),
        environment: Self.custom(environment),
        platformOptions: options,
        input: .none,
        output: .fileDescriptor(log, closeAfterSpawningProcess: true),
        error: .fileDescriptor(complaints, closeAfterSpawningProcess: true)
      )
    }
    return Self.code(result.terminationStatus)
  }

  /// The jobs of this user, those that ended a while ago too.
  func jobs() async throws -> [SlurmJob] {
    let result = try await run(
      "squeue",
      [
        "--noheader", "--states=all", "--user=\(geteuid())",
        "--format=\(SlurmJob.format)",
      ]
    )
    guard result.code == 0 else { throw Self.error(result) }
    return SlurmJob.list(result.output)
  }

  /// What a command's failure means, as an error.
  static func error(_ result: Result) -> SlurmError {
    let message = SlurmMessage(result.messages)
    return message.meaning == .unavailable
      ? .unavailable(message: message.sentence, after: .zero) : .failed(message: message.sentence)
  }

  /// Runs something that a cancelled task mustn't break off.
  static func uncancelled<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await Task { try await body() }.value
  }

  private static func custom(_ variables: [String: String]) -> Subprocess.Environment {
    .custom(
      Dictionary(
        uniqueKeysWithValues: variables.compactMap { name, value in
          Subprocess.Environment.Key(rawValue: name).map { ($0, value) }
        }
      )
    )
  }

  private static func code(_ status: TerminationStatus) -> Int {
    switch status {
    case .exited(let code): Int(code)
    case .signaled(let signal): 128 + Int(signal)
    }
  }

  private static func naming<Value>(
    _ name: String,
    _ body: () async throws -> Value
  ) async throws -> Value {
    do {
      return try await body()
    } catch let error as SubprocessError where error.code == .executableNotFound {
      throw SlurmError.missing(command: name)
    }
  }
}
