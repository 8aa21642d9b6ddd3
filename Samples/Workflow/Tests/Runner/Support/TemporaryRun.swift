import Foundation
import Synchronization
import WorkflowDocument

@testable import WorkflowRunner

/// A folder of a test's own, with the runs of a workflow in it; gone at the end of the test.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "workflow-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// A folder for a new run.
  func run(of name: String = "test") throws -> RunFolder {
    try RunFolder.create(of: name, in: path + "/runs", file: "steps: []\n")
  }

  func text(_ name: String) throws -> String {
    try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
  }

  func lines(_ name: String) throws -> [String] {
    guard FileManager.default.fileExists(atPath: "\(path)/\(name)") else { return [] }
    return try text(name).split(separator: "\n").map(String.init)
  }

  func write(_ text: String, to name: String) throws {
    try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
  }
}

/// Keeps events in their order.
final class Events: Sendable {
  private let state = Mutex<[RunEvent]>([])

  var all: [RunEvent] { state.withLock { $0 } }

  func add(_ event: RunEvent) { state.withLock { $0.append(event) } }

  /// How the steps ended, by name.
  var ends: [String: StepEnd] {
    var ends: [String: StepEnd] = [:]
    for case .ended(let step, let end) in all.map(\.kind) { ends[step] = end }
    return ends
  }

  /// What the steps printed.
  var lines: [String] {
    all.compactMap { if case .printed(_, let line) = $0.kind { line } else { nil } }
  }

  /// The names of the steps whose attempts began, in order.
  var started: [String] {
    all.compactMap { if case .started(let step, _, _) = $0.kind { step } else { nil } }
  }

  /// Some events in a few words, in order: “build started”, “build failed”.
  var words: [String] {
    all.compactMap { event in
      switch event.kind {
      case .started(let step, let attempt, _): "\(step) started \(attempt)"
      case .ended(let step, let end): "\(step) \(end.outcome.rawValue)"
      case .rollingBack(let step): "\(step) rolling back"
      case .rolledBack(let step, nil): "\(step) rolled back"
      case .rolledBack(let step, _?): "\(step) not rolled back"
      case .retrying(let step, let attempt, let delay, _):
        "\(step) retries \(attempt) \(delay.words)"
      case .cancelling(let reason): "cancelling \(reason)"
      case .waiting(let step, let text): "\(step) waits for \(text)"
      case .notice(let step, let text): "\(step) notice \(text)"
      case .runStarted, .printed, .runEnded: nil
      }
    }
  }
}

extension Step {
  /// A step that runs a line in a shell.
  init(
    _ id: String,
    _ line: String = "true",
    needs: [String] = [],
    _ change: (inout Step) -> Void = { _ in }
  ) {
    self.init(id: id, command: .shell(Template(text: line)))
    self.needs = needs
    change(&self)
  }
}

extension Workflow {
  init(_ steps: [Step], resources: [String: ResourceAmount] = [:]) {
    self.init(name: "test", resources: resources, steps: steps)
  }
}
