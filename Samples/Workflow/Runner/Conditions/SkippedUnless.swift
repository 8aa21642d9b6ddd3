import AdvancedOperations

/// A condition of a step's `when`: the step is skipped where another step would fail.
///
/// A condition that can't be looked at fails the step as well here.
struct SkippedUnless: OperationCondition {
  let condition: any OperationCondition

  var name: String { condition.name }

  func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    condition.immediateResult(for: operation).map(Self.skipping)
  }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    Self.skipping(await condition.evaluate(for: operation))
  }

  private static func skipping(_ result: OperationConditionResult) -> OperationConditionResult {
    switch result {
    case .failed(let problem as ConditionProblem): .skipped(reason: problem.description)
    case .satisfied, .failed, .skipped: result
    }
  }
}
