import AdvancedOperations
import ArgumentParser
import Foundation
import WorkflowDocument
import WorkflowRunner
import WorkflowSlurm

/// Where commands run.
enum EngineName: String, CaseIterable, ExpressibleByArgument {
  case local, slurm
}

/// What the command line says about how steps run.
struct RunOptions: ParsableArguments {
  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Run only these steps, with what they need.", valueName: "step")
  )
  var only: [String] = []

  @Option(
    name: [.customShort("j", allowingJoined: true), .long],
    parsing: .unconditional,
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
      "How long steps have to end by themselves when the run is cancelled. (default: 10s)",
      valueName: "time"
    ),
    transform: Duration.init(argument:)
  )
  var gracePeriod = Duration.seconds(10)

  @Option(
    help: ArgumentHelp(
      "Cancel the run at this time: a time of day (06:30), or a duration (90m).",
      valueName: "time"
    ),
    transform: UntilArgument.init(argument:)
  )
  var until: UntilArgument?

  func validate() throws {
    if let jobs, !(1...Self.mostJobs).contains(jobs) {
      throw ValidationError("--jobs needs a number from 1 to \(Self.mostJobs), not \(jobs).")
    }
  }

  /// More processes than a system has numbers for.
  private static let mostJobs = 1_000_000

  /// Where commands run.
  private func stepEngine(_ terminal: LocalEngine.Terminal) -> any StepEngine {
    switch engine {
    case .local: return LocalEngine(terminal: terminal)
    case .slurm: return SlurmEngine()
    }
  }

  /// Refuses an engine that isn't here, or can't run so many commands, before there is a run.
  ///
  /// - Parameter workflow: What is to run.
  /// - Throws: ``Complaint``.
  func checkEngine(for workflow: Workflow) throws(Complaint) {
    try OpenFileLimit.check(jobs: min(workers, workflow.steps.count))
    if engine != .slurm { return }
    if let step = workflow.steps.first(where: \.isInteractive) {
      throw Complaint(
        .usage,
        "step “\(step.id)” is interactive, and has no terminal with --engine slurm"
      )
    }
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    for program in ["srun", "squeue"] {
      if folders.contains(where: {
        FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
      }) {
        continue
      }
      throw Complaint(
        .usage,
        "--engine slurm needs Slurm's commands, and “\(program)” is in no folder of PATH"
      )
    }
  }

  /// How many steps run at a time.
  var workers: Int { jobs ?? ProcessInfo.processInfo.activeProcessorCount }

  /// Runs a workflow, and ends the program with its status if that isn't 0.
  ///
  /// - Parameters:
  ///   - workflow: All of it.
  ///   - shown: The steps of it that run.
  ///   - record: The run's folder.
  ///   - catalog: The runs among which it is.
  ///   - display: How it is shown.
  ///   - options: How it runs.
  /// - Throws: What kept it from beginning, or its exit status.
  func conduct(
    _ workflow: Workflow,
    showing shown: Workflow,
    in record: RunRecord,
    of catalog: RunCatalog,
    _ display: DisplayOptions,
    _ options: WorkflowRun.Options
  ) async throws {
    let conducted = ConductedRun(
      workflow: shown,
      record: record,
      options: display,
      place: catalog.place,
      estimate: {
        RunEstimate(shown, jobs: workers, known: catalog.durations(of: workflow.name))
      },
      deadline: options.deadline
    )
    let status = try await conducted.conduct { report, terminal in
      WorkflowRun(
        workflow,
        in: record.folder,
        engine: stepEngine(terminal),
        options: options,
        environment: OperationEnvironment(executor: workers == 1 ? SerialExecutor() : nil),
        report: report
      )
    }
    if status != 0 { throw ExitCode(status) }
  }

  func options(file: String?) -> WorkflowRun.Options {
    var options = WorkflowRun.Options(jobs: workers)
    options.file = file.map { URL(filePath: $0).standardizedFileURL.path(percentEncoded: false) }
    options.keepsGoing = keepGoing
    options.only = only
    options.gracePeriod = gracePeriod
    options.deadline = until?.deadline()
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
