import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A claim that becomes free` {
  /// One end makes an operation ready and gives back the claim that another one waits for.
  @Test(arguments: Effort.seeds(200), [true, false])
  func `a released claim doesn't let its operation overtake an earlier ready one`(
    seed: UInt64,
    byPriority: Bool
  ) {
    let world = World(seed: seed, limit: 1)
    let started = Log<String>()
    let other = AdvancedOperationQueue(environment: world.simulation.environment)
    let holder = Work.open("holder")
    holder.addClaim(MutuallyExclusive("x"))
    other.addOperation(holder)
    world.simulation.run()
    let (ready, claiming) = (Work("ready"), Work("claiming"))
    ready.addDependency(holder)
    claiming.addClaim(MutuallyExclusive("x"))
    for work in [ready, claiming] { work.onStart { started.add($0.name ?? "") } }
    if byPriority { ready.queuePriority = .high }
    world.queue.addOperations(byPriority ? [claiming, ready] : [ready, claiming])
    world.simulation.run()
    holder.finish()
    world.simulation.run()
    #expect(started.entries == ["ready", "claiming"])
  }
}
