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

  /// The name of the condition and its reason; of one that is made of others, the part that decided.
  public var description: String {
    guard let part = underlying as? OperationConditionError else {
      return "condition “\(condition)”: \(underlying)"
    }
    return "condition “\(condition)”, because of \(part)"
  }
}
