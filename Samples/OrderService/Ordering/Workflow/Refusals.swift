import Synchronization

/// Decides when a refusal of what undoes something is the last word.
///
/// A provider that refuses a refund may be wrong for a while, as it may be with a charge: a proxy
/// answers in its place, or its books aren't up to date. A card isn't left charged for one such answer.
final class Refusals: Sendable {
  private struct State {
    var count = 0
    var isFinal = false
    var isLeaseLost = false
  }

  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: How many refusals in a row are the last word.
  init(limit: Int) { self.limit = limit }

  /// Whether nothing more is to be tried.
  var isFinal: Bool { state.withLock { $0.isFinal } }

  /// Whether another instance goes on with the order.
  var isLeaseLost: Bool { state.withLock { $0.isLeaseLost } }

  /// An attempt has failed; returns whether another one is to follow.
  func allowsAnother(after error: any Error) -> Bool {
    let isRefusal =
      switch error {
      case PaymentProviderError.refused, is StoreContradiction: true
      default: false
      }
    return state.withLock { state in
      state.count = isRefusal ? state.count + 1 : 0
      state.isLeaseLost = error is LeaseLost
      state.isFinal = error is RollbackHasBegun || state.isLeaseLost || state.count >= limit
      return !state.isFinal
    }
  }
}
