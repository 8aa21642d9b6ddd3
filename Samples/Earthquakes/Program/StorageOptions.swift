import ArgumentParser

/// What the command line says about the database.
struct StorageOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep the events in this file, and add to those that it has. (default: a new file in a "
        + "temporary folder)",
      valueName: "path"
    ),
    completion: .file(extensions: ["sqlite"])
  )
  var database: String?

  @Flag(help: "Store the feed even if the database has the same one or a newer one.")
  var force = false

  func validate() throws {
    if database == "" { throw ValidationError("--database needs the path of a file.") }
  }
}
