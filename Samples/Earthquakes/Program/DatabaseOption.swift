import EarthquakeWorkflow
import Foundation

/// The database of a run: the one that was asked for, or a new one, removed when nothing was
/// stored in it.
struct DatabaseOption {
  let file: DatabaseFile
  /// The path as people gave it.
  let shownPath: String
  /// The folder that was made for it; `nil` if its path was given.
  private let temporaryFolder: URL?

  /// Takes the given path, or makes a new temporary folder.
  init(path: String?) throws(FileProblem) {
    if let path {
      file = DatabaseFile(path)
      shownPath = path
      temporaryFolder = nil
      return
    }
    let parent = FileManager.default.temporaryDirectory
    let folder = parent.appending(path: "earthquakes-\(UUID().uuidString.prefix(8))")
    do {
      try FileManager.default.createDirectory(
        at: folder,
        withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700]
      )
    } catch {
      throw .noFolder(
        parent.path(percentEncoded: false),
        path: folder.path(percentEncoded: false)
      )
    }
    file = DatabaseFile(folder.appending(path: "earthquakes.sqlite").path(percentEncoded: false))
    shownPath = file.path
    temporaryFolder = folder
  }

  var isTemporary: Bool { temporaryFolder != nil }

  /// Removes the temporary folder with what is in it; for runs that have stored nothing.
  func remove() {
    guard let temporaryFolder else { return }
    try? FileManager.default.removeItem(at: temporaryFolder)
  }
}
