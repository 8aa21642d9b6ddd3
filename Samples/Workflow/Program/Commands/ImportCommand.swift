import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowDocument

/// `workflow import FILE.json`.
struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Turn a recorded workflow of WfCommons into a file to run or simulate.",
    discussion: """
      Each task becomes a step that sleeps for the time that the task took, scaled, and needs what \
      the task came after. See https://wfcommons.org for hundreds of instances.

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

  @Option(
    name: .shortAndLong,
    help: "Where to write the workflow. (default: standard output)",
    completion: .file(extensions: ["yml"])
  )
  var output: String?

  func validate() throws {
    if !(scale >= 0 && scale <= 1e6) {
      throw ValidationError("--scale needs a number from 0 to 1000000, not \(scale).")
    }
  }
}
