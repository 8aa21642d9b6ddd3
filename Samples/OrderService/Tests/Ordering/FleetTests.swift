import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import Synchronization
import Testing

@Suite("Instances that share a store")
struct FleetTests {
  /// Two instances, the first of which works on an order that waits for the provider.
  private struct Pair {
    let fleet = Fleet()
    let first: Fleet.Instance
    let second: Fleet.Instance
    let id: OrderID

    init(_ draft: OrderDraft) throws {
      fleet.shop.provider.mood = .isDown
      first = try fleet.start("a")
      second = try fleet.start("b")
      id = try fleet.submit(draft, to: first)
    }
  }

  private func isOver(_ fleet: Fleet, _ id: OrderID) -> Bool {
    fleet.state(of: id)?.isFinal ?? false
  }

  @Test func `leave an order with its instance when one heartbeat is missed`() throws {
    let pair = try Pair(.tea())
    let (fleet, first, second, id) = (pair.fleet, pair.first, pair.second, pair.id)
    // The heartbeat of the second 2 isn't heard, that of the second 4 is.
    first.store.isUnheard.withLock { $0 = true }
    fleet.simulation.run(until: .seconds(3))
    first.store.isUnheard.withLock { $0 = false }
    fleet.simulation.run(until: .seconds(20))
    #expect(fleet.holder(of: id) == "a")
    #expect(first.desk.operation(of: id)?.isFinished == false)
    #expect(second.desk.operation(of: id) == nil)
  }

  @Test func `take an order over when two heartbeats are missed, and bring it to its end`() throws {
    let pair = try Pair(.teaAndCups)
    let (fleet, first, second, id) = (pair.fleet, pair.first, pair.second, pair.id)
    first.store.isUnheard.withLock { $0 = true }
    try fleet.run(until: { fleet.holder(of: id) == "b" })
    fleet.shop.provider.mood = .works
    try fleet.run(until: { isOver(fleet, id) })
    #expect(fleet.state(of: id) == .confirmed)
    #expect(second.desk.operation(of: id) != nil)
    #expect(fleet.shop.mistakes == [])
  }

  @Test func `end what the old holder does with an order, and undo nothing`() throws {
    let pair = try Pair(.teaAndCups)
    let (fleet, first, id) = (pair.fleet, pair.first, pair.id)
    let operation = try #require(first.desk.operation(of: id))
    first.store.isUnheard.withLock { $0 = true }
    try fleet.run(until: { fleet.holder(of: id) == "b" })
    // It learns of it with its next heartbeat.
    first.store.isUnheard.withLock { $0 = false }
    try fleet.run(until: { operation.isFinished })
    #expect(operation.cancellationReason as? LeaseLost == LeaseLost(order: id))
    #expect(fleet.state(of: id) == .open)
    #expect(fleet.shop.stock(of: "tea") == 9)
    #expect(fleet.shop.provider.ledger.isEmpty)
    #expect(first.desk.openCount == 0)
  }

  @Test func `instances refuse the writes of an old holder that keeps running`() throws {
    let pair = try Pair(.teaAndCups)
    let (fleet, first, id) = (pair.fleet, pair.first, pair.id)
    first.store.isUnheard.withLock { $0 = true }
    let operation = try #require(first.desk.operation(of: id))
    try fleet.run(until: { fleet.holder(of: id) == "b" })
    // Both go on with the order, until one of them wants to write about it.
    fleet.shop.provider.mood = .works
    try fleet.run(until: { isOver(fleet, id) && operation.isFinished })
    #expect(fleet.state(of: id) == .confirmed)
    #expect(fleet.shop.mistakes == [])
    #expect(fleet.shop.stock(of: "cup") == 8)
  }

  @Test func `roll an order back in one of them, also when the other one has begun to`() throws {
    let fleet = Fleet()
    fleet.shop.provider.refundMood = .isDown
    let first = try fleet.start("a")
    try fleet.start("b")
    fleet.shop.carrier.failures = .max
    let id = try fleet.submit(.teaAndCups, to: first)
    let operation = try #require(first.desk.operation(of: id))
    fleet.simulation.run(until: .seconds(1))
    #expect(first.desk.cancel(id, because: "a change of mind"))
    try fleet.run(until: { fleet.shop.provider.requests.contains("refund") })
    first.store.isUnheard.withLock { $0 = true }
    try fleet.run(until: { fleet.holder(of: id) == "b" })
    first.store.isUnheard.withLock { $0 = false }
    // Although the refund, which both need, can't be had.
    try fleet.run(until: { operation.isFinished })
    #expect(first.desk.openCount == 0)
    #expect(fleet.state(of: id)?.name == "rolling back")
    fleet.shop.provider.refundMood = .works
    try fleet.run(until: { isOver(fleet, id) })
    #expect(fleet.state(of: id)?.name == "cancelled")
    #expect(fleet.shop.mistakes == [])
  }

