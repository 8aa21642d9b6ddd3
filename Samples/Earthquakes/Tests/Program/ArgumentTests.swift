import ArgumentParser
import EarthquakeWorkflow
import Foundation
import Testing

@testable import earthquakes

@Suite struct `The command line` {
  private func request(_ arguments: String...) throws -> ImportRequest {
    try EarthquakesCommand.parse(arguments).request(DatabaseFile("/tmp/x"))
  }

  @Test func `without arguments asks for the catalogue that is shipped`() throws {
    let request = try request()
    #expect(request.source == .shipped)
    #expect(request.maximumSize == .megabytes(50))
    #expect(request.downloadTime == .seconds(60))
    #expect(!request.storesAgain)
    #expect(request.mapPath == nil)
    let command = try EarthquakesCommand.parse([])
    #expect(command.storage.database == nil)
    #expect(command.output.format == .text)
    #expect(!command.output.verbose)
    #expect(!command.output.quiet)
  }

  @Test func `asks for what it says`() throws {
    let request = try request(
      "--file",
      "a.geojson",
      "--max-size",
      "500kB",
      "--timeout",
      "5",
      "--force",
      "--map",
      "m.svg"
    )
    #expect(request.source == .file(path: "a.geojson"))
    #expect(request.maximumSize.bytes == 500_000)
    #expect(request.downloadTime == .seconds(5))
    #expect(request.storesAgain)
    #expect(request.mapPath == "m.svg")
    #expect(try self.request("--feed", "4.5_week").source == .published(name: "4.5_week"))
    #expect(try EarthquakesCommand.parse(["--format", "json"]).output.format == .json)
    #expect(try EarthquakesCommand.parse(["--database", "d"]).storage.database == "d")
  }

  @Test(arguments: [
    (["--feed", "all_days"], "Did you mean “all_day”?"),
    (["--feed", ""], "There is no feed named “”"),
    (["--file", "a", "--feed", "all_day"], "--file and --feed exclude each other"),
    (["--max-size", "large"], "The value 'large' is invalid for '--max-size <size>'"),
    (["--max-size", "0"], "'--max-size <size>'"),
    (["--timeout", "0"], "--timeout must be one second or more"),
    (["--format", "xml"], "Please provide one of 'text' and 'json'"),
    (["--verbose", "--quiet"], "--verbose and --quiet exclude each other"),
    (["--file", ""], "--file needs the path of a file"),
    (["--database", ""], "--database needs the path of a file"),
    (["--map", ""], "--map needs the path of a file"),
    (["all_day"], "Unexpected argument 'all_day'"),
    (["--update"], "Unknown option '--update'"),
  ])
  func `that is wrong says what, and is a usage error`(arguments: [String], message: String) {
    let error = #expect(throws: (any Error).self) { try EarthquakesCommand.parse(arguments) }
    guard let error else { return }
    #expect(EarthquakesCommand.exitCode(for: error).rawValue == 64)
    let text = EarthquakesCommand.fullMessage(for: error)
    #expect(text.contains(message), "\(text)")
    #expect(text.contains("Usage: earthquakes "))
  }

  @Test func `is explained with examples`() {
    let help = EarthquakesCommand.helpMessage(columns: 80)
    #expect(help.contains("earthquakes --feed significant_month --database quakes.sqlite\n"))
    #expect(help.contains("(default: 50MB)"))
    let statuses = help.components(separatedBy: "EXIT STATUS").last ?? ""
    for status in [" 0 ", " 1 ", " 64 ", "130", "143", "131"] {
      #expect(statuses.contains(status), "\(status)")
    }
    #expect(help.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }
}
