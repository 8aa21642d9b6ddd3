import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// What is released runs its owner's code: never with a lock held, so it may call everything.
@Suite(.watched) struct `A released object may call the operation` {
  /// Something whose end looks at an operation.
  private static func looking(at operation: AdvancedOperation, _ log: Log<Bool>) -> AtEnd {
    AtEnd { [weak operation] in
      guard let operation else { return }
      _ = operation.errors
      _ = operation.outcome
      operation.addObserver(RecordingObserver()).remove()
      (operation as? GroupOperation)?.onRollback {}
      log.add(operation.isFinished)
    }
  }

  @Test func `a released observer or condition may call its operation`() {
    let world = World()
    let log = Log<Bool>()
    let work = Work()
    do {
      let (first, second) = (Self.looking(at: work, log), Self.looking(at: work, log))
      work.onStart { _ in first.touch() }
      work.addCondition(
        Immediate { _ in
          second.touch()
          return .satisfied
        }
      )
    }
    world.run(work)
    #expect(log.entries == [true, true])
  }

  @Test func `a value that is returned after a cancel is released before its operation`() {
    let world = World()
    let live = LiveCount()
    let work = ResultOperation {
      AdvancedOperation.current?.cancel()
      return live.token()
    }
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(live.made == 1 && live.alive == 0)
  }

  /// Its `deinit` may wait for the operation.
  @Test func `a condition is released before dependents start`() {
    let world = World()
    let log = Log<String>()
    let work = Work()
    let after = Work("after") { after in
      log.add("dependent")
      after.finish()
    }
    after.addDependency(work)
    do {
      let end = AtEnd { log.add("condition") }
      work.addCondition(
        Immediate { _ in
          end.touch()
          return .satisfied
        }
      )
    }
    let observation = work.observe(\.isFinished) { _, _ in log.add("finished") }
    world.run(work, after)
    observation.invalidate()
    #expect(log.entries == ["finished", "condition", "dependent"])
  }

  @Test func `late and removed observers are released immediately`() {
    let world = World()
    let log = Log<Bool>()
    let work = Work()
    do {
      let end = Self.looking(at: work, log)
      work.onStart { _ in end.touch() }.remove()
    }
    #expect(log.entries == [false])
    world.run(work)
    do {
      let end = Self.looking(at: work, log)
      work.onFinish { _, _ in end.touch() }
    }
    #expect(log.entries == [false, true])
  }

  @Test func `an observer that removes itself is released after its call`() {
    let world = World()
    let log = Log<String>()
    let observation = Changing<OperationObservation?>(nil)
    let work = Work()
    do {
      let end = AtEnd { log.add("released") }
      observation.value = work.addObserver(
        BlockObserver(didStart: { _ in
          observation.value?.remove()
          observation.value?.remove()
          end.touch()
          log.add("told")
        })
      )
    }
    world.run(work)
    #expect(log.entries == ["told", "released"])
    observation.value?.remove()
    #expect(log.entries == ["told", "released"])
  }

  @Test func `an observer that another thread removes is released after its call`()
    async throws
  {
    let queue = OperationQueue()
    let log = Log<String>()
    let (isCalled, isRemoved) = (Latch(), Latch())
    let work = Work()
    let observation: OperationObservation
    do {
      let end = AtEnd { log.add("released") }
      observation = work.addObserver(
        BlockObserver(didStart: { _ in
          isCalled.open()
          isRemoved.pass()
          end.touch()
          log.add("told")
        })
      )
    }
    queue.addOperation(work)
    await isCalled.opened()
    observation.remove()
    log.add("removed")
    isRemoved.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(log.entries == ["removed", "told", "released"])
  }

  @Test func `a produced operation is released after observers were notified`() {
    let world = World()
    let log = Log<Bool>()
    let work = Work.open()
    work.addObserver(RecordingObserver()).remove()
    work.addObserver(BlockObserver(didProduce: { _, _ in }))
    world.run(work)
    do {
      let end = Self.looking(at: work, log)
      let produced = Work { work in
        end.touch()
        work.finish()
      }
      #expect(throws: Never.self) { try work.produce(produced) }
      world.simulation.run()
    }
    #expect(log.entries == [false])
    work.finish()
    world.simulation.run()
  }

  @Test func `a group's hook and rollbacks may call the group when released`() {
    let world = World()
    let log = Log<Bool>()
    let group = GroupOperation(name: "group") { Work() }
    do {
      let ends = (0..<3).map { _ in Self.looking(at: group, log) }
      group.mapChildErrors { _, error in
        ends[0].touch()
        return error
      }
      group.mapChildErrors { _, error in
        ends[1].touch()
        return error
      }
      group.onRollback { ends[2].touch() }
    }
    world.run(group)
    #expect(!log.entries.isEmpty)
    #expect(group.kind == .succeeded)
  }

  @Test func `a result's body is released before the end is reported`() {
    let world = World()
    let log = Log<Bool>()
    let box = Changing<AtEnd?>(nil)
    let work = ResultOperation { box.value?.touch() }
    box.value = Self.looking(at: work, log)
    work.onFinish { _, _ in box.value = nil }
    world.run(work)
    #expect(log.entries == [false])
  }

  @Test func `the name of a claim's holder is read without a lock`() {
    final class Named: Work, @unchecked Sendable {
      override var name: String? {
        get {
          // Whoever is asked for its name may look at the domain.
          let probe = Work()
          environment.claimDomain.release(probe)
          return "named"
        }
        set { super.name = newValue }
      }
    }
    let world = World()
    let holder = Named(body: { _ in })
    holder.addClaim(MutuallyExclusive("a"))
    world.run(holder)
    for whenBusy in [WhenBusy.fail, .skip] {
      let work = Work()
      work.addClaim(MutuallyExclusive("a", whenBusy: whenBusy))
      world.run(work)
      #expect(work.kind == (whenBusy == .fail ? .failed : .skipped))
      #expect("\(work.outcome.map { "\($0)" } ?? "")".contains("named"))
    }
    holder.finish()
    world.simulation.run()
  }
}
