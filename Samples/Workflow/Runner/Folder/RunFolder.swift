import WorkflowDocument

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Where a run keeps what it must not lose: `.workflow/runs/NAME` beside the file.
///
/// | file | what it has |
/// |---|---|
/// | `journal` | what is done for good; see ``JournalFile`` |
/// | `events.jsonl` | what happened, but for the lines that steps printed |
/// | `logs/STEP.log` | what the attempts of a step printed, on both streams |
/// | `workflow.yml` | the file, as it was when the run began |
/// | `lock` | locked by the process that runs the steps |
/// | `scratch/` | files of attempts that go on |
///
/// Beside the folders of all runs, `.order` has their names in the order in which they began, and
/// `.unfinished` has the markers of ``UnfinishedOutputs``.
public struct RunFolder: Sendable, Equatable {
  /// Its path.
  public var path: String

  /// Refers to a folder.
  public init(_ path: String) { self.path = path }

  /// The name of the run: that of the folder.
  public var name: String {
    var path = path[...]
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return String(path.split(separator: "/").last ?? path)
  }

  /// The journal.
  public var journal: String { path + "/journal" }
  /// The events, a JSON object on each line.
  public var events: String { path + "/events.jsonl" }
  /// The copy of the file.
  public var workflowFile: String { path + "/workflow.yml" }
  /// The folder of the logs.
  public var logs: String { path + "/logs" }
  /// The folder for files of attempts.
  public var scratch: String { path + "/scratch" }
  /// The file that is locked while the run goes on.
  var lock: String { path + "/lock" }

  /// Its path from the root, without detours.
  var absolutePath: String { path.absolute }

  /// Whether it was copied from another one, which is still there.
  func isCopy(of other: String) -> Bool {
    if other == absolutePath { return false }
    var (mine, others) = (stat(), stat())
    guard stat(path, &mine) == 0, stat(other, &others) == 0 else { return false }
    return mine.st_ino != others.st_ino || mine.st_dev != others.st_dev
  }

  /// Makes the folders for logs and for files of attempts, unless they are there.
  func makeParts() throws(RunFolderError) {
    // Called for each attempt, for which they are there but for accidents.
    for part in [logs, scratch]
    where access(part, F_OK) != 0 && mkdir(part, 0o777) != 0 && errno != EEXIST {
      let error = SystemCallError()
      if !isThere {
        throw RunFolderError(
          path: path,
          problem: "the folder of the run is gone, so that nothing of it can be recorded or resumed"
        )
      }
      throw RunFolderError(path: part, problem: "\(error)")
    }
  }

  /// Whether it was neither moved nor removed.
  public var isThere: Bool { access(path, F_OK) == 0 }

  /// The file of events, to be appended to; a last line that a full disk or a loss of power has torn
  /// is cut.
  func openEvents() throws(SystemCallError) -> OpenFile {
    let file = try OpenFile(events, O_RDWR | O_CREAT | O_APPEND)
    var end = try file.size()
    while end > 0 {
      let begin = max(0, end - 4096)
      let piece = try file.read(atMost: end - begin, at: begin)
      if let last = piece.lastIndex(of: UInt8(ascii: "\n")) {
        end = begin + last + 1
        break
      }
      end = begin
    }
    if end < (try file.size()) { try file.truncate(to: end) }
    return file
  }

  /// Forgets what attempts have left.
  func emptyScratch() {
    try? FileManager.default.removeItem(atPath: scratch)
  }

  /// Keeps another text as that of the workflow's file.
  func replaceWorkflowFile(with text: String) throws(RunFolderError) {
    do throws(SystemCallError) {
      try OpenFile(workflowFile + ".new", OpenFile.writingAnew).write(text.utf8)
      guard rename(workflowFile + ".new", workflowFile) == 0 else { throw SystemCallError() }
    } catch {
      throw RunFolderError(path: workflowFile, problem: "\(error)")
    }
  }

  /// The log of a step.
  public func logFile(of step: String) -> String { "\(logs)/\(Step.fileName(for: step)).log" }

