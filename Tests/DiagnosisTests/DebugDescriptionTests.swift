import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `The debug description of an operation that waits for a claim` {
  @Test(arguments: [false, true])
  func `a debug description names the claim and its holder`(byHand: Bool) {
    let world = World()
    let holder = Work.claiming("holder", MutuallyExclusive("db"))
    let waiter = Work.claiming("waiter", MutuallyExclusive("db"))
    world.run(holder)
    if byHand {
      waiter.environment = world.simulation.environment
      waiter.start()
      world.simulation.run()
    } else {
      world.run(waiter)
    }
    #expect(waiter.debugDescription == "waiter (ready): waits for “db”, which holder holds")
    world.finishAll([holder, waiter])
    #expect(waiter.debugDescription == "waiter (succeeded)")
  }

  @Test func `a debug description says when a rate allows the next start`() {
    let world = World()
    let works = (0..<2).map { Work.claiming("w\($0)", RateLimit("api", 1, per: .seconds(60))) }
    for work in works { world.queue.addOperation(work) }
    world.simulation.advance(by: .seconds(20))
    let waiting = works.filter { !$0.didExecute }.map(\.debugDescription)
    #expect(waiting.count == 1)
    #expect(
      waiting.allSatisfy { $0.hasSuffix("waits for “api”, which lets the next start in 40 s") }
    )
    world.simulation.run()
    world.finishAll(works)
  }

  @Test func `a debug description names the waiter that is first for a claim`() {
    let world = World()
    let pool = world.pool(4)
    let works = [
      Work.claiming("holder", ResourceUnits(2, of: pool)),
      Work.claiming("large", ResourceUnits(4, of: pool)),
      Work.claiming("small", ResourceUnits(1, of: pool)),
    ]
    for work in works { world.run(work) }
    #expect(
      works[1].debugDescription
        == "large (ready): waits for 4 of “pool” (2 of 4 free), which holder holds"
    )
    #expect(
      works[2].debugDescription
        == "small (ready): waits for 1 of “pool” (2 of 4 free), which large gets first"
    )
    world.finishAll(works)
  }
}
