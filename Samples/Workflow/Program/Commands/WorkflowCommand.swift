import ArgumentParser
import Foundation
import TerminalSupport

/// `workflow`: runs guarded commands from a file.
@main struct WorkflowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workflow",
    abstract: "Runs guarded commands from a file, and loses nothing.",
    discussion: """
      A workflow is a YAML file of steps: commands, what they need, what has to hold for them, how \
      often they are tried. What has ended well isn't run again, even if the machine went down in \
      between; what was made of something that was undone is.

      EXAMPLES:
        workflow run release.yml
            Run it. Ctrl-C ends it gracefully, a second one immediately.
        workflow resume last
            Go on with the newest run where it ended.
        workflow check release.yml
            Find every mistake without running anything.
        workflow run release.yml --only test --keep-going
            Run one step with what it needs, and don't stop at the first failure.
        workflow explain last publish
            Say why a step doesn't run, or why it failed; from another terminal, too.
        workflow log last test@linux --follow
            Show what a step prints.
        workflow simulate release.yml --workers 1,2,4
            Say what more workers would be good for.

      A FILE:
        name: hello
        steps:
          - id: build
            command: make
            retry: 2
          - id: test
            needs: build
            command: make test
            timeout: 5m

      All keys of a file, with what they take: Samples/Workflow/Keys.md of the package, and for \
      editors Samples/Workflow/workflow.schema.json.

      EXIT STATUS: 0 when all went well, 1 when steps failed, 2 when nothing ran because the file, \
      the run or its journal is not what it should be, 64 when the arguments are wrong, 130 when \
      ended with Ctrl-C, 143 by SIGTERM, 131 by SIGQUIT, which kills the steps immediately, 129 when \
      the terminal was closed. Colours can be switched off with NO_COLOR.
      """,
    version: "1.0.0",
    subcommands: [
      RunCommand.self, ResumeCommand.self, CheckCommand.self, ListCommand.self, RunsCommand.self,
      PruneCommand.self, LogCommand.self, ExplainCommand.self, SimulateCommand.self,
      ImportCommand.self,
    ]
  )

  /// Refuses a first word that is no command: it would be taken for an argument too many.
  private static func checkCommandName() throws {
    let words = CommandLine.arguments.dropFirst()
    // “help nope” would be answered as “help” is.
    guard let name = words.first == "help" ? words.dropFirst().first : words.first,
      !name.hasPrefix("-")
    else { return }
    let names = configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
    if names.contains(name) { return }
    let isFile = FileManager.default.fileExists(atPath: name)
    let near = isFile ? "run \(name)" : Nearest.name(to: name, among: names)
    let hint = near.map { "; did you mean “workflow \($0)”?" } ?? "."
    throw ValidationError("There is no command “\(name)”\(hint)")
  }

  /// Refuses a value for a flag that takes none: it is meant for a parameter of that name.
  private static func checkFlags() throws {
    for word in CommandLine.arguments.dropFirst().prefix(while: { $0 != "--" }) {
      for flag in ["--version=", "--help="] where word.hasPrefix(flag) {
        throw ValidationError("Values for parameters are written NAME=VALUE: \(word.dropFirst(2))")
      }
    }
  }

  /// Refuses a current folder that was removed, in which no path leads anywhere.
  private static func checkFolder() throws(Complaint) {
    if let path = getcwd(nil, 0) { return free(path) }
    let reason = String(cString: strerror(errno)).lowercased()
    throw Complaint(
      .mistakes,
      "the folder that you are in can't be used: \(reason); change to another one, as with “cd ..”"
    )
  }

  /// Runs what the command line says, and ends with its exit status.
  ///
  /// It does what its default does, but writes through `TerminalText`: a message about an argument
  /// quotes it.
  static func main() async {
    SignalWatch.endAtQuit()
    StandardStream.openMissing()
    do {
      try checkCommandName()
      try checkFlags()
      var command = try parseAsRoot()
      try checkFolder()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      if let complaint = Complaint(error) {
        try? StandardStream.error.send(complaint.text)
        Foundation.exit(complaint.status.rawValue)
      }
      let code = exitCode(for: error)
      let message = fullMessage(for: error)
      let stream = code.isSuccess ? StandardStream.output : StandardStream.error
      if !message.isEmpty { try? stream.send("\(message)\n") }
      Foundation.exit(code.rawValue)
    }
  }
}
