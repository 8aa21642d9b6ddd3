import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import Testing

@Suite(.watched) struct `Why isn't it running` {
  // MARK: Each cause

  @Test func `the explanation says that an operation isn't in a queue`() {
    let work = Work("work")
    #expect(
      text(work) == """
        work isn't in a queue
        needed: work has to be added to a queue
        """
    )
    #expect(work.explain().rootCauses.map(\.kind) == [.notEnqueued])
  }

  @Test(arguments: [false, true])
  func `an explanation has the duration of a wait for a claim`(hasDependency: Bool) {
    let world = World()
    let holder = Work.claiming("holder", MutuallyExclusive("database"))
    world.run(holder)
    let work = Work.claiming("work", MutuallyExclusive("database"))
    // Times are kept because of it.
    work.addObserver(TimeoutObserver(.seconds(60)))
    if hasDependency { work.addDependency(world.taking(0, "before")) }
    world.queue.addOperations(work.dependencies + [work])
    world.simulation.advance(by: .seconds(5))
    #expect(work.explain().path.first?.duration == .seconds(5))
    #expect(text(work).hasPrefix("work waits for “database”, which holder holds, for 5 s\n"))
  }

  @Test func `the explanation of a core operation covers its whole life`() throws {
    let world = World()
    let first = world.taking(10, "first")
    let block = BlockOperation {}
    block.name = "block"
    block.addDependency(first)
    #expect(block.explain().rootCauses.contains { $0.kind == .notEnqueued })
    #expect(block.explain().subject == "block is pending")
    world.queue.addOperations([first, block])
    world.simulation.advance(by: .seconds(1))
    let lines = block.explain().description.split(separator: "\n")
    #expect(lines.first == "block waits for first")
    #expect(lines.last?.hasPrefix("needed: first has to finish") == true)
    world.simulation.run()
    #expect(block.explain().description == "block has finished")
    #expect(block.explain().subject == "block is finished")
    let cancelled = BlockOperation {}
    cancelled.name = "cancelled"
    cancelled.cancel()
    #expect(cancelled.explain().subject == "cancelled is cancelled, ready")
    #expect(text(cancelled).hasPrefix("cancelled was cancelled, and isn't in a queue"))
    world.run(cancelled)
    #expect(cancelled.explain().description == "cancelled has finished: cancelled")
  }

  @Test func `the explanation says that the queue is suspended`() {
    let world = World()
    world.queue.name = "uploads"
    world.queue.isSuspended = true
    let work = Work("work")
    world.run(work)
    #expect(
      text(work) == """
        work waits for queue “uploads” to be resumed
        needed: queue “uploads” has to be resumed
        """
    )
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(text(work) == "work has finished: succeeded")
  }

  @Test func `the explanation names the operations that use up the limit`() {
    let world = World(limit: 1)
    world.queue.name = "main"
    let (first, second) = (world.taking(10, "first"), Work("second"))
    first.addObserver(TimelineRecorder())
    world.queue.addOperations([first, second])
    world.simulation.advance(by: .milliseconds(3_200))
    #expect(
      text(second) == """
        second waits for a slot of queue “main”, whose limit of 1 is used up by first
          first has been executing for 3.2 s
        needed: first has to finish \
        (its async body may be waiting for a timer, a stream, a continuation or a lock)
        """
    )
    #expect(second.explain().causes[0].involved == [first])
    world.simulation.run()
    #expect(second.isFinished)
  }

  @Test func `the explanation says that the limit is 0`() {
    let world = World(limit: 0)
    world.queue.name = "main"
    let work = Work("work")
    world.run(work)
    #expect(
      text(work) == """
        work waits for a slot of queue “main”, whose limit is 0
        needed: the limit of queue “main” has to be raised
        """
    )
    world.queue.maxConcurrentOperationCount = 1
    world.simulation.run()
  }

  @Test func `the explanation names the dependency that an operation waits for`() {
    let world = World()
    let (first, second) = (world.taking(10, "first"), Work("second"))
    first.addObserver(TimeoutObserver(.seconds(600)))
    second.addDependency(first)
    world.queue.addOperations([first, second])
    world.simulation.advance(by: .seconds(4))
    #expect(
      text(second) == """
        second waits for first
          first has been executing for 4 s
        needed: first has to finish \
        (its async body may be waiting for a timer, a stream, a continuation or a lock)
        """
    )
    #expect(second.explain().path.map(\.kind) == [.dependency, .executing])
    #expect(second.explain().rootCauses.map(\.duration) == [.seconds(4)])
    world.simulation.run()
  }

  @Test func `an explanation omits an unknown duration`() {
    let world = World()
    let (first, second) = (Work.open("first", policy: .whenFinishIsCalled), Work("second"))
    let plain = Operation()
    plain.name = "plain"
    second.addDependency(plain)
    second.addDependency(first)
    world.run(first, second)
    #expect(second.explain().rootCauses.allSatisfy { $0.duration == nil })
    #expect(second.explain().rootCauses.map(\.kind) == [.notEnqueued, .finishNotCalled])
    first.finish()
    plain.start()
    world.simulation.run()
    #expect(second.isFinished)
  }

  @Test func `the explanation names the condition that hasn't answered`() {
    let world = World()
    let work = Work("work")
    work.addCondition(Immediate("quick", always: .satisfied))
    work.addCondition(ConditionProbe())
    work.addCondition(world.askedFor(1))
    work.addCondition(world.askedFor(9))
    world.queue.addOperation(work)
    world.simulation.advance(by: .milliseconds(500))
    #expect(work.explain().causes.map(\.requirement) == ["probe", "asked"])
    #expect(work.explain().causes.map(\.operations) == [[work], [work]])
    world.simulation.advance(by: .milliseconds(1_500))
    #expect(
      text(work) == """
        work waits for the answer of condition “probe” for 2 s; \
        waits for the answer of condition “asked” for 2 s
        needed: condition “probe” of work has to answer; condition “asked” of work has to answer
        """
    )
    work.cancel()
    world.simulation.run()
  }

  @Test func `the explanation names the condition that is being evaluated`() {
    let world = World()
    let work = Work("work")
    let probe = ConditionProbe()
    work.conditionPolicy = .stopAtFirstFailure
    work.addCondition(world.askedFor(1))
    work.addCondition(probe)
    world.queue.addOperation(work)
    world.simulation.advance(by: .milliseconds(500))
    #expect(work.explain().causes.map(\.requirement) == ["asked"])
    world.simulation.advance(by: .seconds(1))
    #expect(work.explain().causes.map(\.requirement) == ["probe"])
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(work.isFinished)
  }

  @Test func `the explanation names an unfinished prerequisite of a condition`() {
    let world = World()
    let prerequisite = world.taking(5, "prerequisite")
    let work = Work("work")
    work.addCondition(Asked("asked", prerequisite: { _ in prerequisite }))
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(1))
    #expect(work.explain().path.map(\.kind) == [.prerequisite, .executing])
    #expect(
      text(work).hasPrefix("work needs prerequisite for condition “asked”\n  prerequisite ")
    )
    #expect(work.explain().causes.map(\.requirement) == ["asked"])
    world.simulation.run()
  }

  @Test func `the explanation names the prerequisite of each condition`() {
    let world = World()
    let (first, second) = (world.taking(1, "first"), world.taking(5, "second"))
    let work = Work("work")
    work.addCondition(Asked("one", prerequisite: { _ in first }))
    work.addCondition(Asked("two", prerequisite: { _ in second }))
    world.queue.addOperation(work)
    world.simulation.advance(by: .milliseconds(500))
    #expect(work.explain().causes.map(\.requirement) == ["one", "two"])
    #expect(work.explain().causes.map(\.involved) == [[first], [second]])
    world.simulation.advance(by: .seconds(2))
    #expect(work.explain().causes.map(\.requirement) == ["two"])
    world.simulation.run()
  }

  @Test func `the explanation names the holder of a claim`() {
    let world = World()
    let holder = world.taking(10, "holder")
    let waiter = Work("waiter")
    for operation in [holder, waiter] as [AdvancedOperation] {
      operation.addClaim(MutuallyExclusive("db"))
      operation.addObserver(TimelineRecorder())
    }
    world.queue.addOperations([holder, waiter])
    world.simulation.advance(by: .seconds(2))
    #expect(
      text(waiter).hasPrefix("waiter waits for “db”, which holder holds")
    )
    #expect(waiter.explain().path.map(\.kind) == [.claim, .executing])
    #expect(waiter.explain().path.last?.operation == holder)
    world.simulation.run()
    #expect(waiter.isFinished)
  }

  @Test func `the explanation names the holder of a manually started operation's claim`() {
    let world = World()
    let holder = world.taking(10, "holder")
    let waiter = Work("waiter")
    holder.addClaim(MutuallyExclusive("db"))
    waiter.addClaim(MutuallyExclusive("db"))
    waiter.environment = world.simulation.environment
    world.queue.addOperation(holder)
    world.simulation.advance(by: .seconds(1))
    waiter.start()
    world.simulation.advance(by: .seconds(1))
    #expect(waiter.explain().path.map(\.kind) == [.claim, .executing])
    world.simulation.run()
  }

  @Test func `an operation behind a slower rate of its key has the time of that rate`() {
    let world = World()
    func call(_ name: String, _ count: Int, per seconds: Int) -> Work {
      let work = Work(name)
      work.addClaim(RateLimit("api", count, per: .seconds(seconds)))
      return work
    }
    let (slow, fast) = (call("slow", 1, per: 60), call("fast", 5, per: 10))
    world.run(call("first", 1, per: 60))
    world.queue.addOperations([slow, fast])
    world.simulation.advance(by: .seconds(10))
    for work in [slow, fast] {
      #expect(text(work).contains("which lets the next start in 50 s"), "\(text(work))")
    }
    world.simulation.run()
  }

  @Test func `the explanation says when a rate allows the next start`() {
    let world = World()
    let works = (1...3).map { Work("\($0)") }
    for work in works { work.addClaim(RateLimit("feed", 2, per: .seconds(60))) }
    world.queue.addOperations(works)
    world.simulation.advance(by: .seconds(10))
    let waiting = works.filter { !$0.isFinished }
    #expect(waiting.count == 1)
    #expect(waiting.allSatisfy { text($0).contains("which lets the next start in 20 s") })
    world.simulation.run()
  }

  @Test func `the explanation names the earlier waiter for a claim with free units`() {
    let world = World()
    let pool = ResourcePool("memory", capacity: 4, domain: world.simulation.environment.claimDomain)
    let holder = world.taking(10, "holder")
    holder.addClaim(ResourceUnits(2, of: pool))
    let large = Work("large")
    large.addClaim(ResourceUnits(4, of: pool))
    let small = Work("small")
    small.addClaim(ResourceUnits(1, of: pool))
    for work in [holder, large, small] as [AdvancedOperation] {
      world.queue.addOperation(work)
      world.simulation.advance(by: .zero)
    }
    #expect(small.explain().path.map(\.kind) == [.claim, .claim, .executing])
    #expect(small.explain().path.map(\.name) == ["small", "large", "holder"])
    let expected = "small waits for 1 of “memory” (2 of 4 free), which large gets first"
    #expect(text(small).hasPrefix(expected))
    world.simulation.run()
    #expect(small.isFinished)
  }

  @Test func `the explanation names the barrier in front of an operation`() {
    let world = World()
    world.queue.name = "main"
    let (before, behind) = (world.taking(10, "before"), Work("behind"))
    world.queue.addOperation(before)
    world.queue.addBarrierBlock {}
    world.queue.addOperation(behind)
    world.simulation.advance(by: .seconds(1))
    #expect(behind.explain().path.map(\.kind) == [.barrier, .executing])
    #expect(text(behind).contains("a barrier of queue “main”, which waits for before"))
    world.simulation.run()
  }

  @Test func `the explanation names the group that hasn't started its child`() {
    let world = World()
    let child = Work("child")
    let group = GroupOperation(name: "group") { child }
    #expect(
      text(child) == """
        child is a child of group, which has not started
          group isn't in a queue
        needed: group has to be added to a queue
        """
    )
    world.queue.isSuspended = true
    world.run(group)
    #expect(child.explain().path.map(\.kind) == [.group, .suspended])
    world.queue.isSuspended = false
    world.simulation.run()
  }

  @Test func `the explanation names the children that a group waits for`() {
    let world = World()
    let child = world.taking(10, "child")
    let group = GroupOperation(name: "group") {
      child
      Work("quick")
    }
    let after = Work("after")
    after.addDependency(group)
    world.queue.addOperations([group, after])
    world.simulation.advance(by: .seconds(1))
    #expect(after.explain().path.map(\.kind) == [.dependency, .children, .executing])
    #expect(after.explain().path.map(\.involved) == [[group], [child], []])
    world.simulation.run()
  }

  @Test func `the explanation of a finished operation names its barrier cycle`() throws {
    // The barrier waits for what is in front of it, and that for what is behind it.
    let world = World()
    let (first, second) = (Work("first"), Work("second"))
    first.addDependency(second)
    world.queue.addOperation(first)
    world.queue.addBarrierBlock {}
    world.run(second)
    #expect([first, second].allSatisfy { $0.isFinished })
    let ended = try #require(
      [first, second].first { $0.cancellationReason is OperationCycleError }
    )
    #expect(
      text(ended).hasPrefix(
        "\(ended.name ?? "") has finished without having run: cancelled\n  cancelled: "
      )
    )
    #expect(text(ended).contains("→"))
  }

  @Test func `a cycle that a lowered limit completed has ended`() {
    // The group has the only slot that is left, a child of it needs one that waits for that slot.
    let world = World(limit: 2)
    let (open, other, child) = (Work.open("open"), Work("other"), Work("child"))
    child.addDependency(other)
    let group = GroupOperation(name: "group") { child }
    world.run(group, open, other)
    world.queue.maxConcurrentOperationCount = 1
    world.finishAll([open])
    #expect((other.cancellationReason as? OperationCycleError)?.path.count == 4)
    #expect([other, child, group].allSatisfy { $0.isFinished })
  }

  @Test func `the explanation says that an operation overrides its readiness`() {
    final class NotYet: Operation, @unchecked Sendable {
      override var isReady: Bool { false }
    }
    let world = World()
    let (notYet, after) = (NotYet(), Work("after"))
    after.addDependency(notYet)
    world.run(notYet, after)
    #expect(after.explain().path.map(\.kind) == [.dependency, .notReady])
    notYet.cancel()
    world.simulation.run()
  }

  @Test func `the explanation says that a cancelled operation waits for its suspended queue`() {
    let world = World()
    world.queue.name = "main"
    world.queue.isSuspended = true
    let work = Work("work")
    world.run(work)
    work.cancel()
    #expect(text(work).hasPrefix("work was cancelled, and waits for queue “main” to be resumed"))
    world.queue.isSuspended = false
    world.simulation.run()
  }
}
