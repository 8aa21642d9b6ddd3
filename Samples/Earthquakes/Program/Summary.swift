import AdvancedOperations
import EarthquakeKit
import EarthquakeWorkflow
import TerminalSupport

/// What a run came to, in words and as an exit status.
struct Summary {
  /// 0 when all went well, 1 when something failed, what shells say of the signal when interrupted.
  let status: Int32

  /// What is good to know, a line each.
  let notices: [String]

  /// What went wrong, as a tree that names operations and conditions; `nil` if nothing did.
  let complaint: String?

  /// Sums up a workflow that is over.
  init(_ workflow: ImportWorkflow) {
    var notices = [Self.notice(of: workflow)].compactMap(\.self)
    if case .success(let path) = workflow.map?.result { notices.append("Drew the map \(path).") }
    self.notices = notices
    switch workflow.operation.outcome {
    case .succeeded, .skipped, nil:
      status = 0
      complaint = nil
    case .failed(let failure):
      status = 1
      complaint = "Error: not all steps succeeded.\n\(failure.indented)"
    case .cancelled(let failure):
      status = failure.first(Interruption.self)?.exitCode ?? 1
      let isStored = workflow.stored != nil
      complaint =
        "Cancelled: the database \(isStored ? "has the feed already" : "is as it was").\n"
        + failure.indented
    }
  }

  private static func notice(of workflow: ImportWorkflow) -> String? {
    if case .skipped(let reason) = workflow.store.outcome {
      return "Not stored, \(reason). --force stores it all the same."
    }
    return workflow.stored.map {
      "Stored \($0.inserted.counted("new event")), replaced \($0.updated.grouped), left "
        + "\($0.unchanged.grouped) as they were"
        + ($0.deleted == 0 ? "." : ", hid \($0.deleted.grouped) that the feed calls deleted.")
    }
  }
}

extension OperationFailure {
  fileprivate var indented: String {
    "\(self)".split(separator: "\n", omittingEmptySubsequences: false).map { "  \($0)" }
      .joined(separator: "\n")
  }
}
