/// How far a step of an order has come, as the store knows it.
public struct StepRecord: Hashable, Codable, Sendable {
  /// What there is of the step.
  public enum State: String, Hashable, Codable, Sendable, CaseIterable {
    /// It may have had an effect; whether it did isn't known.
    case begun

    /// It has succeeded, and its value is recorded.
    case done

    /// Its effect has been taken back, or can't come any more.
    case undone
  }

  /// ``OrderStep/key``.
  public var key: String

  /// What there is of it.
  public var state: State

  /// Creates a record.
  public init(key: String, state: State) {
    self.key = key
    self.state = state
  }
}
