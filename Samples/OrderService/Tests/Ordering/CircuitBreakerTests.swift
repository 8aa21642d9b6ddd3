import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import TestEffort
import Testing

@Suite("The circuit to the payment provider")
struct CircuitBreakerTests {
  let shop = Shop()

  @Test func `opens after failures in a row, and lets no request through`() throws {
    let life = try Life(in: shop) {
      $0.breakerFailures = 3
      $0.breakerCooldown = .seconds(3_600)
      $0.stepTimeout = .seconds(60)
    }
    shop.provider.mood = .isDown
    try life.submit(.tea())
    life.run(until: .seconds(59))
    #expect(life.desk.breaker.state == .open)
    #expect(shop.provider.requests == ["charge", "look up", "charge", "look up", "charge"])
  }

  @Test func `has a request wait, which isn't repeated and needs no slot in the meantime`() throws {
    let life = try Life(in: shop) {
      $0.breakerFailures = 3
      $0.breakerCooldown = .seconds(3_600)
    }
    shop.provider.mood = .isDown
    let id = try life.submit(.tea())
    life.run(until: .seconds(3_000))
    // The third repetition is the one that waits.
    #expect(life.desk.latestRetries(of: id)["charge"]?.attempt == 4)
    let explanation = try #require(life.desk.operation(of: id)).explain().description
    #expect(
      explanation.contains("charge request (in another queue) waits for the circuit for "),
      "\(explanation)"
    )
    #expect(explanation.contains("The circuit is open for another "), "\(explanation)")

    shop.provider.mood = .works
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.provider.requests.count == 7)
    // It began when the cooldown was over, and not at the end of a delay.
    let probe = try #require(shop.provider.requestTimes.last)
    #expect(shop.provider.requestTimes[4] + .seconds(3_600) == probe)
  }

  @Test func `ends the wait of an order that is cancelled`() throws {
    let life = try Life(in: shop) {
      $0.breakerFailures = 1
      $0.breakerCooldown = .seconds(3_600)
    }
    shop.provider.next(.isDown)
    let id = try life.submit(.tea())
    life.run(until: .seconds(60))
    #expect(life.desk.cancel(id, because: "a change of mind"))
    life.run(until: .seconds(61))
    // Its refund waits as well.
    #expect(shop.provider.requests == ["charge"])
    life.run()
    #expect(shop.provider.requests.last == "refund")
    #expect(try life.state(of: id).name == "cancelled")
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `opens for all orders, which are confirmed when it is closed again`() throws {
    let life = try Life(in: shop) {
      $0.breakerFailures = 3
      $0.breakerCooldown = .seconds(10)
    }
    shop.provider.next(.isDown, .isDown, .isDown)
    let ids = try (1...5).map { try life.submit(.tea(), key: "\($0)") }
    try life.simulation.run(until: { life.desk.breaker.state == .open })
    #expect(life.desk.breaker.state == .open)
    life.run()
    #expect(life.desk.breaker.state == .closed)
    for id in ids { #expect(try life.state(of: id) == .confirmed) }
    #expect(shop.mistakes.isEmpty)
  }

  @Test(
    arguments: [(.seconds(120), 100, 2_000), (.seconds(7_200), 3, 20)] as [(Duration, Int, Int)]
  )
  func `fails no order while it is open, however long the provider is down`(
    outage: Duration,
    ordinarily: Int,
    campaign: Int
  ) throws {
    let count = Effort.size(campaign, ordinarily: ordinarily)
    let shop = Shop(tea: count)
    let life = try Life(in: shop)
    shop.provider.mood = .isDown
    let ids = try (1...count).map { try life.submit(.tea(), key: "\($0)") }
    life.run(until: outage)
    #expect(life.desk.breaker.state != .closed)
    for id in ids { #expect(try life.state(of: id) == .open) }
    shop.provider.mood = .works
    life.run()
    for id in ids { #expect(try life.state(of: id) == .confirmed) }
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `fails no order while that waits, even if the time of the order is over`() throws {
    let life = try Life(in: shop) {
      $0.breakerFailures = 2
      $0.stepTimeout = .milliseconds(1)
    }
    shop.provider.mood = .isDown
    let ids = try ["a", "b"].map { try life.submit(.tea(), key: $0) }
    // The first failures open it, and the time of the first order runs until its next request.
    try life.simulation.run(until: { life.desk.breaker.state == .open })
    life.run(until: .seconds(4))
    #expect(shop.provider.requests == ["charge", "charge"])
    for id in ids { #expect(try life.state(of: id) == .open) }
  }

  @Test func `doesn't extend the limit of an order that fails while it is closed`() throws {
    let life = try Life(in: shop) {
      $0.breakerFailures = .max
      $0.stepTimeout = .seconds(60)
    }
    shop.provider.mood = .isDown
    let id = try life.submit(.tea())
    life.run()
    let failure = try #require(life.state(of: id).failure)
    #expect(failure.kind == .providerUnavailable)
    #expect(
      failure.reason
        == "The payment provider gave no answer: no connection. "
        + "The time limit of 1m for “charge” is over."
    )
    let last = try #require(shop.provider.requestTimes.last)
    #expect((.seconds(60)...(.seconds(60) + life.desk.options.longestDelay)).contains(last))
  }

  @Test func `lets one request through when it is half open`() throws {
    let life = try Life(in: shop) {
      $0.breakerFailures = 1
      // A probe keeps others out for no longer than this.
      $0.breakerCooldown = .seconds(40)
      $0.requestTimeout = .seconds(60)
    }
    shop.provider.next(.isDown)
    shop.provider.mood = .takes(.seconds(30))
    for number in 1...5 { try life.submit(.tea(), key: "\(number)") }
    try life.simulation.run(until: { life.desk.breaker.state == .halfOpen })
    let count = shop.provider.requests.count { $0 == "charge" }
    // The probe takes thirty seconds, and the others wait for its end.
    life.simulation.advance(by: .seconds(29))
    #expect(shop.provider.requests.count { $0 == "charge" } <= count + 1)
    life.run()
    #expect(life.desk.breaker.state == .closed)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `is open for a whole cooldown again when the probe fails`() throws {
    let life = try Life(in: shop) {
      $0.breakerFailures = 1
      $0.breakerCooldown = .seconds(20)
      $0.longestDelay = .seconds(1)
    }
    shop.provider.next(.isDown, .isDown)
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    let times = shop.provider.requestTimes
    #expect(times.count >= 3)
    for (earlier, later) in zip(times, times.dropFirst()) where earlier != later {
      #expect(later - earlier >= .seconds(20))
    }
  }

  @Test func `stays closed when cards are declined`() throws {
    let life = try Life(in: shop) { $0.breakerFailures = 1 }
    shop.provider.mood = .declines
    for number in 1...5 { try life.submit(.tea(), key: "\(number)") }
    life.run()
    #expect(life.desk.breaker.state == .closed)
  }
}
