import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite(.watched) struct `A policy that releases the slot` {
  // MARK: The slot

  @Test(arguments: seeds)
  func `another operation uses the released slot between attempts`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (times, others) = (Log<Duration>(), Log<Duration>())
    let work = world.flaky(times: times)
    let other = world.body("other", seconds: 2, times: others)
    world.run(work, other)
    #expect(times.entries == [.zero, .seconds(11)])
    #expect(others.entries == [.seconds(1)])
    #expect((try? work.result?.get()) == 2)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a policy without releasingSlot keeps the slot`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let others = Log<Duration>()
    let work = world.flaky(failures: 1, .constant(.seconds(10)).attempts(5))
    world.run(work, world.body("other", seconds: 2, times: others))
    #expect(others.entries == [.seconds(12)])
  }

  @Test(arguments: seeds)
  func `an attempt waits for a free slot before operations that were added later`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (times, others) = (Log<Duration>(), Log<Duration>())
    let work = world.flaky(times: times)
    world.run(
      work,
      world.body("first", seconds: 20, times: others),
      world.body("second", seconds: 5, times: others)
    )
    #expect(others.entries == [.seconds(1), .seconds(22)])
    #expect(times.entries == [.zero, .seconds(21)])
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `an attempt starts before operations of a lower priority`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (times, others) = (Log<Duration>(), Log<Duration>())
    let work = world.flaky(times: times)
    work.queuePriority = .high
    world.run(
      world.body("first", seconds: 20, times: others),
      world.body("second", seconds: 5, times: others),
      work
    )
    #expect(times.entries == [.zero, .seconds(21)])
    #expect(others.entries == [.seconds(1), .seconds(22)])
  }

  @Test(arguments: seeds)
  func `an attempt without a delay starts before operations that were added later`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (times, others) = (Log<Duration>(), Log<Duration>())
    let work = world.flaky(failures: 1, .immediate.attempts(5).releasingSlot(), times: times)
    world.run(work, world.body("other", seconds: 2, times: others))
    #expect(others.entries == [.seconds(2)])
    #expect(times.entries == [.zero, .seconds(1)])
  }

  @Test(arguments: seeds)
  func `a synchronously failing body may release its slot many times`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let attempts = Counter()
    let work = ResultOperation(
      name: "work",
      retry: .immediate.attempts(50).releasingSlot()
    ) {
      if attempts.add() < 20 { throw Flaw(1) }
    }
    world.run(work)
    #expect(work.kind == .succeeded)
    #expect(attempts.count == 20)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `an operation between attempts is executing and counts in the queue`() {
    let world = World(limit: 1)
    let work = world.flaky()
    world.queue.addOperation(work)
    world.simulation.run(until: .seconds(5))
    #expect(work.state == .executing)
    #expect(work.isExecuting)
    #expect(world.queue.operationCount == 1)
    #expect(world.queue.operations == [work])
    #expect(work.attempt == 1)
    world.simulation.run()
    #expect(work.attempt == 2)
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `an attempt doesn't begin while the queue is suspended`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let times = Log<Duration>()
    let work = world.flaky(times: times)
    world.queue.addOperation(work)
    world.simulation.run(until: .seconds(5))
    world.queue.isSuspended = true
    world.simulation.run(until: .seconds(30))
    #expect(times.entries == [.zero])
    #expect(work.isExecuting)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(times.entries == [.zero, .seconds(30)])
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `an attempt waits for a slot of the changed limit`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let times = Log<Duration>()
    let work = world.flaky(times: times)
    world.queue.addOperation(work)
    world.simulation.run(until: .seconds(5))
    world.queue.maxConcurrentOperationCount = 0
    world.simulation.run(until: .seconds(30))
    #expect(times.entries == [.zero])
    world.queue.maxConcurrentOperationCount = 2
    world.simulation.run()
    #expect(times.entries == [.zero, .seconds(30)])
  }

  // MARK: Barriers

  @Test(arguments: seeds)
  func `a barrier waits for an operation between attempts without delaying it`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let clock = world.simulation.environment.clock
    let (times, barriers, others) = (Log<Duration>(), Log<Duration>(), Log<Duration>())
    let work = world.flaky(times: times)
    world.queue.addOperation(work)
    world.simulation.run(until: .seconds(5))
    world.queue.addBarrierBlock { barriers.add(clock.now) }
    world.queue.addOperation(world.body("behind", seconds: 1, times: others))
    world.simulation.run()
    #expect(times.entries == [.zero, .seconds(11)])
    #expect(barriers.entries == [.seconds(12)])
    #expect(others.entries == [.seconds(12)])
  }

  // MARK: The end

  @Test(arguments: seeds)
  func `an operation between attempts is cancelled immediately`(seed: UInt64) {
    for time in [5, 15] {
      let world = World(seed: seed, limit: 1)
      let work = world.flaky()
      let other = world.body("other", seconds: 60)
      world.queue.addOperations([work, other])
      world.simulation.run(until: .seconds(time))
      work.cancel()
      world.simulation.advance(by: .zero)
      #expect(work.isFinished)
      #expect(work.kind == .cancelled)
      #expect(world.queue.operations == [other])
      world.simulation.run()
      #expect(other.kind == .succeeded)
      #expect(world.queue.operationCount == 0)
    }
  }

  @Test(arguments: seeds)
  func `an operation between attempts is cancelled in a suspended queue too`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let work = world.flaky()
    let other = world.body("other", seconds: 60)
    world.queue.addOperations([work, other])
    world.simulation.run(until: .seconds(15))
    world.queue.isSuspended = true
    world.queue.cancelAllOperations()
    world.simulation.advance(by: .zero)
    #expect(work.isFinished)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(world.queue.operationCount == 0)
  }

  @Test func `an operation between attempts that is finished from outside holds nothing`() {
    for time in [5, 15] {
      let world = World(limit: 1)
      let work = world.flaky()
      work.addClaim(MutuallyExclusive("x"))
      let other = world.body("other", seconds: 60)
      let third = Work.claiming("third", MutuallyExclusive("x"))
      world.queue.addOperations([work, other])
      world.simulation.run(until: .seconds(time))
      work.finish()
      world.simulation.run()
      #expect(work.isFinished)
      world.run(third)
      #expect(third.isExecuting)
      third.finish()
      world.simulation.run()
      #expect(world.queue.operationCount == 0)
    }
  }

  @Test func `an operation between attempts ends with its timeout`() {
    for time in [5, 15] {
      let world = World(limit: 1)
      let work = world.flaky()
      work.addObserver(TimeoutObserver(.seconds(time)))
      world.queue.addOperations([work, world.body("other", seconds: 60)])
      world.simulation.run(until: .seconds(time))
      #expect(work.isFinished)
      #expect(work.outcome?.failure?.isTimeout == true)
    }
  }

  @Test(arguments: seeds)
  func `an operation that waits for a slot ends at the total timeout`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let policy = RetryPolicy.constant(.seconds(10)).attempts(5).releasingSlot()
      .totalTimeout(.seconds(15))
    let work = world.flaky(failures: 1, policy)
    work.addClaim(MutuallyExclusive("x"))
    world.queue.addOperations([work, world.body("other", seconds: 60)])
    world.simulation.run(until: .seconds(15))
    #expect(work.isFinished)
    #expect(work.kind == .failed)
    #expect(work.origins == [.attempt(1, .body), .timeout])
    #expect(work.errors.last as? OperationTimeout == .init(duration: .seconds(15)))
    world.simulation.run()
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a cancelled operation between attempts completes no cycle`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let clock = world.simulation.environment.clock
    let work = world.flaky()
    let waiting = ResultOperation(name: "waiting") {
      try await clock.sleep(until: .seconds(15))
      work.cancel()
      try await work.untilFinished()
    }
    world.run(work, waiting)
    #expect(work.kind == .cancelled)
    #expect(waiting.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a queue with an operation between attempts can be drained`() throws {
    for (limit, kind) in [(60, Kind.succeeded), (5, .cancelled)] {
      let world = World(limit: 1)
      let work = world.flaky()
      world.queue.addOperation(work)
      let report = try world.simulation.run {
        await world.queue.drain(within: .seconds(limit))
      }
      #expect(work.kind == kind)
      #expect(report.cutShort.count == (kind == .cancelled ? 1 : 0))
      #expect(world.queue.operationCount == 0)
    }
  }
}