  /// The file to which an attempt of a step writes its outputs.
  func outputFile(of step: String, attempt: Int) -> String {
    "\(scratch)/\(Step.fileName(for: step)).\(attempt).outputs"
  }

  /// The file to which a failed attempt of a step writes the delay that it asks for.
  func retryAfterFile(of step: String, attempt: Int) -> String {
    "\(scratch)/\(Step.fileName(for: step)).\(attempt).retry-after"
  }

  /// Where runs are kept, beside the files of their workflows.
  public static let usualPlace = ".workflow/runs"

  /// The folder where runs are kept of the workflow files in a folder.
  public static func runs(beside file: String) -> String {
    let folder = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
    return (folder.isEmpty ? "/" : folder) + "/" + usualPlace
  }

  /// The folder of the workflow's file, if runs are kept where they usually are.
  var folderOfFile: String? {
    let usual = "/\(Self.usualPlace)/\(name)"
    guard absolutePath.hasSuffix(usual) else { return nil }
    let folder = absolutePath.dropLast(usual.count)
    return folder.isEmpty ? "/" : String(folder)
  }

  /// Makes a folder for a new run, with a name that no other run has.
  ///
  /// - Parameters:
  ///   - workflow: The name of the workflow.
  ///   - runs: The folder of all runs; made if there is none.
  ///   - text: What the file contains, to be kept.
  ///   - date: When the run begins.
  /// - Returns: The folder, `2026-11-22-174501-release` for example.
  /// - Throws: ``RunFolderError``.
  public static func create(
    of workflow: String,
    in runs: String,
    file text: String,
    at date: Date = Date()
  ) throws -> RunFolder {
    try makeRunsFolder(runs)
    let begin = timestamp(date) + nameEnd(of: workflow)
    // It gets its name when it is whole: a process that is killed leaves no run that can't be
    // resumed.
    let draft = RunFolder("\(runs)/.\(UUID().uuidString)")
    do {
      // Logs have what others needn't read.
      guard mkdir(draft.path, 0o700) == 0 else {
        throw RunFolderError(
          path: draft.path,
          problem: "the folder can't be made: \(SystemCallError())"
        )
      }
      try draft.makeParts()
      try write(text, to: draft.workflowFile)
      let folder = try draft.named(begin, in: runs)
      // Without it the names say which is newer, as far as clocks can be relied on.
      try? OpenFile(appendingTo: order(of: runs)).write("\(folder.name)\n".utf8)
      return folder
    } catch {
      try? FileManager.default.removeItem(atPath: draft.path)
      guard var error = error as? RunFolderError else { throw error }
      error.path = error.path.replacing(draft.path, with: "\(runs)/\(begin)")
      throw error
    }
  }

  /// Gives the folder a name in another one, with a number if that name is taken.
  private func named(_ begin: String, in runs: String) throws(RunFolderError) -> RunFolder {
    var number = 1
    while true {
      let folder = RunFolder("\(runs)/\(begin)\(number == 1 ? "" : "-\(number)")")
      // This is what tells whether the name is free, also for other processes: the folders of runs
      // are never empty, and only an empty one is replaced.
      if rename(path, folder.path) == 0 { return folder }
      let error = SystemCallError()
      guard [EEXIST, ENOTEMPTY, ENOTDIR].contains(error.code) else {
        throw RunFolderError(path: folder.path, problem: "the folder can't be made: \(error)")
      }
      number += 1
    }
  }

  /// What the names of a workflow's runs have behind their time; a number may follow.
  public static func nameEnd(of workflow: String) -> String {
    "-\(Step.plainName(for: workflow).prefix(100))"
  }

  /// The file that has the names of runs in the order in which they began, a line each.
  ///
  /// Clocks are set back, and local times are, once a year.
  private static func order(of runs: String) -> String { "\(runs)/.order" }

