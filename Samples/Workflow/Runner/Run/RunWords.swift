import AdvancedOperations
import WorkflowDocument

/// What the framework knows of an operation, in the words of this program.
enum RunWords {
  /// How a step ended; and the step that it comes down to, if it didn't run because of that one.
  static func end(
    of operation: AdvancedOperation,
    _ known: RunState.StepState,
    deadline: RunDeadline? = nil,
    now: Duration
  ) -> (StepEnd, root: NeedNotDone?) {
    // A cancel that came too late undoes nothing.
    if let success = known.success { return (success, nil) }
    var end = StepEnd(
      outcome: .failed,
      attempts: known.begin == nil ? 0 : known.attempts,
      duration: known.duration(now: now),
      queued: known.queuedTime,
      node: known.node
    )
    switch operation.outcome {
    case .succeeded, nil: end.outcome = .succeeded
    case .skipped(let reason):
      end.outcome = .skipped
      end.reason = reason.oneLine
    case .cancelled(let failure):
      end.outcome = .cancelled
      let (reason, root) = reason(
        ofCancel: failure,
        hasBegun: known.begin != nil,
        deadline
      )
      end.reason = reason
      return (end, root)
    case .failed(let failure):
      if let root = failure.first(NeedNotDone.self) {
        end.outcome = .cancelled
        end.reason = "\(root)"
        return (end, root)
      }
      end.reason = reason(of: failure)
      if known.attempts > 1, known.begin != nil {
        end.reason = (end.reason ?? "failed") + " (after \(known.attempts) attempts)"
      }
    }
    return (end, nil)
  }

  private static func reason(
    ofCancel failure: OperationFailure,
    hasBegun: Bool,
    _ deadline: RunDeadline?
  ) -> (String, NeedNotDone?) {
    if let given = failure.first(StepGivenUp.self) {
      let root = NeedNotDone(root: given.failed, outcome: .failed)
      return ("\(root)", root)
    }
    var reason = failure.first(RunCancelled.self)?.reason
    // Only the group of the run has a time limit that cancels: its deadline.
    if reason == nil, failure.isTimeout { reason = deadline?.reason }
    let begin = hasBegun ? "cancelled" : "not run"
    return (reason.map { "\(begin): \($0)" } ?? begin, nil)
  }

  /// What to say of steps that were to be undone when the run was killed; nil if there are none.
  static func notUndone(_ steps: [String]) -> String? {
    if steps.isEmpty { return nil }
    let names = steps.prefix(10).joined(separator: ", ")
    let more = steps.count > 10 ? " and \(steps.count - 10) more" : ""
    let verb = steps.count == 1 ? "was" : "were"
    return "\(names)\(more) \(verb) not undone, because the run was killed: “workflow resume” "
      + "continues with their results, and undoes them if that run fails or is ended by one signal"
  }

  /// Why an attempt failed, on one line.
  static func reason(of error: any Error) -> String {
    switch error {
    case let timeout as OperationTimeout: "took longer than \(timeout.duration.words)"
    case let failure as OperationFailure:
      failure.elements.last.map { reason(of: $0) } ?? "cancelled"
    case let condition as OperationConditionError: reason(of: condition.underlying)
    case let journal as OperationJournalError: reason(of: journal.underlying)
    case is CancellationError: "cancelled"
    default: sentence("\(error)".oneLine)
    }
  }

  /// Why a step failed: what its last attempt says.
  static func reason(of failure: OperationFailure) -> String {
    // A time limit counts more than what the command said when it was ended.
    let last = failure.elements.last.map { $0.attempt }
    let ofLast = failure.elements.filter { $0.attempt == last }
    let element = ofLast.first { $0.error is OperationTimeout } ?? ofLast.last
    return element.map { reason(of: $0) } ?? "failed"
  }

  private static func reason(of element: OperationFailure.Element) -> String {
    if case .condition(let name)? = element.origin.path.first {
      return "‘\(name)’: \(reason(of: element.error))"
    }
    return reason(of: element.error)
  }

  /// Without a full stop, because it becomes a part of a line.
  private static func sentence(_ text: String) -> String {
    text.hasSuffix(".") ? String(text.dropLast()) : text
  }
}

extension OperationFailure.Element {
  /// The number of the attempt that it is an error of; 0 without attempts.
  fileprivate var attempt: Int {
    if case .attempt(let number)? = origin.path.first { number } else { 0 }
  }
}
