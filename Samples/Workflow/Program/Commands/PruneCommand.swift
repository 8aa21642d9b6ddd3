import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowRunner

/// `workflow prune`.
struct PruneCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune",
    abstract: "Remove the folders of old runs.",
    discussion: """
      Runs that succeeded are removed, with their logs, but for the newest ones. Those that failed, were \
      cancelled or interrupted could be resumed, and go with --unfinished only. A run that goes on, or of which processes do, stays.

      EXAMPLES:
        workflow prune
            Keep the newest 20 runs.
        workflow prune --keep 0 --older-than 30d --unfinished
            Remove all that are older than 30 days.
        workflow prune --dry-run
            Say what would be removed.
      """
  )

  @Option(help: ArgumentHelp("Keep so many of the newest runs.", valueName: "n"))
  var keep = 20

  @Option(
    help: ArgumentHelp("Remove only what began so long ago, or earlier.", valueName: "time"),
    transform: Duration.init(argument:)
  )
  var olderThan: Duration?

  @Flag(help: "Remove also runs that could be resumed.")
  var unfinished = false

  @Flag(help: "Say what would be removed, and remove nothing.")
  var dryRun = false

  @OptionGroup var folder: RunsFolderOption

  func validate() throws {
    if keep < 0 { throw ValidationError("--keep needs a number from 0, not \(keep).") }
  }

  func run() async throws {
    let catalog = folder.catalog
    let stream = StandardStream.output
    var (removed, unfinishedCount) = (0, 0)
    for name in catalog.names.dropLast(keep) {
      let record = catalog.record(name)
      // What has none may be somebody else's.
      guard record.hasJournal, isOld(record) else { continue }
      switch record.state {
      case .running: continue
      case .damaged:
        if !unfinished { continue }
      case .failed, .cancelled, .interrupted:
        unfinishedCount += 1
        if !unfinished { continue }
      case .succeeded: break
      }
      let leftovers = record.folder.leftoverSteps
      if !leftovers.isEmpty {
        let steps = leftovers.joined(separator: ", ")
        try stream.send(
          "\(name) stays, because its processes keep running (\(steps)); resume ends them\n"
        )
        continue
      }
      if !dryRun { try remove(record) }
      removed += 1
      try stream.send("\(dryRun ? "would remove" : "removed") \(name)\n")
    }
    if removed == 0 { try stream.send("There is nothing to remove in \(catalog.path).\n") }
    if !unfinished, unfinishedCount > 0 {
      let stay = unfinishedCount == 1 ? "stays" : "stay"
      let runs = unfinishedCount.counted("run")
      try stream.send("\(runs) that can be resumed \(stay); --unfinished removes them too\n")
    }
  }

  private func isOld(_ record: RunRecord) -> Bool {
    guard let age = olderThan else { return true }
    guard let begin = record.journal?.header.begin else { return false }
    return .seconds(Date().timeIntervalSince1970 - begin) >= age
  }

  private func remove(_ record: RunRecord) throws {
    do {
      try FileManager.default.removeItem(atPath: record.path)
    } catch {
      throw Complaint(
        .failure,
        "\(record.path) can't be removed: \(FileReason.of(error, missing: "folder"))"
      )
    }
  }
}
