import ArgumentParser
import TerminalSupport
import WorkflowDocument

/// `workflow explain RUN STEP`.
struct ExplainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Say why a step doesn't run, or how it ended.",
    discussion: """
      Of a run that goes on, in another terminal for example, its program answers; of one that is \
      over, what its folder keeps.

      EXAMPLES:
        workflow explain last publish
        workflow explain 2026-11-22-174501-release test@linux
      """
  )

  @Argument(help: "The run: its name, a part of it, or last.")
  var runName: String

  @Argument(help: "The step; a matrix's name means all of its combinations.")
  var step: String

  @OptionGroup var folder: RunsFolderOption

  func run() async throws {
    let record = try folder.catalog.run(runName)
    // Of a run that goes on nothing has to be read, which takes its time with many steps.
    let answer = ExplainSocket.ask(step, in: record.path)
    if let answer, !answer.isEmpty {
      return try StandardStream.output.send("\(answer.trimmingLineFeeds)\n")
    }
    let isAnswered = answer != nil
    if !isAnswered, record.isRunning {
      let notice = "the program that runs it doesn't answer; this is what the run's folder says"
      try StandardStream.error.send("workflow: \(notice)\n")
    }
    let workflow = record.workflow()
    let recorded = record.explanation(workflow)
    var known = workflow?.steps.flatMap { [$0.id, $0.base] } ?? recorded.steps
    if known.isEmpty { known = recorded.steps }
    let steps = workflow?.steps.filter { $0.id == step || $0.base == step }.map(\.id) ?? [step]
    let texts = steps.compactMap { step in
      let answer = isAnswered ? ExplainSocket.ask(step, in: record.path) : nil
      return answer.flatMap { $0.isEmpty ? nil : $0 } ?? recorded.text(of: step)
    }
    if texts.isEmpty { throw StepNames.unknown(step, in: known) }
    for text in texts { try StandardStream.output.send("\(text.trimmingLineFeeds)\n") }
  }
}

extension String {
  fileprivate var trimmingLineFeeds: String {
    var text = self[...]
    while text.last == "\n" { text.removeLast() }
    return String(text)
  }
}
