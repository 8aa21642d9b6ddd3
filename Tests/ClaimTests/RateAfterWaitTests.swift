import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// A start counts when it is made, also when the operation waited for another claim before.
@Suite struct `A rate limit together with other claims` {
  private static func run(
    _ count: Int,
    _ limit: RateLimit,
    _ others: [any OperationClaim],
    behind holder: Duration,
    seed: UInt64
  ) -> [Duration] {
    let world = World(seed: seed)
    let simulation = world.simulation
    let starts = Log<Duration>()
    func work(_ name: String, _ body: @escaping @Sendable (Work) -> Void) -> Work {
      let work = Work(name, body: body)
      for claim in others { work.addClaim(claim) }
      return work
    }
    let first = work("holder") { work in
      _ = simulation.environment.clock.schedule(at: simulation.now + holder) { work.finish() }
    }
    world.queue.addOperation(first)
    simulation.advance(by: .zero)
    for number in 0..<count {
      let work = work("w\(number)") { work in
        starts.add(simulation.now)
        work.finish()
      }
      work.addClaim(limit)
      world.queue.addOperation(work)
    }
    simulation.run()
    return starts.entries
  }

  @Test(arguments: seeds)
  func `a rate counts the start of an operation rather than its arrival`(seed: UInt64) {
    let starts = Self.run(
      5,
      RateLimit("calls", 2, per: .seconds(600)),
      [MutuallyExclusive("database")],
      behind: .seconds(600),
      seed: seed
    )
    #expect(starts == [600, 600, 900, 1_200, 1_500].map { .seconds($0) })
  }

  @Test(arguments: seeds)
  func `a rate counts starts that waited for units of a pool`(seed: UInt64) {
    let world = World(seed: seed)
    let simulation = world.simulation
    let pool = ResourcePool("pool", capacity: 3, domain: simulation.environment.claimDomain)
    let starts = Log<Duration>()
    let holder = Work("holder") { work in
      _ = simulation.environment.clock.schedule(at: .seconds(10)) { work.finish() }
    }
    holder.addClaim(ResourceUnits(3, of: pool))
    world.queue.addOperation(holder)
    simulation.advance(by: .zero)
    for number in 0..<4 {
      let work = Work("w\(number)") { work in
        starts.add(simulation.now)
        work.finish()
      }
      work.addClaim(ResourceUnits(1, of: pool))
      work.addClaim(RateLimit("calls", 1, per: .seconds(3)))
      world.queue.addOperation(work)
    }
    simulation.run()
    #expect(starts.entries == [10, 13, 16, 19].map { .seconds($0) })
  }

  /// Operations whose times, claims and rates are random: no bucket ever gives more than it has.
  @Test(arguments: Effort.seeds(200))
  func `a rate never starts more operations than its bucket has tokens`(seed: UInt64) {
    var random = Random(seed)
    let world = World(seed: seed)
    let simulation = world.simulation
    let pool = ResourcePool("pool", capacity: 3, domain: simulation.environment.claimDomain)
    let rates = (0..<2).map { number in
      (name: "rate \(number)", count: Int.random(in: 1...3, using: &random), interval: number + 2)
    }
    let starts = Log<(rate: Int, time: Duration)>()
    var works: [Work] = []
    for number in 0..<40 {
      let length = Duration.seconds(Int.random(in: 0...4, using: &random))
      let counted = (0..<2).filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
      let work = Work("w\(number)") { work in
        for rate in counted { starts.add((rate, simulation.now)) }
        _ = simulation.environment.clock.schedule(at: simulation.now + length) { work.finish() }
      }
      if Bool.random(using: &random) { work.addClaim(MutuallyExclusive("database")) }
      if Bool.random(using: &random) {
        work.addClaim(ResourceUnits(Int.random(in: 1...3, using: &random), of: pool))
      }
      for rate in counted {
        let (name, count, interval) = rates[rate]
        work.addClaim(RateLimit(name, count, per: .seconds(count * interval)))
      }
      works.append(work)
      world.queue.addOperation(work)
      simulation.advance(by: .seconds(Int.random(in: 0...3, using: &random)))
      if Int.random(in: 0..<6, using: &random) == 0 { works.randomElement()?.cancel() }
    }
    simulation.run()
    #expect(works.allSatisfy { $0.isFinished })
    for (index, rate) in rates.enumerated() {
      let times = starts.entries.filter { $0.rate == index }.map(\.time)
      for first in times.indices {
        for last in first..<times.count {
          let back = Int((times[last] - times[first]) / .seconds(rate.interval))
          #expect(last - first + 1 <= rate.count + back, "\(rate) \(times)")
        }
      }
    }
  }
}
