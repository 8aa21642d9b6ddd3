/// A condition of an operation did not hold.
public struct OperationConditionError: Error, CustomStringConvertible {
  /// The name of the condition.
  public var condition: String
  /// What the condition gave as its reason.
  public var underlying: any Error

  /// Creates the error.
  public init(condition: String, underlying: any Error) {
    self.condition = condition
    self.underlying = underlying
  }

  /// The name of the condition and its reason.
  public var description: String { "condition “\(condition)”: \(underlying)" }
}
