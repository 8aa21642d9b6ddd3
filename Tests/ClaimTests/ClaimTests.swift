import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Claims of operations` {
  private enum Database {}
  private enum Network {}

  /// Works with a claim that count how many of them execute at once.
  private static func works(
    _ count: Int,
    _ inside: Counter,
    claim: (Int) -> any OperationClaim
  ) -> [ResultOperation<Void>] {
    (0..<count).map { number in
      let work = ResultOperation(name: "w\(number)") {
        inside.add()
        await Task.yield()
        inside.add(-1)
      }
      work.addClaim(claim(number))
      return work
    }
  }

  @Test(arguments: seeds)
  func `a claim of a type admits one operation at a time`(seed: UInt64) {
    let world = World(seed: seed)
    let inside = Counter()
    let works = Self.works(8, inside) { _ in MutuallyExclusive<Database>() }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(inside.peak == 1)
  }

  @Test(arguments: seeds)
  func `a claim of a name admits one operation at a time across queues`(seed: UInt64) {
    let world = World(seed: seed)
    let inside = Counter()
    let works = Self.works(8, inside) { _ in MutuallyExclusive("uplink") }
    let queues = (0..<3).map { _ in world.makeQueue(limit: -1) }
    for (number, work) in works.enumerated() { queues[number % 3].addOperation(work) }
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(inside.peak == 1)
  }

  @Test(arguments: seeds)
  func `a claim with a limit never admits more operations than the limit`(seed: UInt64) {
    let world = World(seed: seed)
    let inside = Counter()
    let works = Self.works(10, inside) { _ in MutuallyExclusive("uplink", limit: 3) }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(inside.peak <= 3)
  }

  @Test func `a claim with a limit admits that many operations at the same time`() {
    let world = World()
    let works = (0..<4).map { _ in Work.open() }
    for work in works {
      work.addClaim(MutuallyExclusive("uplink", limit: 3))
      world.run(work)
    }
    #expect(works.map(\.didExecute) == [true, true, true, false])
    works[1].finish()
    world.simulation.run()
    #expect(works[3].didExecute)
    for work in works where !work.isFinished { work.finish() }
    world.simulation.run()
  }

  @Test func `claims of different categories don't exclude each other`() {
    let world = World()
    let claims: [any OperationClaim] = [
      MutuallyExclusive<Database>(), MutuallyExclusive<Network>(), MutuallyExclusive("Database"),
      MutuallyExclusive("Network"),
    ]
    let works = claims.map { claim in
      let work = Work.open()
      work.addClaim(claim)
      world.queue.addOperation(work)
      return work
    }
    world.simulation.run()
    #expect(works.allSatisfy { $0.isExecuting })
    for work in works { work.finish() }
    world.simulation.run()
  }

  @Test func `claims are named after the resource that they claim`() {
    #expect(MutuallyExclusive<Database>().name == "Database")
    #expect(MutuallyExclusive("uplink").name == "uplink")
  }

  @Test func `claiming the same thing twice doesn't wait for itself`() {
    let world = World()
    let work = Work()
    for _ in 0..<2 { work.addClaim(MutuallyExclusive("a")) }
    let next = Work()
    next.addClaim(MutuallyExclusive("a"))
    world.run(work, next)
    #expect(work.kind == .succeeded)
    #expect(next.kind == .succeeded)
  }

  @Test func `claims in environments with separate domains don't exclude each other`() {
    let world = World()
    var environment = world.simulation.environment
    environment.claimDomain = ClaimDomain()
    let other = AdvancedOperationQueue(environment: environment)
    let works = [Work.open(), Work.open()]
    for work in works { work.addClaim(MutuallyExclusive("a")) }
    world.queue.addOperation(works[0])
    other.addOperation(works[1])
    world.simulation.run()
    #expect(works.allSatisfy { $0.isExecuting })
    for work in works { work.finish() }
    world.simulation.run()
  }

  @Test(arguments: seeds)
  func `operations that claim in opposite order in two queues all finish`(seed: UInt64) {
    let world = World(seed: seed)
    let queues = [world.makeQueue(), world.makeQueue()]
    let works = (0..<20).map { number in
      let work = ResultOperation(name: "w\(number)") { await Task.yield() }
      let names = number.isMultiple(of: 2) ? ["a", "b"] : ["b", "a"]
      for name in names { work.addClaim(MutuallyExclusive(name)) }
      queues[number % 2].addOperation(work)
      return work
    }
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(queues.allSatisfy { $0.operationCount == 0 })
  }

  @Test(.watched)
  func `operations that claim in opposite order on threads all finish`() async throws {
    var environment = OperationEnvironment()
    environment.claimDomain = ClaimDomain()
    let queues = (0..<2).map { _ in
      let queue = AdvancedOperationQueue(environment: environment)
      queue.maxConcurrentOperationCount = 1
      return queue
    }
    let insides = (a: Counter(), b: Counter())
    for number in 0..<Effort.size(500, ordinarily: 200) {
      let work = Work { work in
        insides.a.add()
        insides.b.add()
        insides.b.add(-1)
        insides.a.add(-1)
        work.finish()
      }
      let names = number.isMultiple(of: 2) ? ["a", "b"] : ["b", "a"]
      for name in names { work.addClaim(MutuallyExclusive(name)) }
      queues[number % 2].addOperation(work)
    }
    for queue in queues { try await queue.untilAllOperationsAreFinished() }
    #expect(insides.a.peak == 1)
    #expect(insides.b.peak == 1)
  }

  @Test func `an operation that waits for two claims doesn't block users of the second`() {
    let world = World()
    let both = Work.open("both")
    both.addClaim(MutuallyExclusive("a"))
    both.addClaim(MutuallyExclusive("b"))
    let a = Work.open("a")
    a.addClaim(MutuallyExclusive("a"))
    world.run(a)
    world.run(both)
    let b = Work("b")
    b.addClaim(MutuallyExclusive("b"))
    world.run(b)
    // The one that waits for a holds nothing of b.
    #expect(b.kind == .succeeded)
    #expect(both.state == .ready)
    a.finish()
    world.simulation.run()
    #expect(both.isExecuting)
    both.finish()
    world.simulation.run()
  }
}
