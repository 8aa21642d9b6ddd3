import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import Testing

@Suite("When the payment provider fails, an order")
struct ProviderFailureTests {
  let shop = Shop()

  @Test func `is charged when the provider is back in time`() throws {
    let life = try Life(in: shop)
    shop.provider.next(.isDown, .isDown, .isDown)
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `fails when the provider stays down, and is over when nothing is charged for sure`()
    throws
  {
    // Its circuit would stay open, and no time would count.
    let life = try Life(in: shop) { $0.breakerFailures = .max }
    shop.provider.mood = .isDown
    shop.provider.refundMood = .isDown
    let id = try life.submit(.tea())
    life.run(until: .seconds(3_600))
    // The provider can't say whether a request has arrived: the order can't be over before it can.
    let state = try life.state(of: id)
    guard case .rollingBack(let failure) = state else {
      Issue.record("The order is \(state)")
      return
    }
    #expect(failure.kind == .providerUnavailable)
    #expect(failure.step == "charge")

    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id) == .failed(failure))
    #expect(shop.stock(of: "tea") == 10)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `is charged once when the answer is lost`() throws {
    let life = try Life(in: shop)
    shop.provider.next(.losesAnswer)
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.provider.requests == ["charge", "look up"])
    #expect(shop.provider.charges == ["order-\(id)": 1])
  }

  @Test func `an order continues if only the provider's ledger says “charged”`() throws {
    let life = try Life(in: shop)
    shop.provider.next(.lies)
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `is charged again when the ledger doesn't know what was “declined”`() throws {
    let life = try Life(in: shop)
    shop.provider.next(.declinesWithoutRecord)
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.provider.requests == ["charge", "look up", "look up", "charge"])
  }

  @Test func `an order fails immediately when the card is declined`() throws {
    let life = try Life(in: shop)
    shop.provider.mood = .declines
    let id = try life.submit(.tea())
    life.run()
    let failure = try #require(life.state(of: id).failure)
    #expect(failure.kind == .declined)
    #expect(failure.reason == "The card was declined: no money")
    #expect(life.simulation.now == .zero)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `an order isn't retried with a wrong request`() throws {
    let life = try Life(in: shop)
    shop.provider.mood = .refuses
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id).failure?.kind == .providerUnavailable)
    #expect(shop.provider.requests == ["charge", "refund"])
  }

  @Test func `gives up a request that takes too long, and makes another one`() throws {
    let life = try Life(in: shop) { $0.requestTimeout = .seconds(5) }
    shop.provider.next(.takes(.seconds(3_600)))
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.provider.requests == ["charge", "look up", "charge"])
    #expect(life.simulation.now < .seconds(6))
  }

  @Test func `fails when the time for all requests is over`() throws {
    let life = try Life(in: shop) { $0.stepTimeout = .seconds(60) }
    shop.provider.mood = .takes(.seconds(3_600))
    let id = try life.submit(.tea())
    life.run()
    let failure = try #require(life.state(of: id).failure)
    #expect(failure.kind == .providerUnavailable)
    #expect(failure.tree.contains("timed out"))
    #expect(failure.reason.hasSuffix(". The time limit of 1m for “charge” is over."))
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `is not charged by a request that arrives after the refund`() throws {
    let life = try Life(in: shop) { $0.stepTimeout = .seconds(1) }
    shop.provider.mood = .delivers(after: .seconds(90))
    let id = try life.submit(.tea())
    life.run()
    #expect(life.simulation.now >= .seconds(90))
    #expect(try life.state(of: id).failure?.kind == .providerUnavailable)
    #expect(shop.provider.charges.isEmpty)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `an order waits for the rate if the provider takes few requests`() throws {
    let life = try Life(in: shop) {
      $0.providerRequests = 2
      $0.providerPeriod = .seconds(10)
    }
    for number in 1...6 { try life.submit(.tea(), key: "\(number)") }
    life.run()
    // Two at once, and one more every five seconds.
    #expect(shop.provider.requestTimes == [0, 0, 5, 10, 15, 20].map { .seconds($0) })
    #expect(shop.mistakes.isEmpty)
  }
}
