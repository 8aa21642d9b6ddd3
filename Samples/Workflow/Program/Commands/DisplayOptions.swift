import AdvancedOperations
import AdvancedOperationsVisualization
import ArgumentParser
import Foundation
import TerminalSupport

/// How a run is shown.
enum DisplayFormat: String, CaseIterable, ExpressibleByArgument {
  /// A display that changes on a terminal, lines elsewhere.
  case auto
  case plain
  case json
}

/// What the command line says about how a run is shown and drawn.
struct DisplayOptions: ParsableArguments {
  @Option(
    help: """
      How to show the run: auto (what executes, on a terminal; else lines), plain (lines), json \
      (an event a line).
      """
  )
  var format = DisplayFormat.auto

  @Flag(name: .shortAndLong, help: "Show failures and the summary only.")
  var quiet = false

  @Option(
    help: ArgumentHelp(
      "Draw what happened when: .svg, or .json for chrome://tracing and Perfetto.",
      valueName: "file"
    ),
    completion: .file(extensions: ["svg", "json"])
  )
  var timeline: String?

  @Option(
    help: ArgumentHelp(
      "Draw the steps and what they need: .svg, .dot (Graphviz) or .mmd (Mermaid).",
      valueName: "file"
    ),
    completion: .file(extensions: ["svg", "dot", "mmd"])
  )
  var graph: String?

  static let timelineEndings = ["svg", "json"]
  static let graphEndings = ["svg", "dot", "mmd"]

  func validate() throws {
    try Self.check("--timeline", timeline, Self.timelineEndings)
    try Self.check("--graph", graph, Self.graphEndings)
    if quiet, format == .json {
      throw ValidationError("--quiet and --format json exclude each other.")
    }
  }

  private static func check(_ option: String, _ path: String?, _ endings: [String]) throws {
    guard let path else { return }
    if endings.contains(URL(filePath: path).pathExtension) { return }
    let right = endings.map { ".\($0)" }.joined(separator: ", ")
    throw ValidationError("\(option) needs a file that ends with one of \(right), not “\(path)”.")
  }

  /// The format, with `auto` where there is a terminal that can show it.
  func format(_ environment: [String: String]) -> DisplayFormat {
    if format != .auto { return format }
    return StandardStream.output.canRewriteLines(environment) ? .auto : .plain
  }

  private var timelineFile: OutputFile? {
    timeline.map { OutputFile(option: "--timeline", path: $0) }
  }

  var graphFile: OutputFile? { graph.map { OutputFile(option: "--graph", path: $0) } }

  /// Refuses drawings in the place of what is read; called before anything runs.
  ///
  /// - Parameter inputs: The files that are read.
  /// - Throws: ``Complaint``.
  func checkPictures(against inputs: [String]) throws(Complaint) {
    try timelineFile?.check(against: inputs)
    try graphFile?.check(against: inputs, and: timelineFile.map { [$0] } ?? [])
  }

  /// Writes the drawings that were asked for.
  func writePictures(of run: any RunControl) throws {
    if let file = timelineFile {
      let content = run.timeline()
      try file.write(file.path.hasSuffix(".svg") ? content.svg() : content.chromeTrace())
    }
    try graphFile?.write(run.graph())
  }
}
