import ArgumentParser
import EarthquakeKit
import EarthquakeWorkflow
import Foundation

/// How the report is written.
enum ReportFormat: String, CaseIterable, ExpressibleByArgument {
  case text, json
}

extension ReportFormat {
  /// The report, set for a stream.
  func data(
    _ report: Report,
    database: DatabaseFile,
    stream: StandardStream,
    environment: [String: String]
  ) throws -> Data {
    switch self {
    case .json: return try report.json()
    case .text:
      let colour = stream.hasColour(environment)
      let title = colour ? "\u{1B}[1mDatabase\u{1B}[0m" : "Database"
      let text = report.text(width: stream.width(environment), colour: colour)
      return Data("\(text)\n\(title)\n  \(database.path)\n".utf8)
    }
  }
}
