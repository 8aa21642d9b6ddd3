import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// What is taken is released once, in whatever order operations release.
@Suite(.watched) struct `The book of claims` {
  /// That so many units are free, and no more.
  private static func expectFree(_ count: Int, of pool: ResourcePool, in world: World) {
    let works = (0..<count + 1).map { number in
      Work.claiming("unit \(number)", ResourceUnits(1, of: pool, whenBusy: .skip))
    }
    for work in works { world.run(work) }
    #expect(works.count { $0.isExecuting } == count)
    world.finishAll(works)
  }

  @Test(arguments: seeds) func `releasing a claim repeatedly releases it once`(
    seed: UInt64
  ) {
    var random = Random(seed)
    let world = World(seed: seed)
    let pool = world.pool(5)
    let domain = world.simulation.environment.claimDomain
    var works: [Work] = []
    for number in 0..<40 {
      let work = Work.claiming(
        "w\(number)",
        ResourceUnits(Int.random(in: 1...5, using: &random), of: pool)
      )
      works.append(work)
      world.run(work)
      guard let other = works.randomElement(using: &random) else { continue }
      // A waiter is not taken out of its queue here, or it would never end.
      if other.isFinished || other.isExecuting {
        for _ in 0..<Int.random(in: 0...2, using: &random) {
          if Bool.random(using: &random) { other.withdrawClaims() }
          if other.isFinished || Bool.random(using: &random) { other.cancel() }
          world.simulation.run()
          if other.isFinished { domain.release(other) }
        }
      }
      world.simulation.run()
    }
    world.finishAll(works)
    #expect(works.allSatisfy { $0.isFinished })
    Self.expectFree(5, of: pool, in: world)
  }
}