  @Test func `undo nothing more of an order when a write about it is refused`() throws {
    let fleet = Fleet()
    fleet.shop.provider.mood = .isDown
    fleet.shop.provider.refundMood = .isDown
    let first = try fleet.start("a")
    let second = try fleet.start("b")
    let id = try fleet.submit(.teaAndCups, to: first)
    let operation = try #require(first.desk.operation(of: id))
    fleet.simulation.run(until: .seconds(1))
    #expect(first.desk.cancel(id, because: "a change of mind"))
    try fleet.run(until: { fleet.shop.provider.requests.contains("refund") })
    first.store.isUnheard.withLock { $0 = true }
    try fleet.run(until: { fleet.holder(of: id) == "b" })
    try fleet.simulation.run { _ = await second.desk.drain(within: .zero) }
    let count = fleet.shop.provider.requests.count
    // The first one refunds, and isn't allowed to note it.
    fleet.shop.provider.refundMood = .works
    try fleet.run(until: { operation.isFinished })
    #expect(fleet.shop.provider.requests.count == count + 1)
    #expect(fleet.state(of: id)?.name == "rolling back")
    #expect(fleet.shop.stock(of: "tea") == 9)
  }

  @Test func `fail no order while the rate that they share can't be had`() throws {
    let fleet = Fleet()
    let instance = try fleet.start("a")
    instance.store.isBucketAway.withLock { $0 = true }
    let id = try fleet.submit(.tea(), to: instance)
    fleet.simulation.run(until: .seconds(3_600))
    #expect(fleet.state(of: id) == .open)
    instance.store.isBucketAway.withLock { $0 = false }
    try fleet.run(until: { isOver(fleet, id) })
    #expect(fleet.state(of: id) == .confirmed)
  }

  @Test func `instances take back the orders of an instance that returns and crashes again`() throws
  {
    let pair = try Pair(.tea())
    let (fleet, first, second, id) = (pair.fleet, pair.first, pair.second, pair.id)
    first.store.isUnheard.withLock { $0 = true }
    try fleet.run(until: { fleet.holder(of: id) == "b" })
    first.store.isUnheard.withLock { $0 = false }
    second.store.isUnheard.withLock { $0 = true }
    try fleet.run(until: { fleet.holder(of: id) == "a" })
    fleet.shop.provider.mood = .works
    try fleet.run(until: { isOver(fleet, id) })
    #expect(fleet.state(of: id) == .confirmed)
    #expect(fleet.shop.mistakes == [])
  }

  @Test func `instances take over the orders of a closed instance immediately`() throws {
    let pair = try Pair(.tea())
    let (fleet, first, id) = (pair.fleet, pair.first, pair.id)
    try fleet.simulation.run { _ = await first.desk.drain(within: .zero) }
    let time = fleet.simulation.environment.clock.now
    try fleet.run(until: { fleet.holder(of: id) == "b" })
    #expect(fleet.simulation.environment.clock.now - time <= Fleet.heartbeat)
  }

  @Test func `keep an order in sight that comes back to an instance`() throws {
    let fleet = Fleet()
    fleet.shop.provider.mood = .isDown
    let first = try fleet.start("a") { $0.rememberedOrders = 1 }
    let second = try fleet.start("b")
    let id = try fleet.submit(.tea(), to: first)
    first.store.isUnheard.withLock { $0 = true }
    try fleet.run(until: { fleet.holder(of: id) == "b" })
    first.store.isUnheard.withLock { $0 = false }
    try fleet.run(until: { first.desk.openCount == 0 })
    second.store.isUnheard.withLock { $0 = true }
    try fleet.run(until: { fleet.holder(of: id) == "a" && first.desk.openCount == 1 })
    // Of those that are over, one is remembered, and this order isn't over.
    for number in 1...3 {
      let other = try fleet.submit(.tea(99), to: first, key: "other \(number)")
      try fleet.run(until: { isOver(fleet, other) && first.desk.openCount == 1 })
    }
    #expect(first.desk.operation(of: id)?.isFinished == false)
  }

  @Test func `answer for orders that another one works on`() throws {
    let fleet = Fleet()
    let first = try fleet.start("a")
    let second = try fleet.start("b")
    let id = try fleet.submit(.tea(), to: first)
    let order = try fleet.simulation.run {
      try await second.desk.outcome(of: id, within: .seconds(60))
    }
    #expect(order?.state == .confirmed)
  }

  @Test func `wait no longer for another one's order than they were to`() throws {
    let pair = try Pair(.tea())
    let (fleet, second, id) = (pair.fleet, pair.second, pair.id)
    let time = fleet.simulation.environment.clock.now
    let order = try fleet.simulation.run {
      try await second.desk.outcome(of: id, within: .seconds(1))
    }
    #expect(order?.state == .open)
    #expect(fleet.simulation.environment.clock.now - time == .seconds(1))
  }

  @Test func `say that the store fails while heartbeats aren't heard`() throws {
    let fleet = Fleet()
    let instance = try fleet.start("a")
    instance.store.isUnheard.withLock { $0 = true }
    fleet.simulation.run(until: .seconds(3))
    #expect(instance.desk.storeTrouble != nil)
    instance.store.isUnheard.withLock { $0 = false }
    fleet.simulation.run(until: .seconds(6))
    #expect(instance.desk.storeTrouble == nil)
  }
}
