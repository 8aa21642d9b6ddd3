import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import TestEffort
import Testing

@Suite("A desk that closes")
struct DrainTests {
  let shop = Shop()

  /// Closes the desk, and ends its life.
  @discardableResult
  private func drain(_ life: Life, within limit: Duration) throws -> OperationDrainReport {
    try life.simulation.run { [desk = life.desk] in await desk.drain(within: limit) }
  }

  @Test func `lets its orders finish`() throws {
    let life = try Life(in: shop)
    shop.provider.mood = .takes(.seconds(4))
    let id = try life.submit(.tea())
    let report = try drain(life, within: .seconds(30))
    #expect(report.succeededCount == 1)
    #expect(report.cutShort.isEmpty)
    #expect(try life.state(of: id) == .confirmed)
  }

  @Test func `takes no orders, and still knows those that it has`() throws {
    let life = try Life(in: shop)
    let id = try life.submit(.tea(), key: "a")
    try drain(life, within: .seconds(30))
    #expect(throws: OrderRefusal.draining(retryAfter: .seconds(5))) {
      try life.submit(.tea(), key: "b")
    }
    #expect(try life.submit(.tea(), key: "a") == id)
  }

  @Test func `interrupts what takes too long, and undoes nothing of it`() throws {
    let life = try Life(in: shop)
    shop.provider.mood = .isDown
    let id = try life.submit(.teaAndCups)
    let report = try drain(life, within: .seconds(10))
    #expect(report.cutShort.map(\.name) == ["order \(id)"])
    #expect(life.simulation.now == .seconds(10))
    #expect(try life.state(of: id) == .open)
    #expect(shop.stock(of: "cup") == 8)
    #expect(!shop.provider.requests.contains("refund"))

    shop.provider.mood = .works
    let next = try Life(in: shop)
    next.run()
    #expect(try next.state(of: id) == .confirmed)
    #expect(shop.mistakes.isEmpty)
  }

  @Test(arguments: [Duration.zero, .seconds(1)])
  func `waits no longer for a store that fails than for orders, whichever step it fails in`(
    _ head: Duration
  ) throws {
    for steps in Effort.steps(every: 3) {
      let shop = Shop()
      let life = try Life(in: shop, seed: UInt64(steps))
      let id = try life.submit(.teaAndCups)
      for _ in 0..<steps { life.simulation.step() }
      if try life.state(of: id).isFinal { break }
      shop.failure.isFailing = true
      life.run(until: life.simulation.now + head)
      let begin = life.simulation.now
      try drain(life, within: .seconds(5))
      // The wait before one more call is all that may follow.
      let longest = Duration.seconds(5) + life.desk.options.longestStoreDelay
      #expect(life.simulation.now - begin <= longest, "after \(steps) steps")
      #expect(try life.state(of: id) == .open, "after \(steps) steps")

      shop.failure.isFailing = false
      let next = try Life(in: shop)
      next.run()
      #expect(try next.state(of: id) == .confirmed, "after \(steps) steps")
      #expect(shop.mistakes.isEmpty, "after \(steps) steps")
    }
  }

  @Test func `a drain interrupts a long rollback, which continues after the restart`() throws {
    let life = try Life(in: shop) { $0.stepTimeout = .seconds(5) }
    shop.carrier.failures = .max
    shop.provider.refundMood = .isDown
    let id = try life.submit(.tea())
    life.run(until: .seconds(60))
    try drain(life, within: .seconds(10))
    #expect(life.simulation.now == .seconds(70))
    #expect(try life.state(of: id).name == "rolling back")

    shop.carrier.failures = 0
    shop.provider.refundMood = .works
    let next = try Life(in: shop)
    next.run()
    #expect(try next.state(of: id).failure?.kind == .notShipped)
    #expect(shop.carrier.parcels.isEmpty)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `is closed by then, whenever its orders fail or are cancelled`() throws {
    for seed in Effort.seeds(20) {
      let shop = Shop(tea: 2)
      let life = try Life(in: shop, seed: seed)
      shop.provider.next(.losesAnswer, .lies, .isDown, .declines)
      let ids = try (1...3).map { try life.submit(.tea(), key: "\($0)") }
      life.simulation.addStep("hang up") { life.desk.cancel(ids[0], because: "gone") }
      try drain(life, within: .milliseconds(Int(seed) * 50))
      let next = try Life(in: shop, seed: seed)
      next.run()
      #expect(shop.store.takeUp().isEmpty, "seed \(seed)")
      #expect(shop.mistakes == [], "seed \(seed)")
    }
  }
}
