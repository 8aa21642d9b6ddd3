import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// `workflow check FILE…`.
struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Find all mistakes in files, and run nothing.",
    discussion: """
      It says as well with which shell and options the scripts run. Mistakes are printed as compilers print them, so that editors find their lines. There is a \
      warning, and no mistake, where a value gets into the program of a second shell: sh -c "ls ${{ … \
      }}", eval; and where a condition looks for a file with ‘*’ in its name.

      EXAMPLES:
        workflow check release.yml
        workflow check *.yml && git commit
        generate-steps | workflow check /dev/stdin
      """
  )

  @Argument(
    help: "Files with workflows. (default: workflow.yml)",
    completion: .file(extensions: ["yml", "yaml"])
  )
  var files: [String] = []

  func run() async throws {
    var isWrong = false
    for file in files.isEmpty ? [try WorkflowSource.defaultPath()] : files {
      do {
        let workflow = try WorkflowSource(file).workflow
        let steps = workflow.steps.count.counted("step")
        try StandardStream.output.send("\(file): \(workflow.name), \(steps), no mistakes\n")
        do throws(RunError) {
          try EnvironmentFile.variables(
            for: workflow,
            in: URL(filePath: file).deletingLastPathComponent().relativePath
          )
        } catch {
          try StandardStream.error.send("\(file): warning: \(error)\n")
        }
        for line in await scriptLines(of: workflow) { try StandardStream.output.send("\(line)") }
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

  /// How the scripts of a workflow are run, a line for each shell.
  private func scriptLines(of workflow: Workflow) async -> [String] {
    let scripts = workflow.steps.filter(\.hasScript)
    let shells = Dictionary(grouping: scripts) { $0.shell ?? .standard }
    var lines: [(first: Int, text: String)] = []
    for (shell, steps) in shells {
      let count = Set(steps.map(\.base)).count.counted("step")
      var hasPipefail = false
      var note = ""
      if case .posix(let program) = shell {
        hasPipefail = await ShellOptions.hasPipefail(program)
        note = hasPipefail ? "" : "; a pipeline fails only if its last command does"
        if await !ShellOptions.isThere(program) { note = ", which isn't on this machine" }
      }
      let words = shell.words(hasPipefail: hasPipefail).joined(separator: " ")
      lines.append((steps[0].line, "  scripts of \(count) run with ‘\(words)’\(note)\n"))
    }
    return lines.sorted { $0.first < $1.first }.map(\.text)
  }

  /// What may be meant, and is more often a mistake.
  private func warnings(of workflow: Workflow, in file: String) -> [String] {
    // Once for all combinations of a matrix.
    var seen: Set<Int> = []
    return workflow.steps.filter { seen.insert($0.line).inserted }.flatMap { step in
      (secondReaders(of: step) + patterns(of: step) + interpreters(of: step)).map {
        "\(file):\(step.line): warning: ‘\(step.base)’ \($0)\n"
      }
    }
  }

  private func secondReaders(of step: Step) -> [String] {
    [step.command, step.rollback].compactMap { $0?.secondReader }.map { reader in
      "puts a value into a program that ‘\(reader)’ reads, so that commands in the value run; give it "
        + "as an argument or a variable"
    }
  }

  private func interpreters(of step: Step) -> [String] {
    [step.command, step.rollback].compactMap { $0?.text }.filter { $0.hasPrefix("#!") }.map {
      script in
      let line = script.prefix { !$0.isNewline }
      return
        "has a script with the first line ‘\(line)’, which is a comment for the shell; name the "
        + "interpreter as ‘shell’, like ‘shell: [python3, -c]’"
    }
  }

  private func patterns(of step: Step) -> [String] {
    (step.when + step.require).flatMap(\.paths).filter { $0.contains("*") }.map { path in
      "looks for a file with ‘*’ in its name, ‘\(path)’: patterns aren't expanded; name the files, or "
        + "the folder that has them"
    }
  }
}

extension StepCondition {
  /// The paths that it looks at, as the file has them.
  fileprivate var paths: [String] {
    switch self {
    case .exists(let paths), .missing(let paths): paths.map(\.text)
    case .newer(let inputs, let outputs): (inputs + outputs).map(\.text)
    case .environment, .reachable, .freeDisk, .outcome: []
    }
  }
}
