import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow

/// What lives on when a program dies: the database, the payment provider, and the carrier.
struct Shop {
  let store: InMemoryOrderStore
  /// Has the store fail.
  let failure = FlakyStore.Switch()
  let provider = ScriptedProvider()
  let carrier = ScriptedCarrier()
  private let stock: [String: Int]

  /// A shop with tea for 4.50 and cups for 12.00.
  init(tea: Int = 10, cups: Int = 10) {
    stock = ["tea": tea, "cup": cups]
    store = InMemoryOrderStore(items: [
      Item(sku: "tea", name: "Tea", price: Money(450), stock: tea),
      Item(sku: "cup", name: "Cup", price: Money(1200), stock: cups),
    ])
  }

  /// How many of an item can be reserved.
  func stock(of sku: String) -> Int { store.items().first { $0.sku == sku }?.stock ?? 0 }

  /// What doesn't add up; empty when all is well.
  ///
  /// To be looked at when nothing goes on any more, or the program has died.
  var mistakes: [String] {
    var mistakes: [String] = []
    var reserved: [String: Int] = [:]
    for order in store.orders(limit: .max) {
      let key = "order-\(order.id)"
      let (status, isSent) = (provider.ledger[key], carrier.parcels[order.id] != nil)
      if provider.charges[key, default: 0] > 1 { mistakes.append("\(order.id) is charged twice") }
      switch order.state {
      case .open, .rollingBack, .stuck: continue
      case .confirmed:
        for line in order.draft.lines { reserved[line.sku, default: 0] += line.quantity }
        if status != .charged { mistakes.append("\(order.id) is confirmed, and not charged") }
        if !isSent { mistakes.append("\(order.id) is confirmed, and not sent") }
      case .failed(let failure), .cancelled(let failure):
        if status == .charged { mistakes.append("\(order.id) is charged for nothing") }
        if isSent { mistakes.append("\(order.id) is sent for nothing") }
        if failure.reason.isEmpty { mistakes.append("\(order.id) has no cause") }
      }
    }
    let isQuiet = store.takeUp().isEmpty
    for (sku, initial) in stock where isQuiet {
      let expected = initial - reserved[sku, default: 0]
      if stock(of: sku) != expected {
        mistakes.append("\(sku): \(stock(of: sku)) are there, and \(expected) should be")
      }
    }
    return mistakes
  }
}

extension OrderDraft {
  /// So many packets of tea, for Ada.
  static func tea(_ quantity: Int = 1) -> OrderDraft {
    OrderDraft(
      customer: "Ada",
      cardToken: "card",
      lines: [OrderLine(sku: "tea", quantity: quantity)]
    )
  }

  /// A packet of tea and two cups, for Ada: 28.50.
  static let teaAndCups = OrderDraft(
    customer: "Ada",
    cardToken: "card",
    lines: [OrderLine(sku: "tea", quantity: 1), OrderLine(sku: "cup", quantity: 2)]
  )
}
