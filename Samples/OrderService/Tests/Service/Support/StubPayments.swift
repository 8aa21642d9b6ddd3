import OrderWorkflow
import Synchronization

/// A payment provider that charges when a test says so.
final class StubPayments: PaymentProvider {
  private struct State {
    var charged: Set<String> = []
    var refunded: Set<String> = []
    var failures = 0
    var liesAboutRefunds = false

    func answer(about charge: Charge) -> ChargeAnswer? {
      if refunded.contains(charge.key) { return ChargeAnswer(.refunded, about: charge) }
      return charged.contains(charge.key) ? ChargeAnswer(.charged, about: charge) : nil
    }
  }

  private let state = Mutex(State())
  private let gate = Gate()

  /// What was charged and not given back.
  var open: Set<String> { state.withLock { $0.charged.subtracting($0.refunded) } }

  /// So many of the next charges get no answer, and aren't made.
  func fail(_ count: Int) { state.withLock { $0.failures = count } }

  /// Whether refunds are answered with “charged”, and not made.
  var liesAboutRefunds: Bool {
    get { state.withLock { $0.liesAboutRefunds } }
    set { state.withLock { $0.liesAboutRefunds = newValue } }
  }

  /// From now on, charges wait.
  func hold() { gate.close() }

  /// Charges go on.
  func release() { gate.open() }

  func charge(_ charge: Charge, cardToken: String) async throws -> ChargeAnswer {
    await gate.pass()
    try Task.checkCancellation()
    return try state.withLock { state in
      if state.failures > 0 {
        state.failures -= 1
        throw PaymentProviderError.noAnswer("the connection was lost")
      }
      if !state.refunded.contains(charge.key) { state.charged.insert(charge.key) }
      return state.answer(about: charge) ?? ChargeAnswer()
    }
  }

  func lookUp(_ charge: Charge) async throws -> ChargeAnswer? {
    state.withLock { $0.answer(about: charge) }
  }

  func refund(_ charge: Charge) async throws -> ChargeAnswer {
    state.withLock { state in
      if state.liesAboutRefunds { return ChargeAnswer(.charged, about: charge) }
      state.refunded.insert(charge.key)
      return ChargeAnswer(.refunded, about: charge)
    }
  }
}