  /// Brings names of runs into the order in which they began.
  ///
  /// - Parameters:
  ///   - names: In the order of their times.
  ///   - runs: The folder of the runs.
  /// - Returns: The names. Those of which it isn't known stay before what has a later time.
  public static func inOrder(_ names: [String], of runs: String) -> [String] {
    guard let bytes = try? OpenFile(reading: order(of: runs)).readAll() else { return names }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    let places = Dictionary(lines.enumerated().map { ($1, $0) }) { _, last in last }
    let times = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
    var known = names.filter { places[$0] != nil }
      .sorted { (places[$0] ?? 0) < (places[$1] ?? 0) }[...]
    var result: [String] = []
    for name in names where places[name] == nil {
      while let first = known.first, (times[first] ?? 0) < (times[name] ?? 0) {
        result.append(first)
        known = known.dropFirst()
      }
      result.append(name)
    }
    return result + known
  }

  /// All runs in a folder, in the order of their names.
  ///
  /// - Parameter runs: The folder of all runs; one that isn't there has none.
  /// - Returns: The folders of the runs.
  /// - Throws: ``RunFolderError`` when it can't be read.
  public static func all(in runs: String) throws -> [RunFolder] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: runs)
    } catch {
      if !FileManager.default.fileExists(atPath: runs) { return [] }
      throw RunFolderError(path: runs, problem: "it can't be read")
    }
    return names.sorted().map { RunFolder("\(runs)/\($0)") }
      .filter { FileManager.default.fileExists(atPath: $0.workflowFile) }
  }

  /// The time of day here, so that people find their runs: `2026-11-22-174501`.
  private static func timestamp(_ date: Date) -> String {
    var seconds = time_t(date.timeIntervalSince1970)
    var parts = tm()
    localtime_r(&seconds, &parts)
    let numbers = [
      parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
    ].map { $0 < 10 ? "0\($0)" : "\($0)" }
    return "\(parts.tm_year + 1_900)-\(numbers[0])-\(numbers[1])-\(numbers[2...].joined())"
  }

  /// Makes the folder of all runs; git is told to leave a new one alone.
  private static func makeRunsFolder(_ runs: String) throws {
    let suffix = "/runs"
    let parent = runs.hasSuffix(usualPlace) ? String(runs.dropLast(suffix.count)) : nil
    let isNew = parent.map { !FileManager.default.fileExists(atPath: $0) } ?? false
    try makeFolder(runs)
    // Of no consequence for the run.
    if isNew, let parent { try? write("*\n", to: "\(parent)/.gitignore") }
  }

  /// Makes a folder, with those around it, unless it is there.
  private static func makeFolder(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw RunFolderError(path: path, problem: "the folder can't be made: \(reason(of: error))")
    }
  }

  /// What the system says, in its words.
  private static func reason(of error: any Error) -> String {
    if (error as? CocoaError)?.code == .fileWriteOutOfSpace { return SystemCallError.fullDisk }
    if let posix = (error as? CocoaError)?.underlying as? POSIXError {
      return "\(SystemCallError(code: posix.code.rawValue))"
    }
    switch (error as? CocoaError)?.code {
    case .fileWriteFileExists: return "there is a file of that name"
    case .fileWriteNoPermission: return "permission denied"
    case .fileWriteVolumeReadOnly: return "the file system is read-only"
    default: return "\(error)"
    }
  }

  private static func write(_ text: String, to path: String) throws {
    do throws(SystemCallError) {
      let file = try OpenFile(path, OpenFile.writingAnew)
      try file.write(text.utf8)
    } catch {
      throw RunFolderError(path: path, problem: "\(error)")
    }
  }
}

/// Why the folder of a run can't be used.
public struct RunFolderError: Error, Equatable, CustomStringConvertible {
  /// The file or folder.
  public var path: String
  /// What is wrong with it, as a part of a sentence.
  public var problem: String

  /// Creates an error.
  public init(path: String, problem: String) {
    self.path = path
    self.problem = problem
  }

  /// One sentence with the path.
  public var description: String { "\(path): \(problem)." }
}
