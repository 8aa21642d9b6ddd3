/// Holds when one of several conditions does; asks them in order and stops at the first that does.
///
/// When none holds it fails with every failure, or is skipped when none of them failed. Without any
/// condition it fails.
///
/// ```swift
/// operation.addCondition(onWiFi || BlockCondition("user insists") { await dialog.answer })
/// ```
public struct AnyOf: OperationCondition {
  /// None of the conditions holds.
  public struct NoneHolds: Error, CustomStringConvertible {
    /// Why not, in the order of the conditions that failed.
    public var failures: [OperationConditionError]
    /// Creates the error.
    public init(failures: [OperationConditionError]) { self.failures = failures }
    /// The failures, a line each.
    public var description: String {
      failures.isEmpty
        ? "There is no condition that could hold."
        : "None of them holds:\n" + failures.map { "\($0)" }.joined(separator: "\n")
    }
  }

  let conditions: [any OperationCondition]

  /// Creates a condition that holds when one of others does.
  public init(_ conditions: [any OperationCondition]) { self.conditions = conditions }

  /// The names of the conditions, with “or” between them.
  public var name: String { conditions.combinedName("or", empty: "none of nothing") }

  /// Those of the conditions, as a group when there are several.
  public func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    conditions.combinedDependency(for: operation)
  }

  /// Known when no condition has to be waited for before the first that holds.
  public func verdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    verdict { $0.verdict(for: operation) }
  }

  func verdict(
    _ ask: (any OperationCondition) -> OperationConditionResult?
  ) -> OperationConditionResult? {
    var results: [OperationConditionResult] = []
    for condition in conditions {
      guard let result = ask(condition) else { return nil }
      if result.isSatisfied { return .satisfied }
      results.append(condition.named(result))
    }
    return Self.none(of: results)
  }

  /// Satisfied by the first condition that holds.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    var results: [OperationConditionResult] = []
    for condition in conditions {
      let result = await condition.answer(for: operation)
      if result.isSatisfied { return .satisfied }
      results.append(condition.named(result))
    }
    return Self.none(of: results)
  }

  private static func none(of results: [OperationConditionResult]) -> OperationConditionResult {
    var failures: [OperationConditionError] = []
    var reason: String?
    for result in results {
      switch result {
      case .satisfied: continue
      case .failed(let error):
        failures.append(
          error as? OperationConditionError
            ?? OperationConditionError(condition: "condition", underlying: error)
        )
      case .skipped(let why): reason = reason ?? why
      }
    }
    if let reason, failures.isEmpty { return .skipped(reason: reason) }
    return .failed(NoneHolds(failures: failures))
  }
}

extension AnyOf: CompoundCondition {
  var parts: [any OperationCondition] { conditions }
}

/// Either; asked in order, and the second only if the first doesn't hold.
public func || (a: any OperationCondition, b: any OperationCondition) -> AnyOf {
  AnyOf(((a as? AnyOf)?.conditions ?? [a]) + ((b as? AnyOf)?.conditions ?? [b]))
}
