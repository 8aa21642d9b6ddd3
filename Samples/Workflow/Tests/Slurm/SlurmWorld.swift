import Foundation
import Synchronization
import WorkflowDocument
import WorkflowRunner

@testable import WorkflowSlurm

/// Whether there is a Slurm of `slurm-servers` for the tests.
enum SlurmServers {
  static let configuration = ProcessInfo.processInfo.environment["SLURM_CONF"]

  static var isThere: Bool {
    guard let configuration else { return false }
    return FileManager.default.fileExists(atPath: configuration)
  }

  /// The folder of their files.
  static var folder: String {
    URL(filePath: configuration ?? "").deletingLastPathComponent().path(percentEncoded: false)
      .trimmingSuffix("/")
  }

  /// Does something to them: `kill-node n1`.
  static func command(_ arguments: String...) throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "slurm-servers")
    let process = Process()
    process.executableURL = script
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["WORKFLOW_SLURM_FOLDER": folder]
    ) { $1 }
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(command: arguments) }
  }

  struct Failure: Error { var command: [String] }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}

/// A run's folder, and attempts in it.
final class SlurmWorld: Sendable {
  let path: String
  let engine: SlurmEngine
  /// The name of the run, which no other test has.
  let run = "test-" + UUID().uuidString.prefix(8).lowercased()

  init(_ change: (inout SlurmEngine.Options) -> Void = { _ in }) throws {
    path = FileManager.default.temporaryDirectory.appending(path: "workflow slurm'\(UUID())")
      .path(percentEncoded: false)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var options = SlurmEngine.Options()
    change(&options)
    engine = SlurmEngine(options: options)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// An attempt whose command is a line for the shell.
  func attempt(
    _ line: String,
    id: String = "step",
    number: Int = 1,
    _ change: (inout StepAttempt) -> Void = { _ in }
  ) throws -> StepAttempt {
    // One for all steps, as a run has it.
    let scratch = "\(path)/scratch"
    try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
    var attempt = StepAttempt(
      run: run,
      step: Step(id: id, command: .shell(Template(text: line))),
      number: number,
      command: .shell(line),
      environment: [
        "PATH": "/usr/bin:/bin", "SLURM_CONF": SlurmServers.configuration ?? "",
        "WORKFLOW_OUTPUT": "\(path)/\(id).output", "WORKFLOW_ATTEMPT": "\(number)",
      ],
      workingDirectory: path,
      logFile: "\(path)/\(id).log",
      scratchFolder: scratch,
      gracePeriod: .seconds(5)
    )
    change(&attempt)
    return attempt
  }

  func text(_ name: String) -> String? { SlurmPlace.read(path + "/" + name) }

  /// The jobs of this run that wait or run.
  func jobs() async throws -> [SlurmJob] {
    let result = try await engine.commands.run(
      "squeue",
      ["--noheader", "--format=%i|%T|%r|%N|%j"]
    )
    return SlurmJob.list(result.output).filter { $0.token.hasPrefix(run) }
  }
}

/// What attempts reported, to wait for and to look at.
final class SlurmReports: Sendable {
  private let list = Mutex<[StepReport]>([])
  private let logs = Mutex<[String]>([])

  var all: [StepReport] { list.withLock { $0 } }
  /// What the attempts have printed, once all of them have begun.
  var lines: [String] {
    let logs = logs.withLock { $0 }
    if nodes.count < logs.count { return [] }
    return logs.flatMap { log in
      (SlurmPlace.read(log) ?? "").split(separator: "\n").map(String.init)
    }
  }
  var nodes: [String] {
    all.compactMap { if case .started(let node?, _) = $0 { node } else { nil } }
  }
  var handle: String? {
    all.compactMap { if case .started(_, let handle?) = $0 { handle } else { nil } }.first
  }
  var waits: [String] {
    all.compactMap { if case .waiting(let text?) = $0 { text } else { nil } }
  }

  /// Takes the reports of an attempt.
  func of(_ attempt: StepAttempt) -> @Sendable (StepReport) -> Void {
    logs.withLock { $0.append(attempt.logFile) }
    return add
  }

  @Sendable func add(_ report: StepReport) { list.withLock { $0.append(report) } }

  /// Returns when it holds; the test's time limit is for the case that it never does.
  func wait(until holds: (SlurmReports) -> Bool) async throws {
    while !holds(self) { try await Task.sleep(for: .milliseconds(10)) }
  }
}

/// Whether a process runs; one that has ended and wasn't asked for its end doesn't.
func isRunning(_ process: Int) -> Bool {
  guard let data = FileManager.default.contents(atPath: "/proc/\(process)/stat") else {
    return false
  }
  let rest = String(decoding: data, as: UTF8.self).split(separator: ")").last ?? ""
  return !rest.hasPrefix(" Z") && !rest.hasPrefix(" X")
}
