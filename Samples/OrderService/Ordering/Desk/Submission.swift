/// What became of a request for an order.
public struct Submission: Hashable, Sendable {
  /// The order with the request's key.
  public var order: Order

  /// Whether the request made it; false when it was a repetition of one that did.
  public var isNew: Bool

  /// Creates a result.
  public init(order: Order, isNew: Bool) {
    self.order = order
    self.isNew = isNew
  }
}
