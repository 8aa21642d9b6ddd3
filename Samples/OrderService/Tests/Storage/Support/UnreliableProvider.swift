import OrderStorage
import OrderWorkflow
import Synchronization

/// A provider of which each second request fails in some way; its ledger tells the truth.
final class UnreliableProvider: PaymentProvider {
  private struct State {
    var ledger: [String: ChargeAnswer] = [:]
    var requests = 0
  }

  private let state = Mutex(State())

  func charge(_ charge: Charge, cardToken: String) throws -> ChargeAnswer {
    try state.withLock { state in
      state.requests += 1
      let number = state.requests
      if number % 8 == 2 { throw PaymentProviderError.noAnswer("it is down") }
      let verdict: ChargeAnswer.Status = number % 8 == 0 ? .declined : .charged
      let entry = state.ledger[charge.key] ?? ChargeAnswer(verdict, about: charge)
      state.ledger[charge.key] = entry
      if number % 8 == 4 { throw PaymentProviderError.noAnswer("the answer was lost") }
      return number % 8 == 6 ? ChargeAnswer(.declined, reason: "a lie") : entry
    }
  }

  func lookUp(_ charge: Charge) -> ChargeAnswer? { state.withLock { $0.ledger[charge.key] } }

  func refund(_ charge: Charge) throws -> ChargeAnswer {
    try state.withLock { state in
      state.requests += 1
      if state.requests % 2 == 0 { throw PaymentProviderError.noAnswer("it is down") }
      // Each fourth answer is about a refund that it has not made.
      if state.requests % 4 == 1 { return ChargeAnswer(.charged, about: charge) }
      let entry = ChargeAnswer(.refunded, about: charge)
      state.ledger[charge.key] = entry
      return entry
    }
  }

  /// The ledger as the audit reads it.
  var charges: [OrderAudit.Charge] {
    state.withLock { state in
      state.ledger.map { key, entry in
        OrderAudit.Charge(
          key: key,
          status: entry.status?.rawValue ?? "",
          amount: entry.amount ?? 0,
          reference: String(key.dropFirst(6))
        )
      }
    }
  }
}
