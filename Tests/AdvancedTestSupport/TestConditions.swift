package import AdvancedOperations
import AdvancedOperationsTesting

/// What a condition says about an operation, in a world of its own.
package func evaluate(
  _ condition: any OperationCondition,
  for operation: AdvancedOperation
) async -> OperationConditionResult {
  do { return try SimulatedEnvironment(seed: 1).evaluate(condition, for: operation) } catch {
    return .failed(error)
  }
}

/// A condition that answers at once what a closure says.
package struct Immediate: ImmediateCondition {
  package let name: String
  private let answer: @Sendable (AdvancedOperation) -> OperationConditionResult

  package init(
    _ name: String = "immediate",
    _ answer: @escaping @Sendable (AdvancedOperation) -> OperationConditionResult = { _ in
      .satisfied
    }
  ) {
    self.name = name
    self.answer = answer
  }

  /// One that always answers the same.
  package init(_ name: String = "immediate", always result: OperationConditionResult) {
    self.init(name) { _ in result }
  }

  package func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    answer(operation)
  }
}

/// A condition that is asked in a task, and may bring a prerequisite.
package struct Asked: OperationCondition {
  package let name: String
  private let prerequisite: @Sendable (AdvancedOperation) -> AdvancedOperation?
  private let answer: @Sendable (AdvancedOperation) async -> OperationConditionResult

  package init(
    _ name: String = "asked",
    answer: @escaping @Sendable (AdvancedOperation) async -> OperationConditionResult
  ) {
    self.init(name, prerequisite: { _ in nil }, answer: answer)
  }

  package init(
    _ name: String = "asked",
    prerequisite: @escaping @Sendable (AdvancedOperation) -> AdvancedOperation?,
    answer: @escaping @Sendable (AdvancedOperation) async -> OperationConditionResult = { _ in
      .satisfied
    }
  ) {
    self.name = name
    self.prerequisite = prerequisite
    self.answer = answer
  }

  package func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    prerequisite(operation)
  }
  package func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await answer(operation)
  }
}

extension OperationConditionResult {
  package var errors: [any Error] {
    switch self {
    case .failed(let error): [error]
    case .satisfied, .skipped: []
    }
  }
}
