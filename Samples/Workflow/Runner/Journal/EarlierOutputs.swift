import WorkflowDocument

/// What steps gave that were up to date, from the runs that made what they are up to date with.
///
/// A step that isn't run because its files are there gives later steps what it gave when it made them.
struct EarlierOutputs {
  /// How many earlier runs are looked at.
  private static let runLimit = 20

  /// By the ids of steps; only of those that gave all that they declare by now.
  private var outputs: [String: [String: String]] = [:]

  /// Reads the journals of the newest runs, if there are steps that need it.
  ///
  /// - Parameters:
  ///   - steps: The steps of the workflow that run.
  ///   - workflow: The name of the workflow.
  ///   - current: The run that is about to begin.
  init(of steps: [Step], in workflow: String, before current: RunFolder) {
    let wanted = Dictionary(
      steps.filter { $0.hasFileGuard && !$0.outputs.isEmpty }.map { ($0.id, $0.outputs) }
    ) { first, _ in first }
    guard !wanted.isEmpty, let runs = try? RunFolder.all(in: current.absolutePath.folder) else {
      return
    }
    let end = RunFolder.nameEnd(of: workflow)
    let earlier = runs.reversed().lazy.filter { $0.name != current.name && $0.name.contains(end) }
    for run in earlier.prefix(Self.runLimit) {
      guard let contents = try? JournalFile.contents(of: run.journal),
        contents.header.workflow == workflow
      else { continue }
      for (step, given) in Self.outputs(in: contents.records) where outputs[step] == nil {
        if let names = wanted[step], names.allSatisfy({ given[$0] != nil }) {
          outputs[step] = given
        }
      }
      if outputs.count == wanted.count { return }
    }
  }

  subscript(step: String) -> [String: String]? { outputs[step] }

  /// What the steps of a run gave that weren't undone.
  private static func outputs(in records: [JournalRecord]) -> [String: [String: String]] {
    records.reduce(into: [:]) { outputs, record in
      switch record {
      case .ended(let step, let end) where !end.outputs.isEmpty: outputs[step] = end.outputs
      case .rollbackBegun(let step), .rolledBack(let step): outputs[step] = nil
      default: break
      }
    }
  }
}

extension Step {
  /// Whether files tell that it needn't run: `when: {missing: …}` or `when: {newer: …}`.
  var hasFileGuard: Bool { when.contains(where: \.isFileGuard) }
}

extension StepCondition {
  /// Whether it doesn't hold when files are there, or are up to date.
  var isFileGuard: Bool {
    switch self {
    case .missing, .newer: true
    case .exists, .environment, .reachable, .freeDisk, .outcome: false
    }
  }
}
