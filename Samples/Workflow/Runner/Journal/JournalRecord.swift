/// One line of a journal: what is known for good about a run.
public enum JournalRecord: Codable, Equatable, Sendable {
  /// The first line: which run this is, of which workflow.
  case begun(JournalHeader)
  /// A later process goes on with the run.
  case resumed(fingerprint: String)
  /// An attempt has begun, and an engine can find it again.
  case started(step: String, attempt: Int, node: String?, handle: String)
  /// A step has ended.
  case ended(step: String, end: StepEnd)
  /// A step that had succeeded was undone, so that it has to run again.
  case rolledBack(step: String)
  /// The command that undoes a step has begun, and an engine can find it again.
  case rollbackStarted(step: String, attempt: Int, handle: String)
  /// All steps have ended.
  case runEnded(end: RunEnd)
}

/// What a journal begins with.
public struct JournalHeader: Codable, Equatable, Sendable {
  /// The format that this code writes.
  public static let currentVersion = 1

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

  /// Creates a header of the current version.
  public init(run: String, workflow: String, fingerprint: String, file: String?) {
    version = Self.currentVersion
    self.run = run
    self.workflow = workflow
    self.fingerprint = fingerprint
    self.file = file
  }
}
