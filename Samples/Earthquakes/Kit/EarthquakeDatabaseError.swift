public import Foundation
import GRDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Why a database cannot be used, and what to do about it.
public enum EarthquakeDatabaseError: Error, Sendable, Hashable {
  /// The path is empty.
  case noPath

  /// The folder that the file is or would be in does not exist.
  case noFolder(path: String)

  /// There is a folder where the file should be.
  case isFolder(path: String)

  /// There is something other than a file, such as a pipe or a device.
  case notAFile(path: String)

  /// The file can be neither opened nor created; `reason` is SQLite's or the system's.
  case cannotOpen(path: String, reason: String)

  /// The file may be read but not changed.
  case readOnly(path: String)

  /// The file is not an SQLite database, or one that has been damaged.
  case notADatabase(path: String)

  /// The file is an SQLite database of another program.
  case foreign(path: String)

  /// The file was written by a newer version of this program.
  case newerVersion(path: String)

  /// Another process has been using the file for too long.
  case busy(path: String)

  /// There is no room for the data.
  case full(path: String)

  /// Reading or writing failed otherwise; `reason` is SQLite's.
  case failed(path: String, reason: String)
}

extension EarthquakeDatabaseError {
  /// Translates what SQLite reported; errors that are of this type already are kept.
  init(_ error: any Error, path: String) {
    if let error = error as? EarthquakeDatabaseError {
      self = error
      return
    }
    guard let error = error as? DatabaseError else {
      self = .failed(path: path, reason: "\(error)")
      return
    }
    let reason = error.message ?? "SQLite error \(error.resultCode.rawValue)"
    self =
      switch error.resultCode {
      case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH: .cannotOpen(path: path, reason: reason)
      case .SQLITE_READONLY: .readOnly(path: path)
      case .SQLITE_NOTADB, .SQLITE_CORRUPT: .notADatabase(path: path)
      case .SQLITE_BUSY, .SQLITE_LOCKED: .busy(path: path)
      case .SQLITE_FULL: .full(path: path)
      default: .failed(path: path, reason: reason)
      }
  }

  /// What is plainly in the way of opening a file, found out before SQLite tries.
  static func obstacle(toOpening path: String) -> EarthquakeDatabaseError? {
    guard !path.isEmpty else { return .noPath }
    var status = stat()
    guard stat(path, &status) == 0 else {
      let code = errno
      let hasFolder = stat(folder(of: path), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
      if !hasFolder { return .noFolder(path: path) }
      // That nothing is there is no obstacle, as it can be created.
      return code == ENOENT ? nil : .cannotOpen(path: path, reason: String(cString: strerror(code)))
    }
    return switch status.st_mode & S_IFMT {
    case S_IFDIR: .isFolder(path: path)
    // SQLite takes a file of one byte for an empty one, and would write over it.
    case S_IFREG: status.st_size == 1 ? .notADatabase(path: path) : nil
    default: .notAFile(path: path)
    }
  }

  private static func folder(of path: String) -> String {
    URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
  }
}

extension EarthquakeDatabaseError: CustomStringConvertible {
  /// Whole sentences that say what is wrong with which file, and what to do.
  public var description: String {
    switch self {
    case .noPath:
      "The path of the database is empty. Give the path of a file."
    case .noFolder(let path):
      "The database \(path) cannot be created: there is no folder \(Self.folder(of: path)). "
        + "Create the folder or give another path."
    case .isFolder(let path):
      "The database \(path) cannot be opened: it is a folder. Give the path of a file in it."
    case .notAFile(let path):
      "The database \(path) cannot be opened: it isn't an ordinary file. Give the path of a file, or "
        + "a path that doesn't exist yet."
    case .cannotOpen(let path, let reason):
      "The database \(path) cannot be opened: \(reason). Check that you may write to the file "
        + "and to its folder, or give another path."
    case .readOnly(let path):
      "The database \(path) may be read but not changed. Check that you may write to the file and "
        + "to its folder, or give another path."
    case .notADatabase(let path):
      "The file \(path) is not an SQLite database, or it is damaged. Give another path; this file "
        + "has been left as it was."
    case .foreign(let path):
      "The file \(path) is an SQLite database of another program. Give another path; this file "
        + "has been left as it was."
    case .newerVersion(let path):
      "The database \(path) was written by a newer version of this program. Use that version, or "
        + "give another path; this file has been left as it was."
    case .busy(let path):
      "The database \(path) has been in use by another process for too long. Wait for it to "
        + "finish, then try again."
    case .full(let path):
      "The database \(path) cannot grow: the disk is full. Free some space, then try again."
    case .failed(let path, let reason):
      "The database \(path) failed: \(reason). Nothing has been changed."
    }
  }
}

extension EarthquakeDatabaseError: LocalizedError {
  /// The same sentences as `description`.
  public var errorDescription: String? { description }
}
