import ArgumentParser
import TerminalSupport
import WorkflowDocument

/// `workflow check FILE…`.
struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Find the mistakes in files, all at once, and run nothing.",
    discussion: """
      Mistakes are printed as compilers print them, so that editors find their lines. There is a \
      warning, and no mistake, where a value gets into the program of a second shell: sh -c "ls ${{ … \
      }}", eval.

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
        for warning in warnings(of: workflow, in: file) {
          try StandardStream.error.send("\(warning)")
        }
      } catch let mistakes as Complaint {
        isWrong = true
        try? StandardStream.error.send(mistakes.text)
      }
    }
    if isWrong { throw ExitCode(Complaint.Status.mistakes.rawValue) }
  }

  /// What may be meant, and is more often a mistake.
  private func warnings(of workflow: Workflow, in file: String) -> [String] {
    // Once for all combinations of a matrix.
    var seen: Set<Int> = []
    return workflow.steps.filter { seen.insert($0.line).inserted }.flatMap { step in
      [step.command, step.rollback].compactMap { $0?.secondReader }.map { reader in
        "\(file):\(step.line): warning: ‘\(step.base)’ puts a value into a program that ‘\(reader)’ "
          + "reads, so that commands in the value run; give it as an argument or a variable\n"
      }
    }
  }
}
