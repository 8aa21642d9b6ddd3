import ServiceSupport

/// A request of an order has failed, and is repeated.
public struct OrderRetry: Hashable, Sendable {
  /// What is repeated: the key of a step, or what undoes one, such as `refund`.
  public var step: String

  /// The number of the attempt that follows, 2 for the first repetition.
  public var attempt: Int

  /// How long it waits before that.
  public var delay: Duration

  /// Why the last attempt failed.
  public var reason: String

  /// One sentence for people: “The refund is repeated, attempt 3: …”.
  public var text: String {
    "The \(step) is repeated, attempt \(attempt): \(reason.oneLine(atMost: 400).withoutFullStop)."
  }
}
