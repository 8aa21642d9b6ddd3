import AdvancedOperationsTesting
import OrderWorkflow
import TestEffort
import Testing

@Suite("A store that fails for a while")
struct StoreTroubleTests {
  /// Has the store fail after one step of the simulation, after two, and so on, for so long.
  private func failAtEveryStep(
    for time: Duration,
    meanwhile check: (Life, OrderID, Int) throws -> Void = { _, _, _ in },
    expect: (Order.State, Int) throws -> Void
  ) throws {
    for steps in Effort.steps(every: 4) {
      let shop = Shop()
      let life = try Life(in: shop, seed: UInt64(steps))
      let id = try life.submit(.teaAndCups)
      for _ in 0..<steps { life.simulation.step() }
      if try life.state(of: id).isFinal { break }
      shop.failure.isFailing = true
      life.run(until: life.simulation.now + time)
      try check(life, id, steps)
      shop.failure.isFailing = false
      life.run()
      try expect(life.state(of: id), steps)
      #expect(life.desk.storeTrouble == nil, "after \(steps) steps")
      #expect(life.desk.openCount == 0, "after \(steps) steps")
      #expect(shop.mistakes == [], "after \(steps) steps")
    }
  }

  @Test func `fails no order, whichever step it fails in`() throws {
    try failAtEveryStep(for: .seconds(20)) { life, id, steps in
      let state = try life.state(of: id)
      #expect(state == .open, "after \(steps) steps")
      #expect(life.desk.storeTrouble == "disk full", "after \(steps) steps")
    } expect: { state, steps in
      #expect(state == .confirmed, "after \(steps) steps")
    }
  }

  @Test func `keeps an order open for as long as it fails, and the order counts`() throws {
    try failAtEveryStep(for: .seconds(90)) { life, id, steps in
      let state = try life.state(of: id)
      #expect(state == .open, "after \(steps) steps")
      #expect(life.desk.openCount == 1, "after \(steps) steps")
      #expect(life.desk.storeTrouble == "disk full", "after \(steps) steps")
    } expect: { state, steps in
      #expect(state == .confirmed, "after \(steps) steps")
    }
  }

  @Test func `store trouble loses no cancel that arrives in the meantime`() throws {
    try failAtEveryStep(for: .seconds(90)) { life, id, steps in
      // An order that has charged nothing yet may be between two lives.
      while !life.desk.cancel(id, because: "a change of mind") { life.simulation.step() }
    } expect: { state, steps in
      #expect(state.name == "cancelled", "after \(steps) steps")
    }
  }

  @Test func `is known by an order that it doesn't keep, until it would keep one`() throws {
    let shop = Shop()
    let life = try Life(in: shop)
    shop.failure.isFailing = true
    #expect(throws: FlakyStore.DiskFull.self) { try life.submit(.tea()) }
    #expect(life.desk.storeTrouble == "disk full")
    life.run(until: .seconds(60))
    #expect(life.desk.storeTrouble == "disk full")
    shop.failure.isFailing = false
    life.run()
    #expect(life.desk.storeTrouble == nil)
    // An order that is kept says the same, and at once.
    shop.failure.isFailing = true
    #expect(throws: FlakyStore.DiskFull.self) { try life.submit(.tea()) }
    shop.failure.isFailing = false
    _ = try life.submit(.teaAndCups)
    #expect(life.desk.storeTrouble == nil)
    life.run()
  }

  @Test func `doesn't keep the desk from closing`() throws {
    let shop = Shop()
    let life = try Life(in: shop)
    let id = try life.submit(.tea())
    shop.failure.isFailing = true
    life.run(until: .seconds(200))
    let begin = life.simulation.now
    try life.simulation.run { [desk = life.desk] in _ = await desk.drain(within: .seconds(10)) }
    #expect(life.simulation.now - begin <= .seconds(10))
    #expect(life.desk.openCount == 0)
    #expect(try life.state(of: id) == .open)

    shop.failure.isFailing = false
    let next = try Life(in: shop)
    next.run()
    #expect(try next.state(of: id) == .confirmed)
    #expect(shop.mistakes == [])
  }

  @Test func `store trouble delays a rollback, which continues afterwards`() throws {
    let shop = Shop()
    let life = try Life(in: shop)
    shop.carrier.failures = .max
    let id = try life.submit(.tea())
    // The carrier is given up after two minutes.
    life.run(until: .seconds(60))
    shop.failure.isFailing = true
    life.run(until: .seconds(200))
    #expect(try life.state(of: id) == .open)
    #expect(life.desk.openCount == 1)
    shop.failure.isFailing = false
    life.run()
    #expect(try life.state(of: id).failure?.kind == .notShipped)
    #expect(shop.mistakes == [])
  }
}
