import Foundation
import WorkflowDocument
import WorkflowRunner

/// What a run's folder says of it, to those who didn't run it.
struct RunRecord {
  enum State: String {
    case running, succeeded, failed, cancelled, interrupted
  }

  /// What can be said of a run in a line.
  struct Digest {
    var workflow: String?
    var steps: Int?
    /// How many steps have ended well.
    var done = 0
    var duration: Duration?
    var end: RunEnd?
    var state: State
  }

  /// The path of the folder.
  let path: String

  var name: String { URL(filePath: path).lastPathComponent }
  var exists: Bool { FileManager.default.fileExists(atPath: path) }

  /// The file of the workflow as it was.
  var workflowFile: String { "\(path)/workflow.yml" }

  func logFile(of step: String) -> String { RunFolder(path).logFile(of: step) }

  /// When it began, from its name: `2026-11-22 17:45:01`.
  var when: String? {
    let parts = name.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].count == 4, parts[3].count == 6, Int(parts[3]) != nil else {
      return nil
    }
    let time = Array(parts[3])
    return "\(parts[0])-\(parts[1])-\(parts[2]) "
      + "\(String(time[0..<2])):\(String(time[2..<4])):\(String(time[4..<6]))"
  }

  /// The workflow as it was run; nil if it can't be read.
  func workflow() -> Workflow? {
    guard let text = try? String(contentsOfFile: workflowFile, encoding: .utf8) else { return nil }
    return try? WorkflowFile.workflow(from: text, name: name)
  }

  /// The events that the folder keeps; a torn last line is left out.
  func events() -> [RunEvent] {
    guard let data = FileManager.default.contents(atPath: "\(path)/events.jsonl") else { return [] }
    let decoder = JSONDecoder()
    return data.split(separator: UInt8(ascii: "\n")).compactMap {
      try? decoder.decode(RunEvent.self, from: Data($0))
    }
  }

  /// Whether a program runs it.
  var isRunning: Bool { ExplainSocket.isAnswered(in: path) }

  func digest() -> Digest {
    // Before the events are read, so that one that ends meanwhile isn't called interrupted.
    let isRunning = isRunning
    var digest = Digest(state: isRunning ? .running : .interrupted)
    var good: Set<String> = []
    for event in events() {
      digest.duration = event.time
      switch event.kind {
      case .runStarted(_, let workflow, let steps, _):
        (digest.workflow, digest.steps, digest.end) = (workflow, steps, nil)
      case .ended(let step, let end):
        if [.succeeded, .skipped].contains(end.outcome) { good.insert(step) }
      case .runEnded(let end): digest.end = end
      default: break
      }
    }
    digest.done = good.count
    if let end = digest.end {
      digest.done = end.succeeded + end.skipped
      digest.duration = end.duration
      digest.state = Self.state(of: end)
    }
    return digest
  }

  /// Whether a step has ended since the run began, or was resumed.
  func hasEnded(_ step: String) -> Bool {
    events().reduce(false) { hasEnded, event in
      switch event.kind {
      case .runStarted: false
      case .ended(step, _): true
      default: hasEnded
      }
    }
  }

  static func state(of end: RunEnd) -> State {
    if end.failed > 0 { return .failed }
    return end.cancelled > 0 ? .cancelled : .succeeded
  }

  /// How long its steps took that succeeded.
  func durations() -> [String: Duration] {
    events().reduce(into: [:]) { durations, event in
      if case .ended(let step, let end) = event.kind, end.outcome == .succeeded, !end.isFromJournal
      {
        durations[step] = end.duration
      }
    }
  }
}

extension RunCatalog {
  /// How long steps took the last time that they succeeded, in the newest runs of a workflow.
  func durations(of workflow: String) -> [String: Duration] {
    var durations: [String: Duration] = [:]
    var looked = 0
    for name in names.reversed() {
      let record = record(name)
      // The name of a run ends with that of its workflow.
      guard name.hasSuffix(workflow) || record.digest().workflow == workflow else { continue }
      durations.merge(record.durations()) { newer, _ in newer }
      looked += 1
      if looked == 3 { break }
    }
    return durations
  }
}
