import AdvancedOperations
import WorkflowDocument

/// Holds when other steps ended in some way: `outcome: "failed(test) || skipped(build)"`.
struct StepOutcomes: ImmediateCondition {
  let expression: OutcomeExpression
  /// How a step ended; nil if it hasn't.
  let outcome: @Sendable (String) -> OutcomeExpression.Outcome?

  var name: String { "outcome" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    if expression.holds(outcome) { return .satisfied }
    let ends = expression.steps.map { "‘\($0)’ \(outcome($0)?.words ?? "has not ended")" }
    return .failed(ConditionProblem("the outcomes are different: \(ends.joined(separator: ", "))"))
  }
}

extension OutcomeExpression.Outcome {
  /// The end of a sentence that begins with the step.
  package var words: String {
    switch self {
    case .succeeded: "succeeded"
    case .failed: "failed"
    case .skipped: "was skipped"
    case .cancelled: "was not finished"
    }
  }
}
