import AdvancedOperations
import Metrics
import OrderWorkflow

/// What a desk is like at the moment, and how often it took no order.
///
/// | metric | labels | what it is |
/// |---|---|---|
/// | `orders_open` | | the number of open orders of this instance |
/// | `orders_unsettled` | | the number of orders of this instance whose refund isn't confirmed yet |
/// | `orders_circuit` | `state` | 1 for the state of the circuit to the provider, 0 for the others |
/// | `orders_refused_total` | `code` | requests for orders that were refused, by the code of the problem |
struct DeskGauges: Sendable {
  private let factory: any MetricsFactory
  private let open: any MeterHandler
  private let unsettled: any MeterHandler
  private let circuit: [CircuitBreaker.State: any MeterHandler]

  /// Creates the metrics of a desk.
  init(factory: any MetricsFactory) {
    self.factory = factory
    open = factory.makeMeter(label: "orders_open", dimensions: [])
    unsettled = factory.makeMeter(label: "orders_unsettled", dimensions: [])
    let states = CircuitBreaker.State.allCases.map { state in
      (state, factory.makeMeter(label: "orders_circuit", dimensions: [("state", state.name)]))
    }
    circuit = Dictionary(states) { first, _ in first }
  }

  /// Measures a desk.
  func measure(_ desk: OrderDesk) {
    let state = desk.breaker.state
    open.set(Int64(desk.openCount))
    unsettled.set(Int64(desk.unsettled.count))
    for (known, meter) in circuit { meter.set(Int64(known == state ? 1 : 0)) }
  }

  /// A request for an order was refused.
  func refused(_ error: RequestError) {
    factory.makeCounter(label: "orders_refused", dimensions: [("code", error.code)]).increment(
      by: 1
    )
  }
}

extension CircuitBreaker.State {
  /// Two words at most, as metrics and pages show it.
  var name: String {
    switch self {
    case .closed: "closed"
    case .open: "open"
    case .halfOpen: "half open"
    }
  }
}
