import ArgumentParser
import Foundation
import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// `workflow log RUN STEP`.
struct LogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Show what a step printed, on both streams.",
    discussion: """
      On a terminal without what would move its cursor or change its colours; into a pipe or a file \
      as it was printed.

      EXAMPLES:
        workflow log last publish
        workflow log last test@linux --follow
            Go on with what it prints until it has ended.
        workflow log last build > build.log
      """
  )

  @Argument(help: "The run: its name, a part of it, or last.")
  var runName: String

  @Argument(help: "The step.")
  var step: String

  @Flag(name: .shortAndLong, help: "Show what is printed until the step has ended.")
  var follow = false

  @OptionGroup var folder: RunsFolderOption

  func run() async throws {
    let record = try folder.catalog.run(runName)
    var log = FollowedLog(path: record.logFile(of: step))
    if !follow, log.exists { return try log.show(toEnd: true) }
    let workflow = record.workflow()
    let recorded = record.explanation(workflow)
    let steps = workflow?.steps.map(\.id) ?? recorded.steps
    guard steps.contains(step) || recorded.steps.contains(step) else {
      let combinations = workflow?.steps.filter { $0.base == step }.map(\.id) ?? []
      if combinations.isEmpty { throw StepNames.unknown(step, in: steps) }
      throw Complaint(
        .usage,
        "“\(step)” has a log for each combination of its matrix: "
          + combinations.prefix(10).joined(separator: ", ")
      )
    }
    if follow { return try await log.follow(step, of: record) }
    throw Complaint(.failure, "there is no log. \(reason(recorded, record))")
  }

  /// Why it has printed nothing; of a run that goes on, its program knows.
  private func reason(_ recorded: RecordedExplanation, _ record: RunRecord) -> String {
    let answer = record.isRunning ? ExplainSocket.ask(step, in: record.path) : nil
    if let answer = answer?.trimmingCharacters(in: .newlines), !answer.isEmpty { return answer }
    return recorded.text(of: step) ?? "“\(step)” hasn't begun"
  }
}

/// A log of which more and more is shown.
private struct FollowedLog {
  let path: String
  private var offset: UInt64 = 0
  /// The beginning of a line whose end isn't there yet.
  private var rest = Data()

  init(path: String) { self.path = path }

  var exists: Bool { LogFile(path: path).exists }

  /// Shows what has come since.
  mutating func show(toEnd: Bool) throws {
    let stream = StandardStream.output
    guard let handle = FileHandle(forReadingAtPath: path) else { return }
    defer { try? handle.close() }
    try handle.seek(toOffset: offset)
    while let data = try handle.read(upToCount: 1 << 20), !data.isEmpty {
      offset += UInt64(data.count)
      if stream.isTerminal {
        rest += data
        let end = rest.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.startIndex
        try sendFiltered(rest[..<end])
        rest = Data(rest[end...])
      } else {
        try stream.send(data)
      }
    }
    if toEnd, !rest.isEmpty {
      try sendFiltered(rest)
      try stream.send("\n")
      rest = Data()
    }
  }

  private func sendFiltered(_ data: Data) throws {
    let text = String(decoding: data, as: UTF8.self).withoutEscapeSequences
    try StandardStream.output.send("\(text)")
  }

  mutating func follow(_ step: String, of record: RunRecord) async throws {
    var hasSaid = false
    while true {
      // Asked before it is read, so that nothing is missed.
      let isOver = !record.isRunning || record.hasEnded(step)
      try show(toEnd: isOver)
      if isOver { break }
      if !exists, !hasSaid {
        hasSaid = true
        try StandardStream.error.send("“\(step)” hasn't begun; its log follows when it does\n")
      }
      try await Task.sleep(for: .milliseconds(200))
    }
    if !exists {
      let recorded = record.explanation(record.workflow())
      let reason = recorded.text(of: step) ?? "“\(step)” hasn't begun"
      throw Complaint(.failure, "there is no log. \(reason)")
    }
    if record.state == .interrupted, !record.hasEnded(step) {
      throw Complaint(
        .failure,
        "the program that ran “\(step)” has ended, and the step hadn't: "
          + "“workflow resume \(record.name)” continues"
      )
    }
  }
}
