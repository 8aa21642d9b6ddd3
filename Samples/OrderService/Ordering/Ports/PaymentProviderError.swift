/// Why a payment provider gave no answer that can be relied on.
public enum PaymentProviderError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There was no connection, or it ended before the answer; the request may have arrived.
  case noAnswer(String)

  /// The provider says that it can't do this now: a status of 500 or more, or too many requests. It may ask
  /// to wait for a time before the next request.
  case unavailable(String, retryAfter: Duration? = nil)

  /// The answer says something else than what was asked for, or nothing about it.
  case unconfirmed(String)

  /// The provider says that the request is wrong: a repetition would be so, too.
  case refused(String)

  /// Whether the provider has answered an order, and works therefore, whatever the answer is.
  static func isAnswer(_ error: any Error) -> Bool {
    switch error {
    case PaymentProviderError.unconfirmed, PaymentProviderError.refused: true
    default: false
    }
  }

  /// The delay before the next request that the provider asks for.
  var retryAfter: Duration? {
    if case .unavailable(_, let delay) = self { delay } else { nil }
  }

  /// One sentence.
  public var description: String {
    switch self {
    case .noAnswer(let reason): "The payment provider gave no answer: \(reason)"
    case .unavailable(let reason, _): "The payment provider is unavailable: \(reason)"
    case .unconfirmed(let reason): "The payment provider's answer confirms nothing: \(reason)"
    case .refused(let reason): "The payment provider refused the request: \(reason)"
    }
  }
}
