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

  var catalog: RunCatalog {
    runsFolder.map(RunCatalog.init) ?? .nearest(to: FileManager.default.currentDirectoryPath)
  }
}
