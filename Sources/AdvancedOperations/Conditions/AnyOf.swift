public import CoreOperations

/// A condition that is satisfied if at least one of several conditions is satisfied.
///
/// The conditions are evaluated in order, up to the first one that is satisfied. If no condition is
/// satisfied, `AnyOf` fails with all failures, or skips the operation if no condition failed. The
/// prerequisites of all conditions run before the first condition is evaluated. `AnyOf` without conditions
/// fails.
///
/// Immediate conditions are evaluated again when the operation starts. If the satisfied condition isn't
/// satisfied any more, the operation fails, unless an asynchronous condition was satisfied before.
///
/// Conditions can be nested on up to 500 levels. A chain of `||` is one level.
///
/// ```swift
/// operation.addCondition(onWiFi || BlockCondition("user insists") { await dialog.answer })
/// ```
public struct AnyOf: OperationCondition {
  /// An error that reports that none of the conditions is satisfied.
  public struct NoneHolds: ConditionFailures, CustomStringConvertible {
    /// The failures of the conditions, in the order of the conditions.
    public var failures: [OperationConditionError]

    /// The failures, one per line.
    public var description: String { OperationConditionError.text(of: self) }
  }

  let parts: ConditionParts

  /// Creates a condition that is satisfied if at least one of the given conditions is satisfied.
  public init(_ conditions: [any OperationCondition]) { parts = ConditionParts(.any, conditions) }

  fileprivate init(parts: ConditionParts) { self.parts = parts }

  /// The names of the conditions, joined by “or”; the end of a very long name is left out.
  public var name: String { parts.name }

  /// Returns the prerequisite of the conditions; a group of prerequisites if several conditions
  /// have one.
  public func dependency(for operation: AdvancedOperation) -> Operation? {
    parts.dependency(for: operation)
  }

  /// Returns the answer, or nil if an asynchronous condition has to be evaluated first.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.immediateResult(for: operation)
  }

  /// Evaluates the conditions in order, up to the first one that is satisfied.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await parts.evaluate(for: operation)
  }
}

extension AnyOf: CompoundCondition {}

/// Returns a condition that is satisfied if at least one of both conditions is satisfied.
///
/// The second condition is evaluated only if the first condition isn't satisfied.
public func || (a: any OperationCondition, b: any OperationCondition) -> AnyOf {
  AnyOf(parts: ConditionParts(.any, joining: a, b))
}
