import ArgumentParser
import Foundation
import TerminalSupport

/// `workflow runs`.
struct RunsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "runs",
    abstract: "List the runs that are kept, the newest first.",
    discussion: """
      A run is running, succeeded, failed, cancelled, or interrupted: its program was killed, or \
      the machine went down. Failed, cancelled and interrupted ones can be resumed. It took the time \
      of all processes that ran it or went on with it; that of one that was cut off ends with the \
      last that is known of it.

      EXAMPLES:
        workflow runs
        workflow runs --last 5
        workflow runs --runs-folder /srv/backup/.workflow/runs
      """
  )

  @OptionGroup var folder: RunsFolderOption

  @Option(parsing: .unconditional, help: ArgumentHelp("List only so many.", valueName: "n"))
  var last: Int?

  func validate() throws {
    if let last, last < 1 { throw ValidationError("--last needs a number from 1, not \(last).") }
  }

  func run() async throws {
    let catalog = folder.catalog
    let names = catalog.names
    let stream = StandardStream.output
    if names.isEmpty {
      try stream.send("There are no runs in \(catalog.path). “workflow run FILE” begins one.\n")
      return
    }
    var table = Table([
      ("run", .left), ("workflow", .left), ("state", .left), ("steps", .right), ("when", .left),
      ("took", .right),
    ])
    for name in names.reversed().prefix(last ?? .max) { table.add(Self.row(catalog.record(name))) }
    let environment = ProcessInfo.processInfo.environment
    let colour = stream.hasColour(environment)
    let width = stream.isTerminal ? stream.width(environment) - 1 : .max
    for line in table.lines(width: width) {
      try stream.send(line.terminalText(colour: colour) + "\n")
    }
  }

  private static func row(_ record: RunRecord) -> [StyledLine] {
    let digest = record.digest()
    let look: StyledLine.Look
    switch digest.state {
    case .succeeded: look = .green
    case .failed, .damaged: look = .red
    case .running: look = .cyan
    case .cancelled, .interrupted: look = .yellow
    }
    let steps = digest.steps.map { "\(digest.done.grouped) of \($0.grouped)" } ?? "–"
    return [
      StyledLine(record.name, .bold), StyledLine(digest.workflow ?? "–"),
      StyledLine(digest.state.rawValue, look), StyledLine(steps),
      StyledLine(record.when ?? "–"), StyledLine(digest.time),
    ]
  }
}

extension RunRecord.Digest {
  /// How long it took, in words.
  var time: String {
    guard let duration else { return "–" }
    return duration.readable + (state == .interrupted ? ", cut off" : "")
  }
}
