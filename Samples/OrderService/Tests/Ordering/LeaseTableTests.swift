import OrderWorkflow
import Testing

@Suite("A table of leases")
struct LeaseTableTests {
  private let order = OrderID(rawValue: "order")

  @Test func `keeps an order for an instance that has missed one heartbeat`() {
    var table = LeaseTable(heartbeat: .seconds(2))
    table.beat("a", at: .zero)
    _ = table.take(order, by: "a", at: .zero)
    // The heartbeat of the second 2 is missing, and that of the second 4 may be a little late.
    let lease = table.take(order, by: "b", at: .milliseconds(4_900))
    #expect(lease == nil)
    #expect(table.lease(of: order)?.holder == "a")
  }

  @Test func `gives an order away when its instance has missed two heartbeats`() throws {
    var table = LeaseTable(heartbeat: .seconds(2))
    table.beat("a", at: .zero)
    let first = table.take(order, by: "a", at: .zero)
    for second in 0...2 { table.beat("b", at: .seconds(2 * second)) }
    let second = table.take(order, by: "b", at: .seconds(5))
    let (old, new) = (try #require(first), try #require(second))
    #expect(new.holder == "b")
    #expect(new.epoch > old.epoch)
  }

  @Test func `refuses what the old holder writes`() throws {
    var table = LeaseTable(heartbeat: .seconds(2))
    table.beat("a", at: .zero)
    let old = table.take(order, by: "a", at: .zero)
    try table.check(old, of: order)
    for second in 0...2 { table.beat("b", at: .seconds(2 * second)) }
    let new = table.take(order, by: "b", at: .seconds(5))
    #expect(throws: LeaseLost(order: order)) { try table.check(old, of: order) }
    try table.check(new, of: order)
  }

  @Test func `refuses the first lease of a holder that has got the order back`() throws {
    var table = LeaseTable(heartbeat: .seconds(2))
    table.beat("a", at: .zero)
    let first = table.take(order, by: "a", at: .zero)
    for second in 0...2 { table.beat("b", at: .seconds(2 * second)) }
    _ = table.take(order, by: "b", at: .seconds(5))
    for second in 26...30 { table.beat("a", at: .seconds(2 * second)) }
    let again = table.take(order, by: "a", at: .seconds(60))
    #expect(throws: LeaseLost(order: order)) { try table.check(first, of: order) }
    try table.check(again, of: order)
  }

  @Test func `leaves an order with an instance that beats again in time`() {
    var table = LeaseTable(heartbeat: .seconds(2))
    table.beat("a", at: .zero)
    _ = table.take(order, by: "a", at: .zero)
    table.beat("a", at: .seconds(4))
    let lease = table.take(order, by: "b", at: .seconds(8))
    #expect(lease == nil)
  }

  @Test func `an order gets another holder immediately when its instance has ended`() {
    var table = LeaseTable(heartbeat: .seconds(2))
    table.beat("a", at: .zero)
    _ = table.take(order, by: "a", at: .zero)
    table.resign("a")
    let lease = table.take(order, by: "b", at: .zero)
    #expect(lease?.holder == "b")
  }

  @Test func `refuses writes without a lease`() {
    let table = LeaseTable(heartbeat: .seconds(2))
    #expect(throws: LeaseLost(order: order)) { try table.check(nil, of: order) }
  }

  @Test func `lets all instances be heard again after an outage`() {
    var table = LeaseTable(heartbeat: .seconds(2))
    for second in 0...5 {
      for name in ["a", "b"] { table.beat(name, at: .seconds(2 * second)) }
    }
    _ = table.take(order, by: "a", at: .seconds(10))
    // No heartbeat was heard for fifty seconds; that of “b” is the first.
    table.beat("b", at: .seconds(60))
    #expect(table.take(order, by: "b", at: .seconds(60)) == nil)
    table.beat("a", at: .milliseconds(61_900))
    for second in 31...40 {
      for name in ["a", "b"] { table.beat(name, at: .seconds(2 * second)) }
    }
    #expect(table.take(order, by: "b", at: .seconds(80)) == nil)
  }

  @Test func `gives an order away after an outage if its instance isn't heard again`() {
    var table = LeaseTable(heartbeat: .seconds(2))
    for name in ["a", "b"] { table.beat(name, at: .seconds(10)) }
    _ = table.take(order, by: "a", at: .seconds(10))
    for second in 30...32 { table.beat("b", at: .seconds(2 * second)) }
    #expect(table.take(order, by: "b", at: .milliseconds(64_900)) == nil)
    #expect(table.take(order, by: "b", at: .seconds(65))?.holder == "b")
  }

  @Test func `takes no heartbeat of the future for a sign of life, when the clock is set back`() {
    var table = LeaseTable(heartbeat: .seconds(2))
    for name in ["a", "b"] { table.beat(name, at: .seconds(3_600)) }
    _ = table.take(order, by: "a", at: .seconds(3_600))
    // The clock is an hour behind from now on, and “a” is dead.
    for second in 0...2 { table.beat("b", at: .seconds(2 * second)) }
    #expect(table.take(order, by: "b", at: .seconds(4)) == nil)
    #expect(table.take(order, by: "b", at: .seconds(5))?.holder == "b")
  }
}
