/// One line of a journal: what is known for good about a run.
public enum JournalRecord: Decodable, Equatable, Sendable {
  /// The first line: which run this is, of which workflow.
  case begun(JournalHeader)
  /// A later process goes on with the run; `only` are the steps that it was told to run, if it was.
  case resumed(fingerprint: String, only: [String]? = nil)
  /// An attempt has begun, and its engine can find it again; nil: of an earlier version, which
  /// didn't say.
  case started(step: String, attempt: Int, node: String?, handle: String, engine: String? = nil)
  /// An attempt failed, and another one was to follow.
  case attemptFailed(step: String, attempt: Int)
  /// A step has ended.
  case ended(step: String, end: StepEnd)
  /// A step that had succeeded is about to be undone: until that has ended well, it isn't known
  /// what there is of it.
  case rollbackBegun(step: String)
  /// The command that undoes a step has begun, and its engine can find it again.
  case rollbackStarted(step: String, attempt: Int, handle: String, engine: String? = nil)
  /// A step that had succeeded was undone, so that it has to run again.
  case rolledBack(step: String)
  /// The command that undoes a step failed.
  case rollbackFailed(step: String, reason: String)
  /// All steps have ended.
  case runEnded(end: RunEnd)
}

/// What a journal begins with.
public struct JournalHeader: Decodable, Equatable, Sendable {
  /// The format that this code writes; it reads the earlier ones as well.
  ///
  /// In version 1, ``JournalRecord/rolledBack(step:)`` came before the command that undoes a step, and
  /// nothing behind it.
  public static let currentVersion = 2

  /// The format of the lines that follow.
  public var version: Int
  /// The name of the run.
  public var run: String
  /// The name of the workflow.
  public var workflow: String
  /// What tells one workflow from another; see ``WorkflowFingerprint``.
  public var fingerprint: String
  /// The workflow's file, an absolute path; nil if there is none.
  public var file: String?
  /// The folder of the run when it began, an absolute path; nil if that isn't known.
  public var folder: String?
  /// When it began, in seconds since 1970; nil if that isn't known.
  public var begin: Double?
  /// The only steps that were asked for; nil: all.
  public var only: [String]?
  /// The values of the workflow's parameters; nil: it has none.
  public var parameters: [String: String]?

  /// Creates a header of the current version.
  public init(
    run: String,
    workflow: String,
    fingerprint: String,
    file: String?,
    folder: String? = nil,
    begin: Double? = nil,
    only: [String]? = nil,
    parameters: [String: String]? = nil
  ) {
    version = Self.currentVersion
    self.run = run
    self.workflow = workflow
    self.fingerprint = fingerprint
    self.file = file
    self.folder = folder
    self.begin = begin
    self.only = only
    self.parameters = parameters
  }

  /// The workflow's file, where it is seen from the run's folder: the one in the copy if a project
  /// was copied or moved with its runs.
  ///
  /// - Parameter now: Where the run's folder is now.
  /// - Returns: An absolute path, at which there may be nothing; nil if there was no file.
  public func file(from now: RunFolder) -> String? {
    guard let file, let folder else { return file }
    let (old, new) = (folder.pathComponents, now.absolutePath.pathComponents)
    let common = zip(old, file.pathComponents).prefix { $0 == $1 }.count
    let below = old.dropFirst(common)
    // Another folder for runs says nothing about where the file is.
    guard old != new, new.count > below.count, new.suffix(below.count) == below else { return file }
    let root = new.dropLast(below.count)
    return "/" + (root + file.pathComponents.dropFirst(common)).joined(separator: "/")
  }
}

extension String {
  /// The names in an absolute path, without those that go nowhere or back.
  var pathComponents: [Substring] {
    split(separator: "/").reduce(into: []) { names, name in
      if name == ".." { _ = names.popLast() } else if name != "." { names.append(name) }
    }
  }
}
