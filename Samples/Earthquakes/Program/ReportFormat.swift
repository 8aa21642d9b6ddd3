import ArgumentParser
import EarthquakeKit
import TerminalSupport

/// How the report is written.
enum ReportFormat: String, CaseIterable, ExpressibleByArgument {
  case text, json
}

extension ReportFormat {
  /// The report, set for a stream.
  func text(
    _ report: Report,
    database: String,
    stream: StandardStream,
    environment: [String: String]
  ) throws -> TerminalText {
    switch self {
    case .json: return "\(String(decoding: try report.json(), as: UTF8.self))"
    case .text:
      let colour = stream.hasColour(environment)
      let title: TerminalText = colour ? "\u{1B}[1mDatabase\u{1B}[0m" : "Database"
      let text = report.text(width: stream.width(environment), colour: colour)
      return "\(TerminalText(filtered: text))\n\(title)\n  \(database)\n"
    }
  }
}
