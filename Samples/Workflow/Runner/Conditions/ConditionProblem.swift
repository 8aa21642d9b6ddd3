/// A condition of a step does not hold: why, in one sentence without a full stop.
///
/// What keeps a condition from being looked at at all is another error.
public struct ConditionProblem: Error, Equatable, CustomStringConvertible {
  /// Why it doesn't hold.
  public var description: String

  /// Creates a problem.
  public init(_ description: String) { self.description = description }
}
