import ArgumentParser
import Foundation
import Testing

@testable import workflow

@Suite struct `The help` {
  private static let commands =
    [WorkflowCommand.configuration]
    + WorkflowCommand.configuration.subcommands.map { $0.configuration }

  /// A line that is too long goes on in column 1, under the examples.
  @Test func `has examples that fit on a terminal of 80 columns`() {
    for command in Self.commands {
      for line in command.discussion.split(separator: "\n") where line.hasPrefix(" ") {
        #expect(line.count <= 80, "\(command.commandName ?? ""): \(line)")
      }
    }
  }

  @Test func `names the page with all keys of a file, which is there`() {
    let page = "Samples/Workflow/Keys.md"
    #expect(WorkflowCommand.configuration.discussion.contains(page))
    let package = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../..").standardizedFileURL
    let path = package.appending(path: page).path(percentEncoded: false)
    #expect(FileManager.default.fileExists(atPath: path))
  }
}
