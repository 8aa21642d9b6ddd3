import AdvancedOperations
import AdvancedOperationsTesting
import Testing

@Suite struct `A group that is finished from outside` {
  @Test(arguments: seeds)
  func `is quiet when its children are, also those that come later`(seed: UInt64) {
    let world = World(seed: seed)
    let open = Work.open("open")
    let group = GroupOperation { open }
    world.run(group)
    group.finish()
    #expect(group.kind == .succeeded)
    let late = Work("late")
    let produced = Work("produced")
    #expect(group.addOperation(late))
    #expect(throws: Never.self) { try open.produce(produced) }
    world.simulation.run()
    #expect(late.didExecute && produced.didExecute)
    #expect(world.queue.operationCount == 1)
    open.finish(withError: Flaw(1))
    world.simulation.run()
    #expect(world.queue.operationCount == 0)
    #expect(group.kind == .succeeded, "its outcome was decided")
    #expect(!group.addOperation(Work()))
  }

  @Test(arguments: [false, true])
  func `undoes what has to be undone, unless it has succeeded`(fails: Bool) {
    let world = World()
    let log = Log<String>()
    let open = Work.open("open")
    let group = GroupOperation { open }
    group.onRollback { log.add("first") }
    group.onRollback { log.add("second") }
    world.run(group)
    if fails { group.finish(withError: Flaw(1)) } else { group.finish() }
    world.simulation.run()
    #expect(log.entries.isEmpty, "a child is still going on")
    open.finish()
    world.simulation.run()
    #expect(log.entries == (fails ? ["second", "first"] : []))
    #expect(world.queue.operationCount == 0)
  }

  @Test func `lets go of everything in the end`() async {
    let live = LiveCount()
    let world = World()
    do {
      let open = Work("open", token: live.token()) { _ in }
      let group = GroupOperation { open }
      let token = live.token()
      group.onChildError { _, error in
        token.touch()
        return error
      }
      group.onRollback { token.touch() }
      world.run(group)
      group.finish()
      open.finish()
      world.simulation.run()
    }
    await live.none()
  }
}
