import Synchronization

/// Decides how often an action that undoes something is repeated, and whether it is.
///
/// A provider that refuses a refund may be wrong for a while: a proxy answers in its place, its books
/// aren't up to date, or the token of the service is wrong. Therefore a refund that was refused often is
/// repeated slowly, and never given up. A contradiction of the store doesn't end without a person.
final class Refusals: Sendable {
  private struct State {
    var refusals = 0
    var contradictions = 0
    var isFinal = false
    var isLeaseLost = false
  }

  private let limit: Int
  private let onOften: @Sendable (_ count: Int, _ reason: String) -> Void
  private let state = Mutex(State())

  /// Creates the decision about one action.
  ///
  /// - Parameters:
  ///   - limit: The number of refusals in a row that are many.
  ///   - onOften: Called when the provider has refused the action so often, without a lock.
  init(limit: Int, onOften: @escaping @Sendable (_ count: Int, _ reason: String) -> Void) {
    self.limit = limit
    self.onOften = onOften
  }

  /// Whether the action isn't repeated anymore.
  var isFinal: Bool { state.withLock { $0.isFinal } }

  /// Whether another instance works on the order.
  var isLeaseLost: Bool { state.withLock { $0.isLeaseLost } }

  /// Whether the provider has refused the action so often that it is repeated slowly.
  var areMany: Bool { state.withLock { $0.refusals >= limit } }

  /// An attempt has failed; returns whether another one is to follow.
  func allowsAnother(after error: any Error) -> Bool {
    var isRefused = false
    if case PaymentProviderError.refused = error { isRefused = true }
    let (isFinal, isOften) = state.withLock { state in
      state.refusals = isRefused ? state.refusals + 1 : 0
      state.contradictions = error is StoreContradiction ? state.contradictions + 1 : 0
      state.isLeaseLost = error is LeaseLost
      state.isFinal =
        error is RollbackHasBegun || state.isLeaseLost || state.contradictions >= limit
      return (state.isFinal, state.refusals == limit)
    }
    if isOften { onOften(limit, "\(error)") }
    return !isFinal
  }
}
