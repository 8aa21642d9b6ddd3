import OrderWorkflow
import Synchronization

/// A payment provider that charges when a test says so.
final class StubPayments: PaymentProvider {
  private struct State {
    var charged: Set<String> = []
    var refunded: Set<String> = []
    var failures = 0
  }

  private let state = Mutex(State())
  private let gate = Gate()

  /// What was charged and not given back.
  var open: Set<String> { state.withLock { $0.charged.subtracting($0.refunded) } }

  /// So many of the next charges get no answer, and aren't made.
  func fail(_ count: Int) { state.withLock { $0.failures = count } }

  /// From now on, charges wait.
  func hold() { gate.close() }

  /// Charges go on.
  func release() { gate.open() }

  func charge(
    _ amount: Money,
    for order: OrderID,
    cardToken: String,
    key: String
  ) async throws -> ChargeStatus {
    await gate.pass()
    try Task.checkCancellation()
    return try state.withLock { state in
      if state.failures > 0 {
        state.failures -= 1
        throw PaymentProviderError.noAnswer("the connection was lost")
      }
      if state.refunded.contains(key) { return .refunded }
      state.charged.insert(key)
      return .charged
    }
  }

  func charge(
    forKey key: String,
    of amount: Money,
    for order: OrderID
  ) async throws -> ChargeStatus? {
    state.withLock { state in
      state.refunded.contains(key) ? .refunded : state.charged.contains(key) ? .charged : nil
    }
  }

  func refund(key: String) async throws { state.withLock { _ = $0.refunded.insert(key) } }
}
