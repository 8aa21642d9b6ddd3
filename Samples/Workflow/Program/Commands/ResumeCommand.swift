import ArgumentParser
import Foundation
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

  @Flag(help: "Go on although the file was changed; what differs is said.")
  var acceptChanges = false

  @OptionGroup var folder: RunsFolderOption
  @OptionGroup(title: "How steps run") var running: RunOptions
  @OptionGroup(title: "How it is shown") var display: DisplayOptions
}
