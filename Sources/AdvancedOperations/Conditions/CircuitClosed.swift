/// Holds unless a ``CircuitBreaker`` has opened its circuit.
///
/// Attaching it makes the breaker watch the operation: nothing else is needed.
///
/// ```swift
/// call.addCondition(CircuitClosed(breaker))
/// ```
///
/// When the circuit is half open, the first operation whose condition is evaluated becomes the
/// probe until it has ended, in whatever way; the condition fails for other operations meanwhile.
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

  /// Asks the breaker.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    breaker.admit(operation).map { .failed($0) } ?? .satisfied
  }
}
