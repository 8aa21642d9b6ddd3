import ArgumentParser
import Foundation
import WorkflowDocument
import WorkflowRunner

/// Where commands run.
enum EngineName: String, CaseIterable, ExpressibleByArgument {
  case local, slurm
}

/// What the command line says about how steps run.
struct RunOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "How many steps run at a time. (default: one per processor)",
      valueName: "n"
    )
  )
  var jobs: Int?

  @Flag(name: .shortAndLong, help: "After a failure run what doesn't need the failed step.")
  var keepGoing = false

  @Option(help: "Where commands run: on this machine, or where Slurm places them.")
  var engine = EngineName.local

  @Option(
    help: ArgumentHelp(
      "How long steps have to end by themselves when the run is cancelled.",
      valueName: "time"
    )
  )
  var gracePeriod = TimeArgument(.seconds(10))

  func validate() throws {
    if let jobs, jobs < 1 { throw ValidationError("--jobs needs a number from 1, not \(jobs).") }
  }

  /// How many steps run at a time.
  var workers: Int { jobs ?? ProcessInfo.processInfo.activeProcessorCount }

  func options(only: [String], file: String? = nil) -> WorkflowRun.Options {
    var options = WorkflowRun.Options(jobs: workers)
    options.file = file.map { URL(filePath: $0).standardizedFileURL.path(percentEncoded: false) }
    options.keepsGoing = keepGoing
    options.only = only
    options.gracePeriod = gracePeriod.duration
    return options
  }
}

/// Names of steps that people write.
enum StepNames {
  /// What to say of a step that isn't there.
  static func unknown(_ name: String, in names: [String]) -> Complaint {
    var seen: Set<String> = []
    let names = names.filter { seen.insert($0).inserted }
    if let near = Nearest.name(to: name, among: names) {
      return Complaint(.usage, "there is no step “\(name)”; did you mean “\(near)”?")
    }
    if names.isEmpty { return Complaint(.usage, "there is no step “\(name)”") }
    let more = names.count > 10 ? ", … (\(names.count) in all)" : ""
    let list = names.prefix(10).joined(separator: ", ")
    return Complaint(.usage, "there is no step “\(name)”; there are \(list)\(more)")
  }
}
