import AdvancedOperations

/// Holds when a variable is set, to a value if there is one: `env: TOKEN`, `env: {CI: "true"}`.
///
/// A variable without text counts as not set. Its value is a secret more often than not, and isn't
/// told.
struct EnvironmentVariable: ImmediateCondition {
  let variable: String
  /// What the variable has to be; nil for anything.
  let needed: ConditionText?
  let value: @Sendable () throws -> String?

  var name: String { "env" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      let given = try value()
      let value = given ?? ""
      if let needed = try needed?() {
        if value == needed { return .satisfied }
        return .failed(ConditionProblem("the variable \(variable) is not “\(needed)”"))
      }
      if !value.isEmpty { return .satisfied }
      return .failed(
        ConditionProblem("the variable \(variable) is \(given == nil ? "not set" : "empty")")
      )
    } catch {
      return .failed(error)
    }
  }
}
