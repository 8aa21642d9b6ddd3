import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowDocument
import WorkflowWfCommons

/// `workflow import FILE.json`.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Turn a recorded workflow of WfCommons into a file to run or simulate.",
    discussion: """
      Each task becomes a step that sleeps, or computes, for the time that the task took, scaled, \
      and needs what the task came after. See https://wfcommons.org for hundreds of instances.

      EXAMPLES:
        workflow import cycles.json -o cycles.yml --scale 0.01
            A hundred times as fast as it was.
        workflow import cycles.json | less
      """
  )

  @Argument(help: "The instance.", completion: .file(extensions: ["json"]))
  var file: String

  @Option(help: "What to multiply all durations by.")
  var scale = 1.0

  @Option(help: "What steps do for that time: sleep, or compute (which needs perl).")
  var work = WorkArgument.sleep

  @Option(help: "What the workflow is called. (default: as the instance is)")
  var name: String?

  @Option(
    name: .shortAndLong,
    help: "Where to write the workflow. (default: standard output)",
    completion: .file(extensions: ["yml"])
  )
  var output: String?

  @Flag(name: .shortAndLong, help: "Replace a file that is there.")
  var force = false

  func validate() throws {
    if !(scale > 0 && scale <= 1e6) {
      throw ValidationError("--scale needs a number above 0, to 1000000, not \(scale).")
    }
  }

  func run() async throws {
    let place = output.map { OutputFile(option: "--output", path: $0) }
    try place?.check(against: [file])
    if let output, !force, FileStatus(output)?.isFile == true {
      throw Complaint(.usage, "“\(output)” is there already; --force replaces it")
    }
    let json = Data(try InputFile.bytes(file))
    if let other = OtherFormat(of: json, named: file) {
      throw Complaint(
        .mistakes,
        "\(file) is a \(other.name), which can't be imported: \(other.advice)"
      )
    }
    let workflow: Workflow
    do {
      let options = WfCommonsImport.Options(scale: scale, work: work.work, name: name)
      workflow = try WfCommonsImport.workflow(fromJSON: json, options: options)
    } catch {
      throw Complaint(.mistakes, "\(file): \(error)")
    }
    let text = WorkflowFile.text(of: workflow)
    guard let place else { return try StandardStream.output.send("\(text)") }
    try place.write(text)
    let steps = workflow.steps.count.counted("step")
    try StandardStream.error.send("\(place.path): \(workflow.name), \(steps)\n")
  }
}

/// What imported steps do.
enum WorkArgument: String, CaseIterable, ExpressibleByArgument {
  case sleep, compute

  var work: WfCommonsImport.Options.Work { self == .sleep ? .sleep : .compute }
}
