import AdvancedOperations
import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowDocument

/// `workflow simulate FILE --workers N,…`.
struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Say how long a workflow would take with more or fewer workers.",
    discussion: """
      Nothing runs. A step counts with the time that it took when it last succeeded, else with that \
      of a command such as “sleep 2.5”, else with the mean of the others. Resources, rates and \
      retries aren't considered, so this is what workers alone allow.

      EXAMPLES:
        workflow simulate release.yml --workers 1,2,4,8
        workflow simulate chameleon.yml --workers 16 --workers 64
      """
  )

  @Argument(
    help: "The file with the workflow. (default: workflow.yml)",
    completion: .file(extensions: ["yml", "yaml"])
  )
  var file: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("How many steps run at a time; several, to compare.", valueName: "n[,n…]")
  )
  var workers: [WorkerCounts]

  @Option(
    help: ArgumentHelp(
      "Where earlier runs are. (default: .workflow/runs beside the file)",
      valueName: "dir"
    ),
    completion: .directory
  )
  var runsFolder: String?

  func run() async throws {
    let source = try WorkflowSource(file ?? WorkflowSource.defaultPath())
    let catalog = RunCatalog(runsFolder ?? source.runsFolder)
    let known = catalog.durations(of: source.workflow.name)
    let forecast = Forecast(source.workflow, known: known)
    let stream = StandardStream.output
    let environment = ProcessInfo.processInfo.environment
    let colour = stream.hasColour(environment)
    let width = stream.isTerminal ? stream.width(environment) - 1 : .max
    for line in forecast.lines(workers: workers.flatMap(\.counts)) {
      try stream.send(line.cut(toColumns: width).terminalText(colour: colour) + "\n")
    }
  }
}

/// Numbers of workers: `1,2,4`.
struct WorkerCounts: ExpressibleByArgument, Equatable {
  var counts: [Int]

  init?(argument: String) {
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
    let counts = parts.compactMap { Int($0.trimmingCharacters(in: .whitespaces)) }
    guard counts.count == parts.count, counts.allSatisfy({ $0 >= 1 }) else { return nil }
    self.counts = counts
  }
}
