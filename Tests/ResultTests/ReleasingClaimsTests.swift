import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite(.watched) struct `Claims that are released between attempts` {
  @Test(arguments: seeds)
  func `a retrying operation releases its claims between attempts`(seed: UInt64) {
    let world = World(seed: seed)
    let (times, others) = (Log<Duration>(), Log<Duration>())
    let work = world.flaky(times: times)
    let other = world.body("other", seconds: 2, times: others)
    for operation in [work, other] as [AdvancedOperation] {
      operation.addClaim(MutuallyExclusive("x"))
    }
    world.begin(work)
    world.run(other)
    #expect(times.entries == [.zero, .seconds(11)])
    #expect(others.entries == [.seconds(1)])
  }

  @Test(arguments: seeds)
  func `a retrying operation doesn't block a child whose group it waits for`(seed: UInt64) {
    let world = World(seed: seed)
    let pool = world.pool(3)
    let work = world.flaky()
    work.addClaim(ResourceUnits(2, of: pool))
    world.begin(work)
    world.simulation.run(until: .seconds(5))
    let gate = Work.open("gate")
    let group = GroupOperation(name: "group") { gate }
    group.addClaim(ResourceUnits(2, of: pool))
    world.queue.addOperation(group)
    world.simulation.run(until: .seconds(15))
    #expect(work.isExecuting)
    // More than the group has left; in the line of all, behind the next attempt.
    let child = Work.claiming("child", ResourceUnits(3, of: pool))
    #expect(group.addOperation(child))
    world.simulation.run()
    #expect(child.isExecuting)
    world.finishAll([gate, child])
    #expect(work.kind == .succeeded)
    #expect(group.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `the next attempt waits for its claims without a slot in FIFO order`(seed: UInt64) {
    let world = World(seed: seed, limit: 2)
    let (times, others) = (Log<Duration>(), Log<Duration>())
    let work = world.flaky(times: times)
    let holder = world.body("holder", seconds: 20, times: others)
    for operation in [work, holder] as [AdvancedOperation] {
      operation.addClaim(MutuallyExclusive("x"))
    }
    world.begin(work)
    world.queue.addOperation(holder)
    world.simulation.run(until: .seconds(15))
    #expect(
      work.explain().description.contains(
        "flaky waits for “x”, which holder holds, for 4 s, to begin attempt 2"
      ),
      "\(work.explain())"
    )
    // There is a slot for it, and it doesn't hold it.
    let late = world.body("late", seconds: 1, times: others)
    world.run(late)
    #expect(others.entries == [.seconds(1), .seconds(15)])
    #expect(times.entries == [.zero, .seconds(21)])
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: [WhenBusy.fail, .skip, .cancelHolder], seeds)
  func `the next attempt waits for busy claims whatever their policy is`(
    whenBusy: WhenBusy,
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let times = Log<Duration>()
    let work = world.flaky(times: times)
    work.addClaim(MutuallyExclusive("x", whenBusy: whenBusy))
    let holder = world.body("holder", seconds: 20)
    holder.addClaim(MutuallyExclusive("x"))
    world.begin(work)
    world.run(holder)
    #expect(holder.kind == .succeeded)
    #expect(work.kind == .succeeded)
    #expect(times.entries == [.zero, .seconds(21)])
  }

  @Test(arguments: seeds)
  func `each attempt counts as a start of a rate`(seed: UInt64) {
    let world = World(seed: seed)
    let times = Log<Duration>()
    let policy = RetryPolicy.constant(.seconds(1)).attempts(5).releasingSlot()
    let work = world.flaky(failures: 3, policy, times: times)
    work.addClaim(RateLimit("api", 1, per: .seconds(30)))
    world.run(work)
    #expect(times.entries == [.zero, .seconds(30), .seconds(60), .seconds(90)])
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `the start of an attempt that never begins is left to other operations`(seed: UInt64) {
    let world = World(seed: seed)
    let work = world.flaky()
    work.addClaim(RateLimit("api", 1, per: .seconds(30)))
    world.queue.addOperation(work)
    world.simulation.run(until: .seconds(20))
    work.cancel()
    let times = Log<Duration>()
    let other = world.body("other", seconds: 1, times: times)
    other.addClaim(RateLimit("api", 1, per: .seconds(30)))
    world.run(other)
    #expect(times.entries == [.seconds(30)])
  }

  @Test func `the next attempt fails if the pool has become too small`() {
    let world = World()
    let pool = world.pool(3)
    let work = world.flaky()
    work.addClaim(ResourceUnits(3, of: pool))
    world.queue.addOperation(work)
    world.simulation.run(until: .seconds(5))
    pool.capacity = 2
    world.simulation.run()
    #expect(work.kind == .failed)
    #expect(work.origins == [.attempt(1, .body), .condition("pool")])
    #expect(work.errors.count == 2)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a manually started operation releases claims between attempts too`(seed: UInt64) {
    let world = World(seed: seed)
    let (times, others) = (Log<Duration>(), Log<Duration>())
    let work = world.flaky(failures: 2, times: times)
    work.environment = world.simulation.environment
    work.addClaim(MutuallyExclusive("x"))
    let holder = world.body("holder", seconds: 20, times: others)
    holder.addClaim(MutuallyExclusive("x"))
    work.start()
    world.simulation.run(until: .milliseconds(500))
    world.run(holder)
    #expect(others.entries == [.seconds(1)])
    #expect(times.entries == [.zero, .seconds(21), .seconds(32)])
    #expect(work.kind == .succeeded)
  }

  // MARK: Conditions

  private struct Counted: ImmediateCondition {
    let count: Counter
    func check(_ operation: AdvancedOperation) -> OperationConditionResult {
      count.add()
      return .satisfied
    }
  }

  @Test func `conditions are evaluated before the first attempt only`() {
    let world = World(limit: 1)
    let count = Counter()
    let work = world.flaky(failures: 3)
    work.addCondition(Counted(count: count))
    work.addClaim(MutuallyExclusive("x"))
    let holder = world.body("holder", seconds: 20)
    holder.addClaim(MutuallyExclusive("x"))
    world.begin(work)
    world.run(holder)
    #expect(work.kind == .succeeded)
    #expect(count.count == 2)
  }

  // MARK: Explanations

  @Test func `the explanation reports the cause that the next attempt waits for`() {
    let world = World(limit: 1)
    world.queue.name = "queue"
    let work = world.flaky()
    world.queue.addOperations([work, world.body("other", seconds: 60)])
    world.simulation.run(until: .seconds(5))
    #expect(
      work.explain().description
        == "flaky waits: attempt 1 failed (flaw 1); tries again in 6 s"
    )
    world.simulation.run(until: .seconds(15))
    #expect(work.explain().causes.map(\.kind) == [.limit])
    #expect(
      work.explain().causes.map(\.text) == [
        "waits for a slot of queue “queue”, whose limit of 1 is used up by other, "
          + "to begin attempt 2"
      ]
    )
    world.queue.isSuspended = true
    #expect(work.explain().causes.map(\.kind) == [.suspended, .limit])
  }

  // MARK: Cycles

  @Test(arguments: seeds)
  func `a cycle through the slot that an attempt waits for ends`(seed: UInt64) throws {
    // The waiting body begins before the attempt is due, or after.
    for delay in [5, 15] {
      let world = World(seed: seed, limit: 1)
      let clock = world.simulation.environment.clock
      let work = world.flaky()
      let waiting = ResultOperation(name: "waiting") {
        try await clock.sleep(until: .seconds(delay))
        return try await work.value
      }
      world.run(work, waiting)
      #expect(work.isFinished)
      #expect(waiting.isFinished)
      if delay == 5 {
        let cycle = try #require(work.cancellationReason as? OperationCycleError)
        #expect(cycle.path == ["flaky", "waiting", "flaky"])
      } else {
        let cycle = try #require(waiting.errors.first as? OperationCycleError)
        #expect(cycle.path == ["waiting", "flaky", "waiting"])
        #expect(work.kind == .succeeded)
      }
      #expect(world.queue.operationCount == 0)
    }
  }

  @Test(arguments: seeds)
  func `a cycle through the claim that an attempt waits for ends`(seed: UInt64) throws {
    for delay in [5, 15] {
      let world = World(seed: seed)
      let clock = world.simulation.environment.clock
      let work = world.flaky()
      let waiting = ResultOperation(name: "waiting") {
        try await clock.sleep(until: .seconds(delay))
        return try await work.value
      }
      work.addClaim(MutuallyExclusive("x"))
      waiting.addClaim(MutuallyExclusive("x"))
      world.begin(work)
      world.run(waiting)
      #expect(work.isFinished)
      #expect(waiting.isFinished)
      if delay == 5 {
        #expect(work.kind == .failed)
        #expect(work.origins == [.attempt(1, .body), .condition("x")])
        let error = try #require(work.errors.last as? OperationConditionError)
        let cycle = try #require(error.underlying as? OperationCycleError)
        #expect(cycle.path == ["flaky", "waiting", "flaky"])
      } else {
        let cycle = try #require(waiting.errors.first as? OperationCycleError)
        #expect(cycle.path == ["waiting", "flaky", "waiting"])
        #expect(work.kind == .succeeded)
      }
      #expect(world.queue.operationCount == 0)
    }
  }

  @Test(arguments: seeds)
  func `a cycle that a lowered limit completes ends`(seed: UInt64) throws {
    let world = World(seed: seed, limit: 0)
    let work = world.flaky()
    let waiting = ResultOperation(name: "waiting") { try await work.value }
    world.queue.maxConcurrentOperationCount = 2
    world.queue.addOperations([work, waiting])
    world.simulation.run(until: .seconds(5))
    world.queue.maxConcurrentOperationCount = 1
    world.simulation.run()
    #expect(work.cancellationReason is OperationCycleError)
    #expect(waiting.isFinished)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a cycle through a group's slot and a waiting attempt ends`(seed: UInt64) throws {
    let world = World(seed: seed, limit: 1)
    let work = world.flaky()
    let child = Work("child")
    child.addDependency(work)
    let group = GroupOperation(name: "group") { child }
    world.run(work, group)
    let cycle = try #require(work.cancellationReason as? OperationCycleError)
    #expect(cycle.path == ["flaky", "group", "child", "flaky"])
    #expect(child.kind == .succeeded)
    #expect(group.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a cycle through a barrier behind a waiting attempt ends`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let work = world.flaky()
    let behind = Work("behind")
    let waiting = ResultOperation(name: "waiting") { try await behind.untilFinished() }
    world.queue.addOperations([work, waiting])
    world.queue.addBarrierBlock {}
    world.run(behind)
    #expect(work.isFinished)
    #expect(waiting.isFinished)
    #expect(behind.isFinished)
    #expect(world.queue.operationCount == 0)
  }

  // MARK: Others that try again

  @Test(arguments: seeds)
  func `a RetryOperation releases its claims between attempts`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let others = Log<Duration>()
    let attempts = Counter()
    let work = RetryOperation(
      name: "retry",
      retry: .constant(.seconds(10)).attempts(5).releasingSlot()
    ) { _ in
      attempts.add() < 3 ? Work.failing("attempt") : Work("attempt")
    }
    work.addClaim(MutuallyExclusive("x"))
    let other = world.body("other", seconds: 2, times: others)
    other.addClaim(MutuallyExclusive("x"))
    world.run(work, other)
    #expect(others.entries == [.zero])
    #expect(work.kind == .succeeded)
    #expect(world.simulation.now == .seconds(20))
  }

  @Test(arguments: seeds)
  func `a child releases its claims to siblings within the group's claim`(seed: UInt64) {
    let world = World(seed: seed)
    let others = Log<Duration>()
    let work = world.flaky()
    let sibling = world.body("sibling", seconds: 2, times: others)
    let group = GroupOperation(name: "group", maxConcurrentOperationCount: 1) {
      work
      sibling
    }
    for operation in [work, sibling, group] as [AdvancedOperation] {
      operation.addClaim(MutuallyExclusive("x"))
    }
    world.run(group)
    #expect(others.entries == [.seconds(1)])
    #expect(group.kind == .succeeded)
  }
}
