import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import Testing

/// One life of the program, in virtual time: it ends when nothing runs its simulation any more.
struct Life {
  let simulation: SimulatedEnvironment
  let desk: OrderDesk

  /// Starts the program: it takes up what an earlier life has left.
  ///
  /// - Parameters:
  ///   - shop: What lives on.
  ///   - seed: Another seed gives another order of events.
  ///   - change: Changes the options of a shop.
  /// - Throws: What opening the desk throws.
  init(
    in shop: Shop,
    seed: UInt64 = 1,
    _ change: (inout OrderDesk.Options) -> Void = { _ in }
  ) throws {
    simulation = SimulatedEnvironment(seed: seed)
    var options = OrderDesk.Options()
    change(&options)
    desk = OrderDesk(
      store: FlakyStore(store: shop.store, failure: shop.failure),
      payments: shop.provider,
      shipping: shop.carrier,
      options: options,
      environment: simulation.environment
    )
    try simulation.run { [desk] in _ = try await desk.open() }
  }

  /// Places an order, which has not begun when this returns.
  @discardableResult
  func submit(_ draft: OrderDraft, key: String = "key") throws -> OrderID {
    try simulation.run { [desk] in try await desk.submit(draft, key: key).order.id }
  }

  /// Goes on until nothing happens any more: a day of waiting takes no time.
  func run() { simulation.run() }

  /// Goes on until a time.
  func run(until time: Duration) { simulation.run(until: time) }

  /// Waits for an order as a client does.
  func outcome(of id: OrderID, within limit: Duration) throws -> Order? {
    try simulation.run { [desk] in try await desk.outcome(of: id, within: limit) }
  }

  /// How an order is in the database.
  func state(of id: OrderID) throws -> Order.State {
    let order = try simulation.run { [desk] in try await desk.order(id) }
    return try #require(order).state
  }

  /// The operation of a step.
  func step(_ step: OrderStep, of id: OrderID) throws -> AdvancedOperation {
    let group = try #require(desk.operation(of: id))
    let found = group.children.first { $0.name == step.key }
    return try #require(found as? AdvancedOperation)
  }

  /// Goes on until a step executes.
  func run(untilExecuting step: OrderStep, of id: OrderID) throws {
    let operation = try self.step(step, of: id)
    try simulation.run(until: { operation.isExecuting })
  }
}
