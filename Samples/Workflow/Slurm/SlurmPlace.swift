import Foundation
import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// The folder of one submitted attempt, which the runner and the node share.
///
/// In it: `script`, which the node runs; `begun`, a folder that is made once, by the script or by a
/// runner that wants it never to begin; `started`, with the node and the job; `status`, with the exit code;
/// `messages`, what `srun` had to say; `returned`, when a runner got to know its end.
struct SlurmPlace: Sendable, Equatable {
  /// Where an attempt began.
  struct Start: Sendable, Equatable {
    /// The node.
    var node: String
    /// The number of the job.
    var job: String
  }

  /// Its path.
  let path: String

  /// What its job has as a comment.
  var token: String { String(path.split(separator: "/").last?.dropFirst("slurm-".count) ?? "") }
  var script: String { path + "/script" }
  var messages: String { path + "/messages" }

  /// Refers to a folder.
  init(_ path: String) { self.path = path }

  /// Makes a new folder for an attempt, and notes it as the latest one.
  init(newFor attempt: StepAttempt) throws {
    let name = "slurm-" + UUID().uuidString.lowercased()
    let parent = Self.parent(of: attempt)
    path = parent + "/" + name
    // Scripts have the values of variables in them.
    try FileManager.default.createDirectory(
      atPath: path,
      withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700]
    )
    try Self.write(name + "\n", to: parent + "/latest")
  }

  /// What an earlier runner submitted for an attempt without getting to know how it ended.
  static func unfinished(for attempt: StepAttempt) -> SlurmPlace? {
    let parent = parent(of: attempt)
    guard let name = read(parent + "/latest"), name.hasPrefix("slurm-") else { return nil }
    let place = SlurmPlace(parent + "/" + name)
    return place.exists && !place.isReturned ? place : nil
  }

  /// The folder of an attempt, which no other one has: the run's is shared by all steps.
  static func parent(of attempt: StepAttempt) -> String {
    let readable = attempt.step.id.utf8.prefix(60).map { byte in
      ShellQuoting.isName("_" + String(UnicodeScalar(byte))) && byte < 128
        ? Character(UnicodeScalar(byte)) : "-"
    }
    // FNV-1a: ids that differ in what a file's name can't have, or in their ends, differ here.
    let hash = attempt.step.id.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
    }
    return
      "\(attempt.scratchFolder)/\(String(readable))-\(String(hash, radix: 16)).\(attempt.number)"
  }

  /// Whether it is there.
  var exists: Bool { FileManager.default.fileExists(atPath: path) }

  /// Where it began; nil: it hasn't, or its start isn't visible yet.
  var start: Start? {
    guard let text = Self.read(path + "/started") else { return nil }
    let lines = text.split(separator: "\n")
    return lines.count == 2 ? Start(node: String(lines[0]), job: String(lines[1])) : nil
  }

  /// How it ended; nil: it hasn't, or its end isn't visible yet.
  var status: StepExit.Status? {
    guard let code = Self.read(path + "/status").flatMap({ Int($0) }) else { return nil }
    return Self.status(code)
  }

  /// How long its command ran, by the clock of the shared file system; nil: it hasn't ended.
  var executionTime: Duration? {
    func date(_ name: String) -> Date? {
      let attributes = try? FileManager.default.attributesOfItem(atPath: path + "/" + name)
      return attributes?[.modificationDate] as? Date
    }
    guard let begin = date("started"), let end = date("status") else { return nil }
    return .seconds(max(end.timeIntervalSince(begin), 0))
  }

  /// A shell says 143 of what signal 15 ended.
  static func status(_ code: Int) -> StepExit.Status {
    (129...192).contains(code) ? .signalled(code - 128) : .exited(code)
  }

  /// Whether a runner knows its end.
  var isReturned: Bool { FileManager.default.fileExists(atPath: path + "/returned") }

  /// Notes that a runner knows its end.
  func setReturned() { try? Self.write("", to: path + "/returned") }

  /// Whether it has begun, or never will.
  var isBegun: Bool { FileManager.default.fileExists(atPath: path + "/begun") }

  /// Keeps it from beginning: true if it hadn't, and now never will.
  func preventBeginning() -> Bool {
    (try? FileManager.default.createDirectory(
      atPath: path + "/begun",
      withIntermediateDirectories: false
    )) != nil
  }

  /// Whether a job in Slurm's list is this one's.
  func isMine(_ job: SlurmJob) -> Bool {
    job.token == token && start.map { job.id == $0.job } ?? true
  }

  /// Writes a file at once, and only for its owner.
  static func write(_ text: String, to path: String) throws {
    let new = path + ".new"
    try? FileManager.default.removeItem(atPath: new)
    do throws(SystemCallError) {
      try OpenFile(new, OpenFile.writingAnew, mode: 0o600).write(text.utf8)
      guard rename(new, path) == 0 else { throw SystemCallError() }
    } catch {
      throw RunFolderError(path: path, problem: "\(error)")
    }
  }

  /// The text of a small file, without the end of its last line; nil if it can't be read.
  static func read(_ path: String) -> String? {
    guard let data = FileManager.default.contents(atPath: path),
      let text = String(data: data, encoding: .utf8)
    else { return nil }
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}
