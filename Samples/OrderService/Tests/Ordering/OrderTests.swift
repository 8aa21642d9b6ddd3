import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import TestEffort
import Testing

@Suite("An order")
struct OrderTests {
  @Test func `is validated, reserved, charged, shipped and confirmed`() throws {
    let shop = Shop()
    let life = try Life(in: shop)
    let id = try life.submit(.teaAndCups)
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.provider.requests == ["charge"])
    #expect(shop.stock(of: "tea") == 9)
    #expect(shop.stock(of: "cup") == 8)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `is the same one for a repeated request`() throws {
    let shop = Shop()
    let life = try Life(in: shop)
    let first = try life.submit(.tea(), key: "a")
    let second = try life.submit(.tea(), key: "a")
    life.run()
    #expect(first == second)
    #expect(shop.stock(of: "tea") == 9)
  }

  @Test func `is another one for another key`() throws {
    let shop = Shop()
    let life = try Life(in: shop)
    #expect(try life.submit(.tea(), key: "a") != life.submit(.tea(), key: "b"))
    life.run()
    #expect(shop.stock(of: "tea") == 8)
  }

  @Test func `is refused when its key belongs to one with other contents`() throws {
    let life = try Life(in: Shop())
    let id = try life.submit(.tea(1), key: "a")
    #expect(throws: OrderRefusal.keyReused(id)) { try life.submit(.tea(2), key: "a") }
  }

  @Test func `is refused with all of its mistakes, unknown items included`() throws {
    let life = try Life(in: Shop())
    let draft = OrderDraft(
      customer: "",
      cardToken: "card",
      lines: [OrderLine(sku: "moon", quantity: 1)]
    )
    #expect(
      throws: OrderRefusal.invalid([
        .missing(field: "customer"), .unknownItem(line: 0, sku: "moon"),
      ])
    ) {
      try life.submit(draft)
    }
  }

  @Test func `is refused when too many are open, and accepted when one of them is over`() throws {
    let shop = Shop()
    let life = try Life(in: shop) { $0.maximumOpenOrders = 2 }
    shop.provider.mood = .takes(.seconds(1))
    try life.submit(.tea(), key: "a")
    try life.submit(.tea(), key: "b")
    #expect(throws: OrderRefusal.full(open: 2, retryAfter: .seconds(1))) {
      try life.submit(.tea(), key: "c")
    }
    life.run()
    try life.submit(.tea(), key: "c")
    life.run()
    #expect(shop.stock(of: "tea") == 7)
  }

  @Test func `is found by a repeated request also when too many are open`() throws {
    let life = try Life(in: Shop()) { $0.maximumOpenOrders = 1 }
    #expect(try life.submit(.tea(), key: "a") == life.submit(.tea(), key: "a"))
  }

  @Test func `is waited for as long as the client says`() throws {
    let shop = Shop()
    shop.provider.mood = .takes(.seconds(3))
    let life = try Life(in: shop)
    let id = try life.submit(.tea())
    #expect(try life.outcome(of: id, within: .seconds(2))?.state == .open)
    #expect(life.simulation.now == .seconds(2))
    #expect(try life.outcome(of: id, within: .seconds(2))?.state == .confirmed)
    #expect(life.simulation.now == .seconds(3))
  }

  @Test func `says what it waits for`() throws {
    let shop = Shop()
    let life = try Life(in: shop) {
      $0.providerRequests = 1
      $0.providerPeriod = .seconds(60)
    }
    let (first, second) = (try life.submit(.tea(), key: "a"), try life.submit(.tea(), key: "b"))
    life.run(until: .seconds(1))
    let (a, b) = (try life.state(of: first), try life.state(of: second))
    let waiting = try #require(a == .confirmed ? second : b == .confirmed ? first : nil)
    let explanation = try #require(life.desk.operation(of: waiting)).explain().description
    #expect(explanation.contains("payment provider"))
  }

  @Test func `of the last packet is one order's, and the other one fails`() throws {
    for seed in Effort.seeds(20) {
      let shop = Shop(tea: 1)
      let life = try Life(in: shop, seed: seed)
      let ids = [try life.submit(.tea(), key: "a"), try life.submit(.tea(), key: "b")]
      life.run()
      let states = try ids.map { try life.state(of: $0) }
      #expect(states.count { $0 == .confirmed } == 1, "seed \(seed)")
      #expect(states.compactMap(\.failure).map(\.kind) == [.outOfStock], "seed \(seed)")
      #expect(shop.mistakes.isEmpty, "seed \(seed)")
    }
  }

  @Test func `a sum that can't be counted is none`() {
    #expect(Money(1).adding(Money(450), times: 3) == Money(1_351))
    #expect(Money(0).adding(Money(.max), times: 2) == nil)
    #expect(Money(1).adding(Money(.max), times: 1) == nil)
  }
}
