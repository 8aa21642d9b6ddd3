import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import Testing

@Suite("A client that hangs up")
struct CancelTests {
  let shop = Shop()

  @Test(arguments: [OrderStep.validate, .reserve(sku: "tea"), .charge, .ship, .confirm])
  func `has its order cancelled in any step, with nothing left of it`(step: OrderStep) throws {
    let life = try Life(in: shop)
    // The step stays in its beginning until the client has gone.
    try life.simulation.inject(.delay(.seconds(60)), into: step.key, at: .executing)
    let id = try life.submit(.tea())
    try life.run(untilExecuting: step, of: id)
    #expect(life.desk.cancel(id, because: "the client hung up"))
    life.run()
    let state = try life.state(of: id)
    #expect(state == .cancelled(OrderFailure(cancelledBecause: "the client hung up")))
    #expect(shop.stock(of: "tea") == 10)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `has its order cancelled while a request is on its way, and is not charged`() throws {
    let life = try Life(in: shop)
    shop.provider.mood = .delivers(after: .seconds(30))
    let id = try life.submit(.tea())
    try life.simulation.run(until: { shop.provider.requests.contains("charge") })
    life.desk.cancel(id, because: "the client hung up")
    life.run()
    #expect(life.simulation.now >= .seconds(30))
    #expect(try life.state(of: id).failure?.kind == .cancelled)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `is the cause, whatever error a request makes of the cancel`() throws {
    let life = try Life(in: shop)
    shop.provider.mood = .breaksOff
    let id = try life.submit(.tea())
    life.run(until: .seconds(1))
    life.desk.cancel(id, because: "the client hung up")
    life.run()
    let cause = OrderFailure(cancelledBecause: "the client hung up")
    #expect(try life.state(of: id) == .cancelled(cause))
  }

  @Test func `is not the cause when its order has failed before`() throws {
    let life = try Life(in: shop)
    shop.provider.mood = .declines
    let id = try life.submit(.tea())
    let charge = try life.step(.charge, of: id)
    try life.simulation.run(until: { charge.outcome != nil })
    life.desk.cancel(id, because: "the client hung up")
    life.run()
    #expect(try life.state(of: id).failure?.kind == .declined)
  }

  @Test func `has its order cancelled while that waits for another one's item`() throws {
    let life = try Life(in: shop)
    try life.simulation.inject(.delay(.seconds(60)), into: "reserve tea", at: .executing)
    let ids = [try life.submit(.tea(), key: "a"), try life.submit(.tea(), key: "b")]
    life.run(until: .seconds(1))
    let waiting = try #require(
      ids.first { try life.step(.reserve(sku: "tea"), of: $0).state == .ready }
    )
    life.desk.cancel(waiting, because: "the client hung up")
    life.run(until: .seconds(2))
    #expect(try life.state(of: waiting).failure?.reason == "the client hung up")
    life.run()
    #expect(shop.stock(of: "tea") == 9)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `leaves an order either confirmed or without a trace, at whichever step it does`()
    throws
  {
    var states: [String] = []
    for steps in 0... {
      let shop = Shop()
      let life = try Life(in: shop)
      let id = try life.submit(.teaAndCups)
      for _ in 0..<steps { life.simulation.step() }
      let isInTime = life.desk.cancel(id, because: "the client hung up")
      life.run()
      let state = try life.state(of: id)
      #expect(state.isFinal, "after \(steps) steps")
      #expect(shop.mistakes == [], "after \(steps) steps")
      states.append(state.name)
      if !isInTime { break }
    }
    #expect(Set(states) == ["confirmed", "cancelled"])
  }

  @Test func `is too late when its order is confirmed`() throws {
    let life = try Life(in: shop)
    let id = try life.submit(.tea())
    life.run()
    #expect(!life.desk.cancel(id, because: "the client hung up"))
    #expect(try life.state(of: id) == .confirmed)
  }

  @Test func `is too late when its order is confirmed in the database but not yet over`() throws {
    let life = try Life(in: shop)
    let id = try life.submit(.tea())
    try life.simulation.run(until: { shop.store.order(id)?.state == .confirmed })
    life.desk.cancel(id, because: "the client hung up")
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `doesn't stop the rollback of an order that has failed`() throws {
    let life = try Life(in: shop)
    shop.carrier.failures = .max
    shop.provider.refundMood = .isDown
    let id = try life.submit(.tea())
    life.run(until: .seconds(600))
    life.desk.cancel(id, because: "the client hung up")
    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id).failure?.kind == .notShipped)
    #expect(shop.mistakes.isEmpty)
  }
}
