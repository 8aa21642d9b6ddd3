/// Holds unless a ``CircuitBreaker`` has opened its circuit.
///
/// Attaching it makes the breaker watch the operation: nothing else is needed.
///
/// ```swift
/// call.addCondition(CircuitClosed(breaker))
/// ```
///
/// When the circuit is half open, the first operation that starts becomes the probe. The condition
/// fails for others until the probe has ended, or has run for a whole cooldown. An operation that
/// only waits for a slot or a claim isn't the probe: if another one tries when its turn comes, it
/// fails then.
///
/// The condition may be a part of others. `!CircuitClosed(breaker)` only asks, and never makes its
/// operation the probe; nor does a condition of your own that calls ``check(_:)``.
public struct CircuitClosed: ImmediateCondition {
  /// The circuit is open, or half open with another operation that tries.
  public struct Open: Error, Hashable, CustomStringConvertible {
    /// How long it stays open; nil when that depends on how another operation ends.
    public var remaining: Duration?
    /// Creates the error.
    public init(remaining: Duration?) { self.remaining = remaining }
    /// One sentence with the time.
    public var description: String {
      if let remaining { return "The circuit is open for another \(remaining.readable)." }
      return "The circuit was open, and another operation tries whether it can be closed."
    }
  }

  let breaker: CircuitBreaker

  /// Creates the condition.
  ///
  /// - Parameter breaker: Becomes an observer of the operation to which the condition is attached,
  ///   by itself or as a part of another condition.
  public init(_ breaker: CircuitBreaker) { self.breaker = breaker }

  /// “circuit closed”.
  public var name: String { "circuit closed" }

  /// Asks the breaker, and changes nothing.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    Self.result(breaker.refusal(of: operation))
  }

  /// Makes an operation that starts the probe, if the circuit needs one.
  func admit(_ operation: AdvancedOperation) -> OperationConditionResult {
    Self.result(breaker.admit(operation))
  }

  private static func result(_ refusal: Open?) -> OperationConditionResult {
    refusal.map { .failed($0) } ?? .satisfied
  }
}
