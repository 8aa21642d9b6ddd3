import ArgumentParser

/// `workflow`: runs guarded commands from a file.
@main struct WorkflowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "workflow",
    abstract: "Runs guarded commands from a file."
  )
}
