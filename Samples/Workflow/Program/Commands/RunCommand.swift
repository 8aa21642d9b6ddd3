import AdvancedOperations
import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// `workflow run FILE`.
struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run a workflow from its beginning.",
    discussion: """
      Everything is checked before anything runs. Each run has a folder, .workflow/runs/NAME beside \
      the file, with a log for each step, all events, and a journal, from which “workflow resume” \
      goes on.

      EXAMPLES:
        workflow run
            Run workflow.yml, or workflow.yaml, of this folder.
        workflow run release.yml
            On a terminal it shows what executes, what waits and for what, and
            how long it will take.
        workflow run release.yml --jobs 4 --keep-going
            Four steps at a time; after a failure still what doesn't need the
            failed step.
        workflow run release.yml --only test@linux package
            These steps with what they need; “test” means all combinations of
            its matrix.
        workflow run release.yml version=1.4
            Give the parameter “version” a value.
        workflow run release.yml --dry-run --graph steps.svg
            Say and draw what would run.
        workflow run release.yml --timeline run.svg
            Draw what happened when, with the critical path.
        workflow run release.yml --format json | jq -c 'select(.event == "ended")'
            Have each event as a line of JSON: time, event, step, and what
            belongs to it.
        workflow run release.yml --until 06:30
            Cancel what isn't done in the morning; “workflow resume” continues it.
        workflow run release.yml --engine slurm --jobs 200
            Let Slurm place the commands; order, retries and the journal stay here.
      """
  )

  @Argument(
    help: "The file with the workflow. (default: workflow.yml)",
    completion: .file(extensions: ["yml", "yaml"])
  )
  var file: String?

  @Argument(help: ArgumentHelp("Values for its parameters.", valueName: "name=value"))
  var values: [String] = []

  @Flag(help: "Say what would run, in order, and run nothing.")
  var dryRun = false

  @Option(
    help: ArgumentHelp(
      "Where to keep the run. (default: .workflow/runs beside the file)",
      valueName: "dir"
    ),
    completion: .directory
  )
  var runsFolder: String?

  @OptionGroup(title: "How steps run") var running: RunOptions
  @OptionGroup(title: "How it is shown") var display: DisplayOptions

  mutating func validate() throws {
    try RunsFolderOption.check(runsFolder)
    let words = RunWordsOfCommandLine([file].compactMap(\.self) + values, only: running.only)
    running.only = words.only
    if words.files.count > 1 {
      throw ValidationError(
        "One file is run at a time, not “\(words.files.joined(separator: "” and “"))”. Values for "
          + "parameters are written NAME=VALUE."
      )
    }
    if let name = words.repeated.first {
      throw ValidationError("The parameter “\(name)” is given two values.")
    }
    file = words.files.first
    values = words.parameters.map { "\($0)=\($1)" }
  }

  func run() async throws {
    let parameters = RunWordsOfCommandLine(values, only: []).parameters
    let path = try file ?? WorkflowSource.defaultPath()
    // What would run can be said without values.
    let source = try WorkflowSource(path, parameters, needsAll: !dryRun)
    try display.checkPictures(against: [source.path])
    let shown = try source.workflow.reduced(to: running.only)
    try running.checkEngine(for: shown)
    let catalog = RunCatalog(runsFolder ?? source.runsFolder)
    if dryRun { return try showPlan(shown, catalog) }
    let variables = try EnvironmentFile.variables(for: source.workflow, in: source.folder)
    warnOfSecrets(source.workflow, in: variables)
    warnOfLeftovers(of: source.workflow.name, in: catalog)
    let folder = try RunFolder.create(
      of: source.workflow.name,
      in: catalog.path,
      file: source.text
    )
    try await running.conduct(
      source.workflow,
      showing: shown,
      in: RunRecord(path: folder.path),
      of: catalog,
      display,
      running.options(file: source.lastingPath)
    )
  }

  /// Says of the newest run of the workflow that it was cut off while its processes go on.
  private func warnOfLeftovers(of workflow: String, in catalog: RunCatalog) {
    let end = RunFolder.nameEnd(of: workflow)
    guard let name = catalog.names.last(where: { $0.contains(end) }) else { return }
    let steps = catalog.record(name).folder.leftoverSteps
    if steps.isEmpty { return }
    try? StandardStream.error.send(
      "workflow: \(name) was cut off, and its processes keep running (\(steps.joined(separator: ", "))); "
        + "“workflow resume \(name)\(catalog.place)” ends them and continues the run\n"
    )
  }

  /// A secret that isn't set is misspelt, most of the time, and the one that is meant would be shown.
  private func warnOfSecrets(_ workflow: Workflow, in variables: [String: String]) {
    var known = Set(variables.keys).union(ProcessInfo.processInfo.environment.keys)
    known.formUnion(workflow.environment.keys)
    for step in workflow.steps { known.formUnion(step.environment.keys) }
    for name in workflow.secrets where !known.contains(name) {
      let help = NearestName.nearest(to: name, among: known.sorted()).map {
        "; did you mean “\($0)”?"
      }
      try? StandardStream.error.send(
        "workflow: the secret “\(name)” isn't a variable that is set\(help ?? "")\n"
      )
    }
  }

  private func showPlan(_ workflow: Workflow, _ catalog: RunCatalog) throws {
    if display.timeline != nil {
      throw Complaint(.usage, "--timeline draws what happened, and --dry-run runs nothing")
    }
    if display.format == .json {
      throw Complaint(.usage, "--dry-run says what would run in words, and has no --format json")
    }
    // Before the plan, whose reader may have had enough of it.
    try display.graphFile?.write(StepPlan.graph(of: workflow))
    let stream = StandardStream.output
    let environment = ProcessInfo.processInfo.environment
    let colour = stream.hasColour(environment)
    let width = stream.isTerminal ? stream.width(environment) - 1 : .max
    for line in DryRun(workflow).lines {
      try stream.send(line.cut(toColumns: width).terminalText(colour: colour) + "\n")
    }
  }
}
