import AdvancedOperations
import AdvancedOperationsTesting
import OrderWorkflow
import ServiceSupport
import TestEffort
import Testing

@Suite("A program that dies, and is started again,")
struct RestartTests {
  /// Places an order in a shop, and has the program die after one step, after two, and so on; then
  /// starts it again, and looks at what has become of the order.
  ///
  /// - Returns: How often the program died before the order was over.
  @discardableResult
  private func dieAtEveryStep(
    every stride: Int = 2,
    _ prepare: (Shop) -> Void = { _ in },
    afterThat repair: (Shop) -> Void = { _ in },
    expect check: (_ state: Order.State, _ steps: Int) throws -> Void
  ) throws -> Int {
    for steps in Effort.steps(every: stride) {
      let shop = Shop()
      prepare(shop)
      let life = try Life(in: shop)
      let id = try life.submit(.teaAndCups)
      for _ in 0..<steps { life.simulation.step() }
      let isOver = try #require(shop.store.order(id)).state.isFinal
      repair(shop)

      // Nothing of the first life goes on.
      let next = try Life(in: shop, seed: UInt64(steps))
      next.run()
      try check(next.state(of: id), steps)
      #expect(shop.mistakes == [], "after \(steps) steps")
      if isOver { return steps }
    }
    return 0
  }

  @Test func `a restart after a crash in any step charges each order once`() throws {
    let deaths = try dieAtEveryStep { state, steps in
      #expect(state == .confirmed, "after \(steps) steps")
    }
    #expect(deaths > 10)
  }

  @Test func `confirms its orders although the provider has lost an answer`() throws {
    try dieAtEveryStep {
      $0.provider.next(.losesAnswer)
    } expect: { state, steps in
      #expect(state == .confirmed, "after \(steps) steps")
    }
  }

  @Test func `never charges what it has begun to undo`() throws {
    var names: Set<String> = []
    try dieAtEveryStep(every: 3) {
      $0.provider.mood = .declines
    } afterThat: {
      $0.provider.mood = .works
    } expect: { state, _ in
      names.insert(state.name)
    }
    // What died before the answer came was charged, and the rest stays declined.
    #expect(names == ["confirmed", "failed"])
  }

  @Test func `never ships what it has begun to undo`() throws {
    var states: [String] = []
    try dieAtEveryStep(every: 9) {
      $0.carrier.failures = .max
    } afterThat: {
      $0.carrier.failures = 0
    } expect: { state, _ in
      states.append(state.name)
    }
    // Up to some step orders go on, and after it none does.
    let first = try #require(states.firstIndex(of: "failed"))
    #expect(states[..<first].allSatisfy { $0 == "confirmed" })
    #expect(states[first...].allSatisfy { $0 == "failed" })
    #expect(first > 0)
  }

  @Test func `asks before it charges a card that it may have charged`() throws {
    let shop = Shop()
    let life = try Life(in: shop)
    shop.provider.mood = .takes(.seconds(2))
    let id = try life.submit(.tea())
    life.run(until: .seconds(1))
    #expect(shop.provider.requests == ["charge"])

    let next = try Life(in: shop)
    next.run()
    #expect(shop.provider.requests == ["charge", "look up", "charge"])
    #expect(try next.state(of: id) == .confirmed)
  }

  @Test func `a service that crashes often finishes every order`() throws {
    for seed in Effort.seeds(20) {
      var chance = SeededGenerator(seed: seed)
      let shop = Shop(tea: 4)
      shop.provider.next(.losesAnswer, .isDown, .lies, .declinesWithoutRecord, .declines)
      shop.provider.nextRefunds(.losesAnswer, .isDown)
      shop.carrier.failures = 2
      var ids: [OrderID] = []
      for number in 1...5 {
        let life = try Life(in: shop, seed: seed * 10 + UInt64(number))
        ids.append(try life.submit(.tea(), key: "\(number)"))
        if chance.next(below: 3) == 0 {
          life.desk.cancel(ids[chance.next(below: ids.count)], because: "the client hung up")
        }
        for _ in 0..<chance.next(below: 60) { life.simulation.step() }
      }
      let last = try Life(in: shop, seed: seed)
      last.run()
      #expect(shop.store.takeUp().isEmpty, "seed \(seed)")
      #expect(shop.mistakes == [], "seed \(seed)")
    }
  }
}

extension SeededGenerator {
  fileprivate mutating func next(below limit: Int) -> Int { Int(next() % UInt64(max(limit, 1))) }
}
