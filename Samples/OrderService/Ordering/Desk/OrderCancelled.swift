/// Somebody cancelled an order.
public struct OrderCancelled: Error, Hashable, Sendable, CustomStringConvertible {
  /// Why, for people.
  public var reason: String

  /// Creates the error.
  public init(reason: String) { self.reason = reason }

  /// The reason.
  public var description: String { reason }
}
