import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// `workflow resume RUN`.
struct ResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Go on with a run where it ended.",
    discussion: """
      What has ended well isn't run again; what was executing when the program or the machine died \
      is. A file that was changed since is refused, because what is done may not fit any more.

      EXAMPLES:
        workflow resume last
            Go on with the newest run.
        workflow resume 2026-11-22-17
            A part of the name is enough where it means one run; “workflow runs” lists them.
        workflow resume last --accept-changes
            Go on with the file as it is now; says what differs.
      """
  )

  @Argument(help: "The run: its name, a part of it, or last.")
  var runName: String

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Run only these steps, with what they need.", valueName: "step")
  )
  var only: [String] = []

  @Flag(help: "Go on although the file was changed; what differs is said.")
  var acceptChanges = false

  @OptionGroup var folder: RunsFolderOption
  @OptionGroup(title: "How steps run") var running: RunOptions
  @OptionGroup(title: "How it is shown") var display: DisplayOptions

  func run() async throws {
    let catalog = folder.catalog
    let record = try catalog.run(runName)
    // First: what is made of a damaged one says nothing about the file.
    let header = try JournalFile.contents(of: record.folder.journal)?.header
    let source = try source(of: record, header)
    try compare(source, record)
    let shown = try source.workflow.reduced(to: only)
    let engine = running.engine.engine()
    let conducted = ConductedRun(
      workflow: shown,
      record: record,
      options: display,
      place: catalog.place,
      only: only,
      estimate: RunEstimate(
        shown,
        jobs: running.workers,
        known: catalog.durations(of: source.workflow.name)
      )
    )
    var options = running.options(only: only)
    options.acceptsChanges = acceptChanges
    let status = try await conducted.conduct { [options] report in
      WorkflowRun(
        source.workflow,
        in: record.folder,
        engine: engine,
        options: options,
        report: report
      )
    }
    if status != 0 { throw ExitCode(status) }
  }

  /// The file as it is now; the run's copy if it is gone.
  private func source(
    of record: RunRecord,
    _ header: JournalHeader?
  ) throws(Complaint) -> WorkflowSource {
    if let file = header?.file, FileManager.default.fileExists(atPath: file) {
      return try WorkflowSource(file)
    }
    return try WorkflowSource(record.workflowFile, name: record.workflowName)
  }

  /// Refuses a file that was changed, unless that is accepted; says what differs.
  private func compare(_ source: WorkflowSource, _ record: RunRecord) throws {
    guard let before = record.workflow() else { return }
    let differences = source.workflow.differences(from: before, finished: record.finished())
    if differences.isEmpty { return }
    let list = differences.prefix(20).map { "  \($0)" }.joined(separator: "\n")
    let more = differences.count > 20 ? "\n  … and \(differences.count - 20) more" : ""
    let file = "\(source.path) was changed since \(record.name) began:\n\(list)\(more)"
    if !acceptChanges {
      let hint = "with --accept-changes it goes on with what is there now"
      throw Complaint(.mistakes, "\(file)\n\(hint)")
    }
    try StandardStream.error.send("workflow: \(file)\n")
    // From now on this is the file that later changes are compared with.
    try Data(source.text.utf8).write(to: URL(filePath: record.workflowFile), options: .atomic)
  }
}
