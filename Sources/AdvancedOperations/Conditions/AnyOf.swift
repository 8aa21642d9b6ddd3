public import CoreOperations

/// Holds when one of several conditions does: evaluates them in order, up to the first that holds.
///
/// When none holds it fails with every failure, or skips the operation when none of them failed.
/// Prerequisites of all conditions run before the first is evaluated. Without any condition it
/// fails.
///
/// Immediate conditions are evaluated again when the operation starts. If the satisfied one isn't
/// satisfied any more, the operation fails, unless an asynchronous condition was satisfied before.
///
/// Conditions may be in each other on up to 500 levels; a chain of `||` is one level.
///
/// ```swift
/// operation.addCondition(onWiFi || BlockCondition("user insists") { await dialog.answer })
/// ```
public struct AnyOf: OperationCondition {
  /// None of the conditions holds.
  public struct NoneHolds: ConditionFailures, CustomStringConvertible {
    /// Why not, in the order of the conditions that failed.
    public var failures: [OperationConditionError]

    /// The failures, a line each.
    public var description: String { OperationConditionError.text(of: self) }
  }

  let parts: ConditionParts

  /// Creates a condition that holds when one of others does.
  public init(_ conditions: [any OperationCondition]) { parts = ConditionParts(.any, conditions) }

  fileprivate init(parts: ConditionParts) { self.parts = parts }

  /// The names of the conditions, with “or” between them; the end of a very long one is left out.
  public var name: String { parts.name }

  /// The prerequisites of the conditions, as a group when there are several.
  public func dependency(for operation: AdvancedOperation) -> Operation? {
    parts.dependency(for: operation)
  }

  /// Known when no condition has to be waited for before the first that holds.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    parts.immediateResult(for: operation)
  }

  /// Satisfied by the first condition that holds.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await parts.evaluate(for: operation)
  }
}

extension AnyOf: CompoundCondition {}

/// Holds when one of both conditions does; the second is evaluated only if the first doesn't hold.
public func || (a: any OperationCondition, b: any OperationCondition) -> AnyOf {
  AnyOf(parts: ConditionParts(.any, joining: a, b))
}
