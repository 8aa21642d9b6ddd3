import OrderStorage
import OrderWorkflow
import Synchronization

/// A provider of which each second request fails in some way; its ledger tells the truth.
final class UnreliableProvider: PaymentProvider {
  private struct State {
    var ledger: [String: (status: ChargeStatus, amount: Int)] = [:]
    var requests = 0
  }

  private let state = Mutex(State())

  func charge(
    _ amount: Money,
    for order: OrderID,
    cardToken: String,
    key: String
  ) throws -> ChargeStatus {
    try state.withLock { state in
      state.requests += 1
      let number = state.requests
      if number % 8 == 2 { throw PaymentProviderError.noAnswer("it is down") }
      let verdict = number % 8 == 0 ? ChargeStatus.declined(reason: "no money") : .charged
      let status = state.ledger[key]?.status ?? verdict
      if state.ledger[key] == nil { state.ledger[key] = (status, amount.minorUnits) }
      if number % 8 == 4 { throw PaymentProviderError.noAnswer("the answer was lost") }
      return number % 8 == 6 ? .declined(reason: "a lie") : status
    }
  }

  func charge(forKey key: String, of amount: Money, for order: OrderID) -> ChargeStatus? {
    state.withLock { $0.ledger[key]?.status }
  }

  func refund(key: String) throws {
    try state.withLock { state in
      state.requests += 1
      if state.requests % 2 == 0 { throw PaymentProviderError.noAnswer("it is down") }
      let amount = state.ledger[key]?.amount ?? 0
      state.ledger[key] = (.refunded, amount)
    }
  }

  /// The ledger as the audit reads it.
  var charges: [OrderAudit.Charge] {
    state.withLock { state in
      state.ledger.map { key, entry in
        let status =
          switch entry.status {
          case .charged: "charged"
          case .declined: "declined"
          case .refunded: "refunded"
          }
        return OrderAudit.Charge(
          key: key,
          status: status,
          amount: entry.amount,
          reference: String(key.dropFirst(6))
        )
      }
    }
  }
}
