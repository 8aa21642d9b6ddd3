#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// When a file was changed, as its file system says.
struct FileTime: Comparable {
  let seconds: Int
  let nanoseconds: Int

  static func < (a: FileTime, b: FileTime) -> Bool {
    (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
  }

  /// A file or folder that can't be looked at.
  struct Failure: Error, CustomStringConvertible {
    let path: String
    let error: SystemCallError
    var description: String { "\(path) can't be checked: \(error)" }
  }

  /// That there is no such file.
  static func absence(of path: String) -> String {
    let note =
      path.contains("*") ? " (‘*’ is a character of its name: patterns aren't expanded)" : ""
    return "there is no file \(path)\(note)"
  }

  /// Whether there is something at a path; what a link leads to counts.
  static func exists(_ path: String) throws(Failure) -> Bool { try status(of: path) != nil }

  /// When what is at a path was changed; of a folder, the newest of all that is in it.
  ///
  /// A link in a folder is as new as itself or as the file that it leads to, whichever is newer.
  /// Links to folders aren't followed, so that a folder that leads to itself has an end. Folders of
  /// runs, `.workflow`, don't count.
  ///
  /// - Parameters:
  ///   - path: The file or folder.
  ///   - others: Absolute paths of files and folders in it that don't count.
  /// - Returns: The time; nil when there is nothing at the path.
  /// - Throws: ``Failure`` when the path, or what is in the folder, can't be looked at.
  static func newest(at path: String, except others: Set<String> = []) throws(Failure) -> FileTime?
  {
    guard let first = try status(of: path) else { return nil }
    var newest = FileTime(first)
    var due = first.isFolder ? [path] : []
    while let folder = due.popLast() {
      for name in try names(in: folder) where name != ".workflow" {
        let path = "\(folder)/\(name)"
        if !others.isEmpty, others.contains(path.absolute) { continue }
        guard let status = try status(of: path, followsLinks: false) else { continue }
        if status.isFolder { due.append(path) }
        newest = max(newest, FileTime(status))
        // What the link leads to may be gone, or not for this user.
        if status.isLink, let file = try? Self.status(of: path), !file.isFolder {
          newest = max(newest, FileTime(file))
        }
      }
    }
    return newest
  }

  private init(_ status: stat) {
    #if canImport(Darwin)
    seconds = status.st_mtimespec.tv_sec
    nanoseconds = status.st_mtimespec.tv_nsec
    #else
    seconds = Int(status.st_mtim.tv_sec)
    nanoseconds = Int(status.st_mtim.tv_nsec)
    #endif
  }

  private static func status(
    of path: String,
    followsLinks: Bool = true
  ) throws(Failure) -> stat? {
    var status = stat()
    let result = followsLinks ? stat(path, &status) : lstat(path, &status)
    if result == 0 { return status }
    let error = SystemCallError()
    if error.isMissing { return nil }
    throw Failure(path: path, error: error)
  }

  private static func names(in folder: String) throws(Failure) -> [String] {
    guard let stream = opendir(folder) else {
      let error = SystemCallError()
      // It has gone meanwhile.
      if error.isMissing { return [] }
      throw Failure(path: folder, error: error)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }
}

extension stat {
  fileprivate var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
  fileprivate var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
