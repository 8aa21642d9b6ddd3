import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// What stands in front of a barrier needs what stands behind it, and more than dependencies says
/// so.
@Suite(.watched) struct `A cycle that a barrier closes` {
  private func cycle(of operation: AdvancedOperation) -> [String]? {
    (operation.cancellationReason as? OperationCycleError)?.path.map(\.name)
  }

  @Test(arguments: seeds)
  func `a barrier cycle through a condition's prerequisite ends`(seed: UInt64) {
    let world = World(seed: seed)
    let (work, prerequisite) = (Work("work"), Work("prerequisite"))
    work.addCondition(Asked { _ in prerequisite })
    world.queue.isSuspended = true
    world.queue.addOperation(work)
    world.queue.addBarrierBlock {}
    world.queue.addOperation(prerequisite)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(prerequisite.isFinished)
    #expect(cycle(of: work) == ["work", "prerequisite", "work"])
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a barrier cycle through a prerequisite's late dependency ends`(seed: UInt64) {
    let world = World(seed: seed)
    let (work, prerequisite, behind) = (Work("work"), Work("prerequisite"), Work("behind"))
    prerequisite.addDependency(behind)
    work.addCondition(Asked { _ in prerequisite })
    world.queue.addOperation(work)
    world.queue.addBarrierBlock {}
    world.simulation.run()
    #expect(work.state == .evaluatingConditions)
    world.queue.addOperation(behind)
    world.simulation.run()
    // The prerequisite came into the queue beside its operation, so the barrier waits for it as
    // well.
    #expect(cycle(of: behind) == ["behind", "prerequisite", "behind"])
    #expect(prerequisite.kind == .succeeded)
    #expect(work.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: [false, true], seeds)
  func `a barrier cycle through a group's claim ends`(isClaimLast: Bool, seed: UInt64) {
    let world = World(seed: seed)
    let (child, behind, gate) = (Work("child"), Work("behind"), Work.open("gate"))
    child.addDependency(behind)
    let group = GroupOperation(name: "group") { child }
    group.addClaim(MutuallyExclusive("db"))
    let before = Work.claiming("before", MutuallyExclusive("db"))
    if isClaimLast { before.addDependency(gate) }
    let elsewhere = AdvancedOperationQueue(environment: world.simulation.environment)
    elsewhere.addOperations([group, gate])
    world.simulation.run()
    world.queue.addOperation(before)
    world.queue.addBarrierBlock {}
    if !isClaimLast { world.simulation.run() }
    world.queue.addOperation(behind)
    world.simulation.run()
    gate.finish()
    world.simulation.run()
    #expect(before.kind == .failed)
    let error = before.errors.first as? OperationConditionError
    let cycle = error?.underlying as? OperationCycleError
    #expect(cycle?.path == ["before", "group", "child", "behind", "before"])
    for operation in [child, behind, group] { #expect(operation.kind == .succeeded) }
    #expect(world.queue.operationCount == 0 && elsewhere.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a barrier cycle through a child of an earlier group ends`(seed: UInt64) {
    let world = World(seed: seed)
    let (child, behind) = (Work("child"), Work("behind"))
    child.addDependency(behind)
    let group = GroupOperation(name: "group") { child }
    world.queue.addOperation(group)
    world.queue.addBarrierBlock {}
    world.queue.addOperation(behind)
    world.simulation.run()
    #expect(cycle(of: child) == ["child", "behind", "group", "child"])
    #expect(group.isFinished && behind.isFinished)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a barrier cycle ends in every order of the three calls`() throws {
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let (before, behind) = (Work("before"), Work("behind"))
      queue.isSuspended = true
      queue.addOperation(before)
      simulation.addStep("barrier") { queue.addBarrierBlock {} }
      simulation.addStep("add") { queue.addOperation(behind) }
      simulation.addStep("depend") {
        before.addDependency(behind)
        simulation.addStep("resume") { queue.isSuspended = false }
      }
      simulation.run()
      try #require(before.isFinished && behind.isFinished && queue.operationCount == 0)
    }
    #expect(report.isComplete)
  }

  #if DEBUG
  @Test func `a barrier cycle ends if the three calls interrupt each other`() async throws {
    let result = await onThread {
      Result {
        try exploreSchedules(
          interruptions: 2,
          depthFirst: Effort.schedules(500),
          randomSchedules: Effort.drawn(150)
        ) { simulation in
          let queue = AdvancedOperationQueue(environment: simulation.environment)
          let (before, behind, hold) = (Work("before"), Work("behind"), Work.open("hold"))
          before.addDependency(hold)
          queue.addOperations([hold, before])
          simulation.addStep("barrier") { queue.addBarrierBlock {} }
          simulation.addStep("add") { queue.addOperation(behind) }
          simulation.addStep("depend") {
            before.addDependency(behind)
            simulation.addStep("release") { hold.cancel() }
          }
          simulation.run()
          try #require(before.isFinished && behind.isFinished && queue.operationCount == 0)
        }
      }
    }
    _ = try result.get()
  }
  #endif
}
