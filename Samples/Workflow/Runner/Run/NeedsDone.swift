import AdvancedOperations
import WorkflowDocument

/// Holds when all that a step needs has succeeded, or was skipped.
struct NeedsDone: ImmediateCondition {
  /// The first of its needs that isn't done; nil if all are.
  let open: @Sendable () -> NeedNotDone?

  var name: String { "needs" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    open().map { .failed($0) } ?? .satisfied
  }
}

/// Why a step didn't run: one that it needs isn't done.
struct NeedNotDone: Error, Equatable, CustomStringConvertible {
  /// The step that it comes down to.
  let root: String
  let outcome: OutcomeExpression.Outcome

  var description: String { "not run, because ‘\(root)’ \(outcome.words)" }
}
