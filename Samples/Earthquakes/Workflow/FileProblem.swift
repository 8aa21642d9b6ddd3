/// Why a file can't be read or written, and what to do about it.
public enum FileProblem: Error, Sendable, Hashable {
  /// It is larger than it may be.
  case tooLarge(ByteCount, maximum: ByteCount)

  /// The disk of the database has too little room; `reason` is a sentence with the numbers.
  case noRoom(reason: String)

  /// There is a folder where a file was expected.
  case isFolder(path: String)

  /// The folder of a file that is to be written does not exist.
  case noFolder(String, path: String)

  /// A map would replace a file that is no drawing.
  case notAMap(path: String)

  /// Reading failed; `reason` is the system's.
  case cannotRead(path: String, reason: String)

  /// Writing failed; `reason` is the system's.
  case cannotWrite(path: String, reason: String)
}

extension FileProblem: CustomStringConvertible {
  /// Whole sentences that say what is wrong with which file, and what to do.
  public var description: String {
    switch self {
    case .tooLarge(let size, let maximum):
      "The feed has more than \(maximum): \(size). If it is the right one, allow a larger size with "
        + "--max-size."
    case .noRoom(let reason):
      "\(reason) Free some space there, or have the database elsewhere with --database."
    case .isFolder(let path):
      "\(path) is a folder. Give the path of a file in it."
    case .noFolder(let folder, let path):
      "The file \(path) cannot be written: there is no folder \(folder). Create the folder or give "
        + "another path."
    case .notAMap(let path):
      "The file \(path) has something other than a drawing in it, and is left alone. Give another "
        + "path, or remove the file first."
    case .cannotRead(let path, let reason):
      "The file \(path) cannot be read: \(reason)."
    case .cannotWrite(let path, let reason):
      "The file \(path) cannot be written: \(reason)."
    }
  }
}
