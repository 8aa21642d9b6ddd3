import ArgumentParser
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import TerminalSupport

/// The command line: what may be said, and what it means.
@main
struct EarthquakesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "earthquakes",
    abstract: "Stores feeds of earthquakes in a database and reports what it holds.",
    usage: "earthquakes [--file <path> | --feed <name>] [--database <path>] [options]",
    discussion: """
      Without arguments it needs no network: it stores a catalogue of notable earthquakes, which \
      comes with it, in a new database in a temporary folder.

      EXAMPLES:
        earthquakes
            Try it out.
        earthquakes --feed significant_month --database quakes.sqlite
            Download a feed and keep it. Do so again tomorrow: what is new is added.
        earthquakes --file all_week.geojson --database quakes.sqlite --map quakes.svg
            Import a file that you have, and draw all that the database holds.
        earthquakes --feed all_day --format json | jq .eventCount
            Have the report as JSON. Progress and errors go to standard error.

      FEEDS are named by strength and period: significant, 4.5, 2.5, 1.0 or all, then _hour, _day, \
      _week or _month. See https://earthquake.usgs.gov/earthquakes/feed/.

      A feed that is not newer than what is stored of it is skipped, which isn't a failure. When \
      something fails, the database stays as it was, and is reported if it holds anything.

      EXIT STATUS: 0 when all went well, 1 when something failed, 64 when the arguments are wrong, \
      130 when interrupted with Ctrl-C, 143 by SIGTERM, 131 when ended immediately by Ctrl-\\. Colours \
      can be switched off with NO_COLOR.
      """
  )

  @OptionGroup(title: "Feed") var feed: FeedOptions
  @OptionGroup(title: "Database") var storage: StorageOptions
  @OptionGroup(title: "Output") var output: OutputOptions

  /// Runs what the command line says, and ends with its exit status.
  ///
  /// It does what its default does, but writes through `TerminalText`: a message about an argument
  /// quotes it.
  static func main() async {
    SignalWatch.endAtQuit()
    StandardStream.openMissing()
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      let code = exitCode(for: error)
      let message = fullMessage(for: error)
      let stream = code.isSuccess ? StandardStream.output : StandardStream.error
      if !message.isEmpty { try? stream.send("\(message)\n") }
      Foundation.exit(code.rawValue)
    }
  }

  func run() async throws {
    let database = try DatabaseOption(path: storage.database)
    let terminalRun = TerminalRun(
      workflow: ImportWorkflow(request(database.file), download: download(_:timeout:atMost:)),
      database: database,
      options: output
    )
    let status = try await terminalRun.run()
    if status != 0 { throw ExitCode(status) }
  }

  /// What the workflow is asked to do.
  func request(_ database: DatabaseFile) -> ImportRequest {
    var request = ImportRequest(source: feed.source, database: database)
    request.storesAgain = storage.force
    request.maximumSize = feed.maxSize
    request.downloadTime = .seconds(feed.timeout)
    request.mapPath = output.map
    return request
  }
}
