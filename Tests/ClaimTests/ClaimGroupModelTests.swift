import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Groups hold some of what their children claim, one inside of another; all may wait.
///
/// What groups hold always leaves enough for all others, and children of inner groups claim only what
/// these hold, so that none waits for its own group.
@Suite(.watched) struct `The account of claims of groups, compared with a plain model` {
  private typealias Demand = ClaimModel.Demand

  private static let capacities = ["p": 8, "q": 5]
  /// How much groups hold at most.
  private static let budgets = ["p": 4, "q": 2, "a": 2]

  private struct Group {
    let operation: GroupOperation
    let gate: Work
    let demands: [Demand]
    let groups: [Int]
    let mayHaveGroups: Bool
  }

  private struct Both {
    let world: World
    let pools: [String: ResourcePool]
    var random: Random
    var model = ClaimModel()
    var works: [Int: (work: Work, groups: [Int])] = [:]
    var groups: [Int: Group] = [:]

    init(seed: UInt64) {
      world = World(seed: seed)
      random = Random(seed)
      let world = world
      pools = capacities.mapValues { world.pool($0) }
    }

    // MARK: What is there

    var present: [Int] {
      let works = works.filter { !$0.value.work.isFinished }.map(\.key)
      return (works + groups.filter { !$0.value.operation.isFinished }.map(\.key)).sorted()
    }
    var openGroups: [Int] {
      groups.filter { $0.value.operation.isExecuting && !$0.value.gate.isFinished }.keys.sorted()
    }
    var executing: [Int] {
      let works = works.filter { $0.value.work.isExecuting }.map(\.key)
      return (works + groups.filter { $0.value.operation.isExecuting }.map(\.key)).sorted()
    }
    var agrees: Bool { executing == model.inside.sorted() && model.isStable }

    private func isEmpty(_ group: Int) -> Bool {
      let inside =
        works.filter { $0.value.groups.contains(group) && !$0.value.work.isFinished }.count
        + groups.filter { $0.value.groups.contains(group) && !$0.value.operation.isFinished }.count
      return inside == 0
    }

    /// What groups that are there hold or wait for.
    private func held(_ resource: String) -> Int {
      groups.filter { !$0.value.operation.isFinished }.values.flatMap(\.demands)
        .filter { $0.resource == resource }.reduce(0) { $0 + $1.units }
    }

    // MARK: What happens

    private mutating func demands(_ most: (String) -> Int) -> [Demand] {
      var demands: [Demand] = []
      for resource in ["a", "p", "q"].shuffled(using: &random)
      where Int.random(in: 0..<5, using: &random) < 3 && most(resource) > 0 {
        let limit = capacities[resource] ?? Int.random(in: 3...4, using: &random)
        let units = resource == "a" ? 1 : Int.random(in: 1...most(resource), using: &random)
        demands.append(Demand(resource: resource, units: units, limit: limit))
      }
      return demands
    }

    private func attach(_ demands: [Demand], to operation: AdvancedOperation) {
      for demand in demands {
        if let pool = pools[demand.resource] {
          operation.addClaim(ResourceUnits(demand.units, of: pool))
        } else {
          operation.addClaim(MutuallyExclusive(demand.resource, limit: demand.limit))
        }
      }
    }

    private mutating func add(_ operation: AdvancedOperation, to parent: Int?) {
      if let parent, let group = groups[parent] {
        #expect(group.operation.addOperation(operation))
        world.simulation.run()
      } else {
        world.run(operation)
      }
    }

    private func around(_ parent: Int?) -> [Int] {
      parent.map { [$0] + (groups[$0]?.groups ?? []) } ?? []
    }

    mutating func groupComes(_ number: Int) {
      let parents = openGroups.filter { number in
        groups[number].map { $0.mayHaveGroups && $0.groups.isEmpty } ?? false
      }
      let parent = Bool.random(using: &random) ? parents.randomElement(using: &random) : nil
      let free = budgets.reduce(into: [:]) { $0[$1.key] = $1.value - held($1.key) }
      let demands = demands { free[$0] ?? 0 }
      let gate = Work.open("gate of \(number)")
      let operation = GroupOperation(name: "g\(number)") { gate }
      attach(demands, to: operation)
      groups[number] = Group(
        operation: operation,
        gate: gate,
        demands: demands,
        groups: around(parent),
        mayHaveGroups: Bool.random(using: &random)
      )
      add(operation, to: parent)
      model.came(number, demands, inside: around(parent))
    }

    mutating func workComes(_ number: Int) {
      let parent =
        Int.random(in: 0..<4, using: &random) == 0 ? nil : openGroups.randomElement(using: &random)
      // Sometimes more than its group holds, and never so much that groups have to end.
      let group = parent.flatMap { groups[$0] }
      let demands = demands { resource in
        let own = group?.demands.first { $0.resource == resource }?.units ?? 0
        if let group, !group.groups.isEmpty { return own }
        return own + max((capacities[resource] ?? 1) - (budgets[resource] ?? 0), 1)
      }
      let work = Work.open("w\(number)")
      attach(demands, to: work)
      works[number] = (work, around(parent))
      add(work, to: parent)
      model.came(number, demands, inside: around(parent))
    }

    /// Ends it, unless it is a group that has members.
    mutating func leave(_ number: Int) {
      if let work = works[number]?.work {
        if work.isExecuting { work.finish() } else { work.cancel() }
      } else if let group = groups[number] {
        if !group.operation.isExecuting {
          group.operation.cancel()
        } else if isEmpty(number) {
          group.gate.finish()
        } else {
          return
        }
      }
      world.simulation.run()
      model.left(number)
    }
  }

  @Test(arguments: Effort.seeds(30))
  func `groups, their children and outside operations agree with the plain model`(seed: UInt64) {
    var both = Both(seed: seed)
    // Some crowded, some with room.
    let arrivals = Int.random(in: 5...7, using: &both.random)
    for number in 0..<150 {
      if Int.random(in: 0..<10, using: &both.random) < arrivals || both.present.isEmpty {
        if Int.random(in: 0..<6, using: &both.random) == 0 {
          both.groupComes(number)
        } else {
          both.workComes(number)
        }
      } else if let one = both.present.randomElement(using: &both.random) {
        both.leave(one)
      }
      guard both.agrees else {
        let model = both.model
        Issue.record(
          "step \(number): \(both.executing), and not \(model.inside.sorted()), \(model.waiting)"
        )
        return
      }
    }
    while let one = both.present.randomElement(using: &both.random) {
      both.leave(one)
      guard both.agrees else {
        Issue.record("\(both.executing), and not \(both.model.inside.sorted())")
        return
      }
    }
    #expect(both.model.waiting.isEmpty)
    #expect(both.works.values.allSatisfy { [.succeeded, .cancelled].contains($0.work.kind) })
    // All is given back.
    let all = Work.open("all")
    for pool in both.pools.values {
      all.addClaim(ResourceUnits(pool.capacity, of: pool, whenBusy: .fail))
    }
    all.addClaim(MutuallyExclusive("a", whenBusy: .fail))
    both.world.run(all)
    #expect(all.isExecuting)
    both.world.finishAll([all])
  }
}
