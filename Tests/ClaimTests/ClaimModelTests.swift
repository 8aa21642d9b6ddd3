import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `The account of claims, compared with a plain model` {
  /// A world with operations that are in, wait, or have yet to come, and the model of it.
  private struct Both {
    let world: World
    let pools: [String: ResourcePool]
    var model = ClaimModel()
    var works: [Int: Work] = [:]

    init(seed: UInt64) {
      world = World(seed: seed)
      pools = ["p": world.pool(5), "q": world.pool(3)]
    }

    mutating func come(_ number: Int, _ demands: [ClaimModel.Demand]) {
      let work = Work.open("w\(number)")
      for demand in demands {
        if let pool = pools[demand.resource] {
          work.addClaim(ResourceUnits(demand.units, of: pool))
        } else {
          work.addClaim(MutuallyExclusive(demand.resource, limit: demand.limit))
        }
      }
      works[number] = work
      world.run(work)
      model.came(number, demands)
    }

    mutating func leave(_ number: Int) {
      if let work = works[number] {
        if work.isExecuting { work.finish() } else { work.cancel() }
      }
      world.simulation.run()
      model.left(number)
    }

    var executing: [Int] { works.filter { $0.value.isExecuting }.map(\.key).sorted() }
    var agrees: Bool { executing == model.inside.sorted() }
    var present: [Int] { works.filter { !$0.value.isFinished }.map(\.key).sorted() }
  }

  @Test(arguments: Effort.seeds(40))
  func `any order of arrivals and departures agrees with the plain model`(seed: UInt64) {
    var random = Random(seed)
    var both = Both(seed: seed)
    for number in 0..<120 {
      if Int.random(in: 0..<5, using: &random) < 3 || both.present.isEmpty {
        var demands: [ClaimModel.Demand] = []
        for resource in ["a", "b", "p", "q"].shuffled(using: &random)
        where Int.random(in: 0..<5, using: &random) < 2 {
          let limit = both.pools[resource]?.capacity ?? Int.random(in: 1...3, using: &random)
          let most = both.pools[resource]?.capacity ?? 1
          demands.append(
            .init(
              resource: resource,
              units: Int.random(in: 1...most, using: &random),
              limit: limit
            )
          )
        }
        both.come(number, demands)
      } else if let one = both.present.randomElement(using: &random) {
        both.leave(one)
      }
      guard both.agrees else {
        Issue.record("step \(number): \(both.executing) and not \(both.model.inside.sorted())")
        return
      }
    }
    while let one = both.present.randomElement(using: &random) {
      both.leave(one)
      #expect(both.agrees)
    }
    #expect(both.model.waiting.isEmpty)
  }

  /// Lines grow to more than a hundred, have gaps everywhere, and are joined by some that waited
  /// for something else before.
  @Test(arguments: Effort.seeds(6))
  func `long waiting lists agree with the plain model`(seed: UInt64) {
    var random = Random(seed)
    var both = Both(seed: seed)
    for number in 0..<160 {
      let resources = Int.random(in: 0..<3, using: &random) == 0 ? ["a", "b"] : ["a"]
      both.come(
        number,
        resources.shuffled(using: &random).map { .init(resource: $0, units: 1, limit: 1) }
      )
    }
    while let one = both.present.randomElement(using: &random) {
      // Mostly somebody who waits.
      both.leave(Bool.random(using: &random) ? both.executing.first ?? one : one)
      guard both.agrees else {
        Issue.record("\(both.executing) and not \(both.model.inside.sorted())")
        return
      }
    }
    #expect(both.model.waiting.isEmpty)
  }

  private static let sets: [[[ClaimModel.Demand]]] = [
    [
      [.init(resource: "a", units: 1, limit: 1)], [.init(resource: "a", units: 1, limit: 2)],
      [.init(resource: "a", units: 1, limit: 1)], [.init(resource: "a", units: 1, limit: 2)],
    ],
    [
      [.init(resource: "p", units: 3, limit: 5)], [.init(resource: "p", units: 5, limit: 5)],
      [.init(resource: "p", units: 1, limit: 5)], [.init(resource: "p", units: 2, limit: 5)],
    ],
    [
      [.init(resource: "a", units: 1, limit: 1), .init(resource: "b", units: 1, limit: 1)],
      [.init(resource: "b", units: 1, limit: 1), .init(resource: "a", units: 1, limit: 1)],
      [.init(resource: "a", units: 1, limit: 1)], [.init(resource: "b", units: 1, limit: 1)],
    ],
    [
      [.init(resource: "p", units: 4, limit: 5), .init(resource: "a", units: 1, limit: 1)],
      [.init(resource: "p", units: 4, limit: 5)],
      [.init(resource: "a", units: 1, limit: 1), .init(resource: "q", units: 2, limit: 3)],
      [.init(resource: "q", units: 3, limit: 3), .init(resource: "p", units: 1, limit: 5)],
    ],
  ]

  /// All orders in which four operations can come and go, if the first comes first.
  @Test(arguments: 0..<4)
  func `every order of four operations agrees with the plain model`(set: Int) {
    let demands = Self.sets[set]
    var count = 0
    func explore(_ events: [Int]) {
      if events.count == 8 {
        count += 1
        if Effort.isOrdinary && !count.isMultiple(of: 7) { return }
        var both = Both(seed: 1)
        var come: Set<Int> = []
        for number in events {
          if come.insert(number).inserted {
            both.come(number, demands[number])
          } else {
            both.leave(number)
          }
          if !both.agrees {
            Issue.record("\(events): \(both.executing) and not \(both.model.inside)")
          }
        }
        return
      }
      for number in 0..<4 where events.count(where: { $0 == number }) < 2 {
        explore(events + [number])
      }
    }
    explore([0])
    #expect(count == 630)
  }
}
