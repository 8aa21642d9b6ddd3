/// Why a journal can't be read, or not be written.
public enum JournalError: Error, Equatable, CustomStringConvertible {
  /// A line before the end isn't what was written; its number, from 1.
  case damaged(path: String, line: Int)
  /// The journal was written by another version of the program.
  case unknownVersion(path: String, version: Int)
  /// The file can't be read, written or synced.
  case inaccessible(path: String, reason: String)

  /// One sentence with the path.
  public var description: String {
    switch self {
    case .damaged(let path, let line):
      "Line \(line) of the journal \(path) is damaged, so what is finished isn't known for sure. "
        + "“workflow run” begins a new run; the logs of this one stay."
    case .unknownVersion(let path, let version):
      "The journal \(path) has version \(version), and this program knows versions up "
        + "to \(JournalHeader.currentVersion)."
    case .inaccessible(let path, SystemCallError.fullDisk):
      "The journal \(path) can't be written: \(SystemCallError.fullDisk). When there is room "
        + "again, “workflow resume” continues with the steps that aren't done."
    case .inaccessible(let path, let reason): "The journal \(path): \(reason)."
    }
  }
}
