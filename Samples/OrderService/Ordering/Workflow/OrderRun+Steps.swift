import AdvancedOperations
import Synchronization

extension OrderRun {
  /// The steps of the order, each of which depends on those before it.
  func makeSteps() -> [AdvancedOperation] {
    let validate = ResultOperation { try await self.total() }
      .recorded(as: OrderStep.validate.key, in: journal)
    let reservations = order.draft.lines.map { line in
      let step = OrderStep.reserve(sku: line.sku)
      let reserve = validate.then { _ in try await self.reserve(line) }
        .recorded(as: step.key, in: journal)
      // Orders of the same item follow one another, instead of failing in the database.
      reserve.addClaim(MutuallyExclusive("item \(line.sku)"))
      return reserve
    }
    let charge = validate.then { total in try await self.charge(total) }
      .recorded(as: OrderStep.charge.key, in: journal)
    charge.addDependencies(reservations)
    charge.addCondition(.allSucceeded)
    let ship = charge.then { _ in try await self.ship() }
      .recorded(as: OrderStep.ship.key, in: journal)
    let confirm = ship.then { _ in
      // A cancel that has come by now is in time.
      try Task.checkCancellation()
      try await self.confirm()
    }.recorded(as: OrderStep.confirm.key, in: journal)
    return [validate] + reservations + [charge, ship, confirm]
  }

  /// What the order costs.
  private func total() async throws -> Money {
    let items = Dictionary(
      try await tools.store.items().map { ($0.sku, $0) }
    ) { first, _ in first }
    var total = Money(0)
    for line in order.draft.lines {
      guard let item = items[line.sku] else { throw ItemWithdrawn(sku: line.sku) }
      guard let sum = total.adding(item.price, times: line.quantity) else {
        throw SumTooLarge(sku: line.sku)
      }
      total = sum
    }
    return total
  }

  private func reserve(_ line: OrderLine) async throws {
    // Before the effect, because a cancel may come between that and its record.
    registerRollback(of: .reserve(sku: line.sku))
    try await tools.store.reserve(line, for: order.id)
  }

  private func charge(_ total: Money) async throws {
    try await begin(.charge)
    let mayBeCharged = order.steps.contains { $0.key == OrderStep.charge.key }
    let status = try await requestCharge(of: total, asksFirst: mayBeCharged)
    switch status {
    case .charged: state.withLock { $0.isChargeConfirmed = true }
    case .declined(let reason): throw CardDeclined(reason: reason)
    case .refunded: throw ChargeTakenBack(key: order.id.chargeKey)
    }
  }

  private func ship() async throws -> String {
    try await begin(.ship)
    return try await requestParcel()
  }

  private func confirm() async throws {
    do {
      try await tools.store.confirm(order.id)
    } catch let cancel as OrderCancelled {
      // Another instance has noted it, and this one has not learned of it.
      group.cancel(withError: cancel)
      throw cancel
    }
  }

  /// Notes that a step may have an effect outside of the database from now on, and that this is to
  /// be undone if the order comes to nothing.
  private func begin(_ step: OrderStep) async throws {
    try await tools.store.begin(step, of: order.id)
    registerRollback(of: step)
  }
}
