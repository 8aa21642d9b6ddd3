import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Dispatch
import TestSupport
import Testing

/// An operation has two ends: finished, and quiet, when no body of it is going on any more.
@Suite(.watched) struct `Finished and idle` {
  @Test func `an operation holds its slot until execute has returned`() async throws {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = 1
    let (entered, leave) = (Latch(), Latch())
    let log = Log<String>()
    let work = Work { _ in
      entered.open()
      leave.pass()
      log.add("returned")
    }
    let next = Work { work in
      log.add("next")
      work.finish()
    }
    let dependent = Work()
    dependent.addDependency(work)
    let other = AdvancedOperationQueue()
    queue.addOperations([work, next])
    other.addOperation(dependent)
    await entered.opened()
    work.cancel()
    #expect(work.state == .finished)
    // Finished: dependents start.
    try await dependent.untilFinished()
    // Not quiet: slot and membership are kept.
    #expect(!next.didExecute)
    #expect(queue.operations.contains(work))
    leave.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(log.entries == ["returned", "next"])
  }

  @Test func `an operation holds its claims until execute has returned`() async throws {
    let queue = AdvancedOperationQueue(
      environment: OperationEnvironment(claimDomain: ClaimDomain())
    )
    let (entered, leave) = (Latch(), Latch())
    let work = Work { work in
      work.finish()
      entered.open()
      leave.pass()
    }
    work.addClaim(MutuallyExclusive("a"))
    queue.addOperation(work)
    await entered.opened()
    #expect(work.state == .finished)
    let refused = Work()
    refused.addClaim(MutuallyExclusive("a", whenBusy: .fail))
    let waiting = Work()
    waiting.addClaim(MutuallyExclusive("a"))
    queue.addOperations([refused, waiting])
    try await refused.untilFinished()
    #expect(refused.kind == .failed)
    leave.open()
    try await waiting.untilFinished()
    #expect(waiting.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `an operation holds slot and claims until its async body has ended`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let gate = Latch()
    let work = ResultOperation { await gate.opened() }
    work.addClaim(MutuallyExclusive("a"))
    let next = Work("next")
    let claiming = Work("claiming")
    claiming.addClaim(MutuallyExclusive("a"))
    world.run(work)
    // Somebody else says that it is done.
    work.finish()
    #expect(work.state == .finished)
    world.queue.addOperation(next)
    let other = world.makeQueue()
    other.addOperation(claiming)
    world.simulation.run()
    #expect(!next.didExecute)
    #expect(!claiming.didExecute)
    gate.open()
    world.simulation.run()
    #expect(next.kind == .succeeded)
    #expect(claiming.kind == .succeeded)
  }

  @Test func `a dependent starts when an operation is finished even before its body ends`() {
    let world = World()
    let gate = Latch()
    let work = ResultOperation { await gate.opened() }
    let dependent = Work()
    dependent.addDependency(work)
    world.run(work, dependent)
    work.finish()
    world.simulation.run()
    #expect(dependent.kind == .succeeded)
    #expect(world.queue.operations == [work])
    gate.open()
    world.simulation.run()
    #expect(world.queue.operations.isEmpty)
  }

  /// What is given back at quiet needs the queue, which is told of the end before.
  @Test func `an operation leaves the queue if its body ends during the report`()
    async throws
  {
    let (entered, leave, went) = (Latch(), Latch(), Latch())
    var environment = OperationEnvironment()
    environment.tracer = Tracer { operation, state in
      guard operation.name == "work", state == .finished else { return }
      leave.open()
      went.pass()
    }
    let queue = AdvancedOperationQueue(environment: environment)
    queue.underlyingQueue = DispatchQueue(label: "one thread")
    queue.maxConcurrentOperationCount = 2
    let work = Work("work") { _ in
      entered.open()
      leave.pass()
    }
    // Runs on the thread of the body once that has returned.
    let next = Work { work in
      went.open()
      work.finish()
    }
    queue.addOperations([work, next])
    await entered.opened()
    await onThread { work.cancel() }
    try await next.untilFinished()
    #expect(!queue.operations.contains(work))
  }

  /// The end is reported on one thread while the body ends on another.
  @Test func `a slot is freed if finish and execute's return race`() async throws {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = 1
    for _ in 0..<2_000 {
      let entered = Latch()
      let work = Work { _ in entered.open() }
      queue.addOperation(work)
      await entered.opened()
      work.cancel()
      try await work.untilFinished()
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(queue.operationCount == 0)
  }

  @Test func `slot and claim are freed if finish and the body's end race`()
    async throws
  {
    let queue = AdvancedOperationQueue(
      environment: OperationEnvironment(claimDomain: ClaimDomain())
    )
    queue.maxConcurrentOperationCount = 1
    for _ in 0..<Effort.rounds(2_000) {
      let (entered, leave) = (Latch(), Latch())
      let work = ResultOperation {
        entered.open()
        await leave.opened()
      }
      work.addClaim(MutuallyExclusive("a"))
      queue.addOperation(work)
      await entered.opened()
      await together({ leave.open() }, { work.finish() })
    }
    try await queue.untilAllOperationsAreFinished()
    let last = Work()
    last.addClaim(MutuallyExclusive("a", whenBusy: .fail))
    queue.addOperation(last)
    try await last.untilFinished()
    #expect(last.kind == .succeeded)
  }

  @Test func `waiting for a queue includes bodies of finished operations`() async throws {
    let world = World()
    let gate = Latch()
    let work = ResultOperation { await gate.opened() }
    world.run(work)
    work.finish()
    world.simulation.run()
    #expect(world.queue.operationCount == 1)
    gate.open()
    world.simulation.run()
    try await world.queue.untilAllOperationsAreFinished()
    #expect(world.queue.operationCount == 0)
  }
}
