/// Why an order came to nothing: what is kept of an `OperationFailure` when it is written down.
public struct OrderFailure: Error, Hashable, Codable, Sendable, CustomStringConvertible {
  /// What kind of thing went wrong, for programs.
  public enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
    /// The customer, or somebody for the shop, cancelled the order.
    case cancelled

    /// There is not enough of an item.
    case outOfStock

    /// The provider refused the card.
    case declined

    /// The provider could not be reached in time, or went on failing.
    case providerUnavailable

    /// The parcel could not be sent.
    case notShipped

    /// Something else: the database, for instance.
    case other
  }

  /// What kind of thing went wrong.
  public var kind: Kind

  /// The step that failed, as ``OrderStep/key``; nil when it was none, as for a cancel.
  public var step: String?

  /// One line for the customer.
  public var reason: String

  /// The whole tree, as text of several lines: each error with its origin.
  public var tree: String

  /// Creates a failure.
  public init(kind: Kind, step: String?, reason: String, tree: String) {
    self.kind = kind
    self.step = step
    self.reason = reason
    self.tree = tree
  }

  /// The line for the customer.
  public var description: String { reason }
}
