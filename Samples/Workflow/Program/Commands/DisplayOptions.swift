import AdvancedOperations
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

  /// Writes the drawings that were asked for.
  func writePictures(of run: any RunControl) throws {
    if let timeline {
      let content = run.timeline()
      let isSVG = timeline.hasSuffix(".svg")
      try PictureFile.write(isSVG ? content.svg : content.chromeTrace, to: timeline)
    }
    if let graph { try PictureFile.write(run.graph(), to: graph) }
  }
}
