import ArgumentParser
import Foundation

/// Where runs are kept, for commands that name no file.
struct RunsFolderOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where runs are kept. (default: .workflow/runs here, or in the nearest folder above)",
      valueName: "dir"
    ),
    completion: .directory
  )
  var runsFolder: String?

  func validate() throws { try Self.check(runsFolder) }

  /// Refuses a file, and a name that is none: a variable without a value, most of the time.
  static func check(_ folder: String?) throws {
    guard let folder else { return }
    if folder.isEmpty { throw ValidationError("--runs-folder needs the name of a folder.") }
    if let status = FileStatus(folder), !status.isFolder {
      throw ValidationError("--runs-folder needs a folder, and “\(folder)” is a file.")
    }
  }

  var catalog: RunCatalog {
    runsFolder.map(RunCatalog.init) ?? .nearest(to: FileManager.default.currentDirectoryPath)
  }
}
