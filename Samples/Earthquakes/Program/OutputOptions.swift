import ArgumentParser

/// What the command line says about what is written.
struct OutputOptions: ParsableArguments {
  @Option(help: "How to write the report.")
  var format = ReportFormat.text

  @Option(
    help: ArgumentHelp("Draw a map of all events into this SVG file.", valueName: "path"),
    completion: .file(extensions: ["svg"])
  )
  var map: String?

  @Flag(
    name: .shortAndLong,
    help: "List the operations at the end, with their times and outcomes."
  )
  var verbose = false

  @Flag(name: .shortAndLong, help: "Write neither progress nor notices, only errors.")
  var quiet = false

  func validate() throws {
    if map == "" { throw ValidationError("--map needs the path of a file.") }
    if verbose, quiet { throw ValidationError("--verbose and --quiet exclude each other.") }
  }
}
