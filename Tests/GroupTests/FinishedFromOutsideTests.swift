import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `A group that is finished from outside` {
  @Test(arguments: seeds)
  func `a finished group leaves the queue after all its children including late ones`(seed: UInt64)
  {
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
  func `a group that is finished from outside rolls back unless it succeeded`(fails: Bool) {
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

  @Test func `a group that is finished from outside releases everything`() async {
    let live = LiveCount()
    let world = World()
    do {
      let open = Work("open", token: live.token()) { _ in }
      let group = GroupOperation { open }
      let token = live.token()
      group.mapChildErrors { _, error in
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

  /// A group of which something happens in the middle of the start of its children.
  private final class Interrupted: GroupOperation, @unchecked Sendable {
    // Sendable: the property has a lock.
    let interruption = Changing<(@Sendable (Interrupted) -> Void)?>(nil)

    /// Read by the body when it makes the queue of the children.
    override var name: String? {
      get {
        if AdvancedOperation.current === self, let body = interruption.value {
          interruption.value = nil
          body(self)
        }
        return super.name
      }
      set { super.name = newValue }
    }
  }

  @Test(arguments: [false, true])
  func `a group that is finished while it starts children releases all it has`(fails: Bool) {
    let world = World()
    let live = LiveCount()
    do {
      let children = [Work("a", token: live.token()), Work("b", token: live.token())]
      let group = Interrupted { children }
      group.interruption.value = { group in
        if fails { group.finish(withError: Flaw(1)) } else { group.finish() }
      }
      group.addClaim(MutuallyExclusive("one"))
      world.run(group)
      #expect(group.interruption.value == nil)
      #expect(group.kind == (fails ? .failed : .succeeded))
      #expect(children.allSatisfy { $0.kind == .cancelled })
    }
    #expect(world.queue.operationCount == 0)
    let next = Work("next")
    next.addClaim(MutuallyExclusive("one", whenBusy: .fail))
    world.run(next)
    #expect(next.kind == .succeeded)
    #expect(live.alive == 0)
  }

  @Test(arguments: seeds)
  func `a group that a start observer finishes lets its children leave first`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let child = Work("child")
    child.onFinish { _, _ in log.add("child") }
    let group = GroupOperation { child }
    group.onStart { $0.finish() }
    group.onFinish { _, _ in log.add("group") }
    world.run(group)
    #expect(log.entries == ["child", "group"])
    #expect(child.kind == .cancelled)
    #expect(group.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }
}
