import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import OrderWorkflow
import TestEffort
import Testing

@Suite("The rollback of an order")
struct RollbackTests {
  let shop = Shop(tea: 10, cups: 1)

  /// Has the carrier fail until the order gives up.
  private func strike() { shop.carrier.failures = .max }

  @Test func `releases what was reserved when another item is out of stock`() throws {
    let life = try Life(in: shop)
    let id = try life.submit(.teaAndCups)
    life.run()
    let failure = try #require(life.state(of: id).failure)
    #expect(failure.kind == .outOfStock)
    #expect(failure.step == "reserve cup")
    #expect(failure.reason == "“cup”: 2 are wanted, and 1 are there.")
    #expect(shop.provider.requests.isEmpty)
    #expect(shop.stock(of: "tea") == 10)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `refunds what was charged when nothing can be shipped`() throws {
    let life = try Life(in: shop)
    strike()
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id).failure?.kind == .notShipped)
    #expect(shop.provider.ledger == ["order-\(id)": .refunded])
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `undoes the last step first`() throws {
    let life = try Life(in: shop)
    strike()
    let names = Recorder()
    life.desk.queue.addObserver(
      BlockObserver(didStart: { operation in names.append(operation.name ?? "") })
    )
    try life.submit(.tea())
    life.run()
    let undone = ["recall request", "refund request", "release", "finish"]
    #expect(names.values.filter { undone.contains($0) } == undone)
  }

  @Test func `a rollback continues until the provider accepts the refund`() throws {
    let life = try Life(in: shop)
    strike()
    shop.provider.nextRefunds(.isDown, .losesAnswer, .isDown, .takes(.seconds(3_600)))
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id).failure?.kind == .notShipped)
    #expect(shop.provider.requests.count { $0 == "refund" } == 5)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `repeats a refund that is refused, slowly and without an end`() throws {
    let before = try Life(in: shop)
    strike()
    shop.provider.refundMood = .refuses
    let id = try before.submit(.tea())
    before.run(until: .seconds(600))
    let early = shop.provider.requests.count { $0 == "refund" }
    before.run(until: .seconds(7_800))
    #expect(try before.state(of: id).name == "rolling back")
    // Two hours: at least one a minute, and fewer than with the longest delay of other failures.
    let count = shop.provider.requests.count { $0 == "refund" } - early
    #expect(count >= 120 && count < 480)
    let retry = try #require(before.desk.latestRetries(of: id)["refund"])
    #expect(retry.reason.contains("too late"))
    #expect(shop.carrier.recalled == [id])
    #expect(before.desk.unsettled.map(\.id) == [id])
    // Another run of the program resumes the refund.
    let life = try Life(in: shop)
    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id).failure?.kind == .notShipped)
    #expect(shop.provider.ledger == ["order-\(id)": .refunded])
    #expect(life.desk.unsettled.isEmpty)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `reports a refund once when it was refused ten times in a row`() throws {
    let life = try Life(in: shop)
    strike()
    let refused = Recorder()
    life.desk.onRefusedRefund { refused.append("\($0.order) \($0.count) \($0.reason)") }
    shop.provider.refundMood = .refuses
    let id = try life.submit(.tea())
    life.run(until: .seconds(3_600))
    #expect(
      refused.values == ["\(id) 10 The payment provider refused the request: too late"]
    )
  }

  @Test func `resumes the refund of an order that an earlier version has given up`() throws {
    let before = try Life(in: shop)
    strike()
    shop.provider.refundMood = .refuses
    let id = try before.submit(.tea())
    before.run(until: .seconds(600))
    shop.store.finishRollback(of: id, problems: ["refund: refused"])
    #expect(try before.state(of: id).name == "stuck")
    let life = try Life(in: shop)
    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id).failure?.kind == .notShipped)
    #expect(shop.provider.ledger == ["order-\(id)": .refunded])
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `a rollback retries a refused request, because the refusal may be wrong`() throws {
    let life = try Life(in: shop)
    strike()
    shop.provider.nextRefunds(.refuses, .refuses, .isDown, .refuses, .refuses)
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id).name == "failed")
    #expect(shop.provider.requests.count { $0 == "refund" } == 6)
    #expect(shop.provider.ledger == ["order-\(id)": .refunded])
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `keeps the whole tree of what went wrong`() throws {
    let life = try Life(in: shop) { $0.stepTimeout = .seconds(1) }
    strike()
    let id = try life.submit(.tea())
    life.run()
    let failure = try #require(life.state(of: id).failure)
    #expect(failure.tree.hasPrefix("ship\n"))
    #expect(failure.tree.contains("attempt 1"))
    #expect(failure.tree.contains("The carrier is on strike."))
  }

  @Test func `keeps as much after many attempts as after a hundred`() throws {
    let life = try Life(in: shop) { $0.stepTimeout = .seconds(1) }
    let requests = LivingOperations(named: "refund request")
    life.desk.queue.addObserver(requests)
    strike()
    shop.provider.refundMood = .isDown
    let id = try life.submit(.tea())
    func run(untilRefunds count: Int) throws -> Int {
      try life.simulation.run(until: { shop.provider.requests.count { $0 == "refund" } == count })
      return life.desk.timeline(of: id)?.spans.count ?? 0
    }
    let count = Effort.size(1_000, ordinarily: 300)
    let spans = try run(untilRefunds: 100)
    #expect(try run(untilRefunds: count) == spans)
    #expect(requests.seen >= count)
    #expect(requests.living < 100)
    shop.provider.refundMood = .works
    life.run()
    #expect(try life.state(of: id).failure?.kind == .notShipped)
    #expect(shop.mistakes.isEmpty)
  }

  @Test func `isn't needed when the carrier works after all`() throws {
    let life = try Life(in: shop)
    shop.carrier.failures = 3
    let id = try life.submit(.tea())
    life.run()
    #expect(try life.state(of: id) == .confirmed)
    #expect(shop.mistakes.isEmpty)
  }
}
