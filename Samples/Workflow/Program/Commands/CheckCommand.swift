import ArgumentParser
import TerminalSupport
import WorkflowDocument

/// `workflow check FILE…`.
struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Find the mistakes in files, all at once, and run nothing.",
    discussion: """
      Mistakes are printed as compilers print them, so that editors find their lines.

      EXAMPLES:
        workflow check release.yml
        workflow check *.yml && git commit
        generate-steps | workflow check /dev/stdin
      """
  )

  @Argument(help: "Files with workflows.", completion: .file(extensions: ["yml", "yaml"]))
  var files: [String]

  func run() async throws {
    var isWrong = false
    for file in files {
      do {
        let workflow = try WorkflowSource(file).workflow
        let steps = workflow.steps.count.counted("step")
        try StandardStream.output.send("\(file): \(workflow.name), \(steps), no mistakes\n")
      } catch let mistakes as Complaint {
        isWrong = true
        try? StandardStream.error.send(mistakes.text)
      }
    }
    if isWrong { throw ExitCode(Complaint.Status.mistakes.rawValue) }
  }
}
