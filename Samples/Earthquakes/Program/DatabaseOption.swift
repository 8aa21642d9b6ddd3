import EarthquakeWorkflow
import Foundation

/// The database of a run: the one that was asked for, or a new one that nobody has to clean up after
/// when nothing came of it.
struct DatabaseOption {
  let file: DatabaseFile
  /// The folder that was made for it; `nil` if its path was given.
  private let temporaryFolder: URL?

  /// Takes the given path, or makes a new temporary folder.
  init(path: String?) throws(FileProblem) {
    if let path {
      file = DatabaseFile(path)
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
    temporaryFolder = folder
  }

  var isTemporary: Bool { temporaryFolder != nil }

  /// Removes the temporary folder if nothing was stored in it.
  func cleanUp() {
    guard let temporaryFolder else { return }
    // Refuses to remove a folder that has something in it, which `removeItem` would not.
    _ = rmdir(temporaryFolder.path(percentEncoded: false))
  }
}
