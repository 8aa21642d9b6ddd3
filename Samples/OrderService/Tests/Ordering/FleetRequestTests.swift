import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import Synchronization
import Testing

@Suite("Of instances that share a store, each")
struct FleetRequestTests {
  private let fleet = Fleet()
  private let first: Fleet.Instance
  private let second: Fleet.Instance
  private let id: OrderID

  /// Two instances, the first of which works on an order that waits for the provider.
  init() throws {
    fleet.shop.provider.mood = .isDown
    first = try fleet.start("a")
    second = try fleet.start("b")
    id = try fleet.submit(.teaAndCups, to: first)
    fleet.simulation.run(until: .seconds(1))
  }

  private var isOver: Bool { fleet.state(of: id)?.isFinal ?? false }

  private func cancel(at instance: Fleet.Instance, _ reason: String) throws -> Bool {
    try fleet.simulation.run { [id] in
      try await instance.desk.requestCancel(of: id, because: reason)
    }
  }

  @Test func `cancels the orders of the others`() throws {
    #expect(try cancel(at: second, "a change of mind"))
    #expect(try cancel(at: second, "another one"))
    try fleet.run(until: { isOver })
    #expect(fleet.state(of: id) == .cancelled(OrderFailure(cancelledBecause: "a change of mind")))
    #expect(try cancel(at: second, "too late") == false)
    #expect(fleet.shop.mistakes == [])
  }

  @Test func `confirms no order whose cancel another one has noted`() throws {
    // The holder learns of it with no heartbeat: it can't be heard, nor hear.
    first.store.isUnheard.withLock { $0 = true }
    #expect(try cancel(at: second, "a change of mind"))
    fleet.shop.provider.mood = .works
    try fleet.run(until: { isOver })
    #expect(fleet.state(of: id) == .cancelled(OrderFailure(cancelledBecause: "a change of mind")))
    #expect(fleet.shop.mistakes == [])
  }

  @Test func `cancels what it takes over if that was noted`() throws {
    first.store.isUnheard.withLock { $0 = true }
    // The holder doesn't learn of it any more.
    #expect(fleet.shop.store.requestCancel(of: id, because: "a change of mind"))
    try fleet.run(until: { fleet.holder(of: id) == "b" })
    #expect(fleet.state(of: id) == .open)
    try fleet.run(until: { isOver })
    #expect(fleet.state(of: id) == .cancelled(OrderFailure(cancelledBecause: "a change of mind")))
    #expect(fleet.shop.mistakes == [])
  }

  @Test func `instances get the tokens of the shared rate in order, and none after they left`()
    throws
  {
    let shop = Shop()
    let fleet = Fleet(in: shop)
    let instance = try fleet.start("a")
    instance.store.tokens.withLock { $0 = 0 }
    var ids: [OrderID] = []
    for number in 1...3 {
      ids.append(try fleet.submit(.tea(), to: instance, key: "\(number)"))
      fleet.simulation.run(until: .seconds(number))
    }
    #expect(shop.provider.requests == [])
    // It leaves the line, and its refund stands at the end of it.
    #expect(instance.desk.cancel(ids[0], because: "a change of mind"))
    fleet.simulation.run(until: .seconds(4))
    for id in ids.dropFirst() {
      instance.store.tokens.withLock { $0 = 1 }
      try fleet.run(until: { fleet.state(of: id) == .confirmed })
    }
    #expect(shop.provider.requests == ["charge", "charge"])
    instance.store.tokens.withLock { $0 = 1 }
    try fleet.run(until: { fleet.state(of: ids[0])?.name == "cancelled" })
    #expect(shop.provider.requests == ["charge", "charge", "refund"])
    #expect(shop.mistakes == [])
  }

  @Test func `takes no token of the shared rate for a request that waits for the circuit`() throws {
    let shop = Shop()
    let fleet = Fleet(in: shop)
    let instance = try fleet.start("a") {
      $0.breakerFailures = 1
      $0.breakerCooldown = .seconds(600)
    }
    instance.store.tokens.withLock { $0 = 10 }
    shop.provider.next(.isDown)
    let ids = try (1...3).map { number in
      let id = try fleet.submit(.tea(), to: instance, key: "\(number)")
      fleet.simulation.run(until: .seconds(number))
      return id
    }
    fleet.simulation.run(until: .seconds(500))
    #expect(shop.provider.requests == ["charge"])
    #expect(instance.store.tokens.withLock { $0 } == 9)
    try fleet.run(until: { ids.allSatisfy { fleet.state(of: $0) == .confirmed } })
    #expect(instance.store.tokens.withLock { $0 } == 6)
    #expect(shop.mistakes == [])
  }

  @Test func `keeps its orders after an outage of the store`() throws {
    let other = try fleet.submit(.tea(), to: second, key: "other")
    fleet.simulation.run(until: .seconds(20))
    for instance in [first, second] { instance.store.isUnheard.withLock { $0 = true } }
    fleet.simulation.run(until: .seconds(60))
    for instance in [first, second] { instance.store.isUnheard.withLock { $0 = false } }
    fleet.simulation.run(until: .seconds(100))
    #expect(fleet.holder(of: id) == "a")
    #expect(fleet.holder(of: other) == "b")
  }

  @Test func `leaves an order alone that it can't read, takes the others over, and says so`()
    throws
  {
    let other = try fleet.submit(.tea(), to: first, key: "other")
    let said = Mutex<[OrderID]>([])
    second.desk.onUnreadable { id, _ in said.withLock { $0.append(id) } }
    second.store.unreadable.withLock { $0 = [id: "“lent” is unknown"] }
    first.store.isUnheard.withLock { $0 = true }
    try fleet.run(until: { fleet.holder(of: other) == "b" })
    fleet.simulation.run(until: .seconds(60))
    #expect(fleet.holder(of: id) == "a")
    #expect(said.withLock { $0 } == [id])
    #expect(second.desk.unreadableOrders == [id: "“lent” is unknown"])
  }
}
