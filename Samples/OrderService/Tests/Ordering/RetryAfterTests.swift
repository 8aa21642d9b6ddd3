import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import Testing

@Suite("If the payment provider asks to wait,")
struct RetryAfterTests {
  let shop = Shop()

  @Test func `no order sends a request before the end, and all continue at the rate`() throws {
    for seed in 1...10 as ClosedRange<UInt64> {
      let shop = Shop()
      let life = try Life(in: shop, seed: seed) {
        $0.providerRequests = 2
        $0.providerPeriod = .seconds(10)
      }
      shop.provider.next(.tooMany(retryAfter: .seconds(30)))
      var ids = [try life.submit(.tea(), key: "1")]
      life.run(until: .seconds(1))
      #expect(shop.provider.requests == ["charge"])
      for number in 2...5 { ids.append(try life.submit(.tea(), key: "\(number)")) }
      life.run()
      for id in ids { #expect(try life.state(of: id) == .confirmed) }
      let times = Set(shop.provider.requestTimes.dropFirst()).sorted()
      #expect(times == [30, 35, 40, 45, 50].map { .seconds($0) }, "seed \(seed)")
      #expect(shop.mistakes.isEmpty)
    }
  }

  @Test func `an order that waits has the name of the rate in its explanation`() throws {
    let life = try Life(in: shop)
    shop.provider.next(.tooMany(retryAfter: .seconds(30)))
    try life.submit(.tea(), key: "1")
    life.run(until: .seconds(1))
    let id = try life.submit(.tea(), key: "2")
    life.run(until: .seconds(2))
    let explanation = try #require(life.desk.operation(of: id)).explain().description
    #expect(
      explanation.contains("“payment provider”, which is held for another 28 s"),
      "\(explanation)"
    )
  }

  @Test func `a longer delay than the longest is shortened`() throws {
    let life = try Life(in: shop) { $0.longestRetryAfter = .seconds(60) }
    shop.provider.next(.tooMany(retryAfter: .seconds(86_400)))
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(Set(shop.provider.requestTimes) == [.zero, .seconds(60)])
  }

  @Test func `the delay doesn't count against an order`() throws {
    let life = try Life(in: shop) { $0.stepTimeout = .seconds(20) }
    let busy = ScriptedProvider.Mood.tooMany(retryAfter: .seconds(30))
    shop.provider.next(busy, busy, busy)
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.provider.requestTimes.last == .seconds(90))
  }

  @Test func `a refund waits, too`() throws {
    let life = try Life(in: shop)
    shop.provider.mood = .refuses
    shop.provider.nextRefunds(.tooMany(retryAfter: .seconds(30)))
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id).failure?.kind == .providerUnavailable)
    #expect(shop.provider.requests == ["charge", "refund", "refund"])
    #expect(shop.provider.requestTimes.last == .seconds(30))
  }
}
