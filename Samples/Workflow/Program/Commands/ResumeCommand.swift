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
      is. A file that was changed since is refused, because what is done may not fit any more. What \
      --only chose before is the choice again, unless --only or --all say otherwise.

      A step that was being undone is undone first, from the beginning of its ‘on-rollback’: that \
      has to bear being repeated. Where it fails again, nothing runs until it succeeds, or is \
      accepted as it is.

      EXAMPLES:
        workflow resume last
            Go on with the newest run.
        workflow resume 2026-11-22-17
            A part of the name is enough where it means one run; “workflow runs”
            lists them.
        workflow resume last --accept-changes
            Go on with the file as it is now; says what differs.
        workflow resume last --accept-failed-rollbacks
            Continue after you have undone manually what a rollback couldn't.
      """
  )

  @Argument(help: "The run: its name, a part of it, or last.")
  var runName: String

  @Argument(help: .hidden)
  var values: [String] = []

  @Flag(help: "Run also what --only left out before.")
  var all = false

  @Flag(help: "Go on although the file was changed; what differs is said.")
  var acceptChanges = false

  @Flag(help: "Run steps again that could not be undone, as things are.")
  var acceptFailedRollbacks = false

  @OptionGroup var folder: RunsFolderOption
  @OptionGroup(title: "How steps run") var running: RunOptions
  @OptionGroup(title: "How it is shown") var display: DisplayOptions

  func validate() throws {
    if let value = values.first {
      throw ValidationError(
        value.contains("=")
          ? "A run keeps the values of its parameters; “workflow run” begins one with others."
          : "One run is resumed at a time, not “\(runName)” and “\(value)”."
      )
    }
    if all, !running.only.isEmpty {
      throw ValidationError("--all and --only exclude each other.")
    }
  }

  func run() async throws {
    let catalog = folder.catalog
    let record = try catalog.run(runName)
    // First: what is made of a damaged one says nothing about the file.
    let contents = try JournalFile.contents(of: record.folder.journal)
    if contents == nil, !record.events().isEmpty {
      throw Complaint(
        .mistakes,
        "\(record.folder.journal) \(record.hasJournal ? "has no whole line" : "is gone"), so what "
          + "\(record.name) has done isn't known; “workflow run” begins a new run"
      )
    }
    let file = contents?.header.file(from: record.folder)
    var source = try source(of: record, file)
    try source.set(contents?.header.parameters ?? [:])
    try display.checkPictures(against: [source.path, record.workflowFile])
    try running.checkEngine(for: source.workflow)
    try compare(source, record, contents)
    var options = running.options(file: file)
    if options.only.isEmpty, !all { options.only = contents?.only ?? [] }
    options.acceptsChanges = acceptChanges
    options.acceptsFailedRollbacks = acceptFailedRollbacks
    options.fileText = source.text
    try await running.conduct(
      source.workflow,
      showing: try source.workflow.reduced(to: options.only),
      in: record,
      of: catalog,
      display,
      options
    )
  }

  /// The file as it is now; the run's copy if it is gone.
  private func source(
    of record: RunRecord,
    _ file: String?
  ) throws(Complaint) -> WorkflowSource {
    if let file, FileManager.default.fileExists(atPath: file) {
      return try WorkflowSource(file)
    }
    if let file {
      let notice = "“\(file)” is gone; the run continues with its copy, \(record.workflowFile)"
      try? StandardStream.error.send("workflow: \(notice)\n")
    }
    return try WorkflowSource(record.workflowFile, name: record.workflowName)
  }

  /// Refuses a file that was changed, unless that is accepted; says what differs.
  private func compare(
    _ source: WorkflowSource,
    _ record: RunRecord,
    _ contents: JournalContents?
  ) throws {
    guard let before = record.workflow() else { return }
    let differences = source.workflow.differences(
      from: before,
      finished: record.finished(by: contents)
    )
    if differences.isEmpty { return }
    let list = differences.prefix(20).map { "  \($0)" }.joined(separator: "\n")
    let more = differences.count > 20 ? "\n  … and \(differences.count - 20) more" : ""
    let file = "\(source.path) was changed since \(record.name) began:\n\(list)\(more)"
    if !acceptChanges {
      let hint = "with --accept-changes it continues with the changed file"
      throw Complaint(.mistakes, "\(file)\n\(hint)")
    }
    let again = RunProgress(contents?.records ?? [], of: source.workflow).missingOutputs
      .sorted { $0.key < $1.key }
      .map { step, names in
        let list = names.map { "‘\($0)’" }.joined(separator: ", ")
        return "\n  step ‘\(step)’ runs again, to give \(list)"
      }
    try StandardStream.error.send("workflow: \(file)\(again.joined())\n")
  }
}
