import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowDocument

/// `workflow list`.
struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the workflows of a folder, with their parameters.",
    discussion: """
      Files that end with .yml or .yaml and have ‘steps’ are workflows. “workflow run” without a file \
      runs workflow.yml.

      EXAMPLES:
        workflow list
        workflow list ci
      """
  )

  @Argument(help: "The folder. (default: this one)", completion: .directory)
  var folder = "."

  func run() async throws {
    let names: [String]
    if let status = FileStatus(folder), !status.isFolder {
      throw Complaint(
        .usage,
        "“\(folder)” is a file: “workflow run \(folder) --dry-run” shows its steps"
      )
    }
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
        .filter { $0.hasSuffix(".yml") || $0.hasSuffix(".yaml") }.sorted()
    } catch {
      throw Complaint(
        .usage,
        "“\(folder)” can't be listed: \(FileReason.of(error, missing: "folder"))"
      )
    }
    var table = Table([
      ("file", .left), ("workflow", .left), ("steps", .right), ("parameters", .left),
    ])
    var count = 0
    for name in names {
      guard let row = try Self.row(name, at: folder == "." ? name : "\(folder)/\(name)") else {
        continue
      }
      table.add(row)
      count += 1
    }
    let stream = StandardStream.output
    if count == 0 {
      try stream.send("There are no workflows in this folder. “workflow --help” shows a file.\n")
      return
    }
    let environment = ProcessInfo.processInfo.environment
    let colour = stream.hasColour(environment)
    let width = stream.isTerminal ? stream.width(environment) - 1 : .max
    for line in table.lines(width: width) {
      try stream.send(line.terminalText(colour: colour) + "\n")
    }
  }

  /// What is said of a file; nil if it is no workflow.
  private static func row(_ name: String, at path: String) throws -> [StyledLine]? {
    // A pipe would be waited for.
    guard FileStatus(path)?.isFile == true, let bytes = try? InputFile.bytes(path) else {
      return nil
    }
    let file = StyledLine(name, .bold)
    do {
      let usual = URL(filePath: name).deletingPathExtension().lastPathComponent
      let workflow = try WorkflowFile.workflow(fromUTF8: bytes, name: usual)
      let parameters = workflow.parameters.sorted { $0.key < $1.key }
        .map { name, value in value.map { "\(name)=\($0)" } ?? name }
      return [
        file, StyledLine(workflow.name), StyledLine(workflow.steps.count.grouped),
        StyledLine(parameters.joined(separator: ", ")),
      ]
    } catch {
      // One that is meant to be one has steps.
      let isMeant = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        .contains { $0.hasPrefix("steps:") }
      return isMeant
        ? [
          file, StyledLine("–"), StyledLine("–"),
          StyledLine("has mistakes: workflow check \(path)", .red),
        ] : nil
    }
  }
}
