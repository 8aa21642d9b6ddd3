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

  /// Refuses a name that is none: a variable without a value, most of the time.
  static func check(_ folder: String?) throws {
    if folder == "" { throw ValidationError("--runs-folder needs the name of a folder.") }
  }

  var catalog: RunCatalog {
    runsFolder.map(RunCatalog.init) ?? .nearest(to: FileManager.default.currentDirectoryPath)
  }
}
