import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Operations that conditions bring along with `dependency(for:)`.
@Suite struct `Helpers of conditions` {
  @Test(arguments: seeds)
  func `are asked for once, after the operation's own dependencies`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let dependency = Work("dependency") {
      log.add("dependency")
      $0.finish()
    }
    let work = Work("work") {
      log.add("work")
      $0.finish()
    }
    work.addDependency(dependency)
    work.addCondition(
      Asked { operation in
        log.add("asked for")
        return Work("helper") {
          log.add("helper")
          $0.finish()
        }
      } answer: { _ in
        log.add("condition")
        return .satisfied
      }
    )
    world.run(work, dependency)
    #expect(log.entries == ["dependency", "asked for", "helper", "condition", "work"])
  }

  @Test func `are no members of the dependencies`() {
    let world = World()
    let helper = Work.open("helper")
    let dependency = Work("dependency")
    let work = Work()
    work.addDependency(dependency)
    work.addCondition(Asked { _ in helper })
    world.run(work, dependency)
    #expect(helper.isExecuting)
    #expect(work.dependencies == [dependency])
    #expect(work.state == .evaluatingConditions)
    helper.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: [Kind.failed, .cancelled, .skipped, .succeeded])
  func `the condition is asked whatever became of them`(kind: Kind) {
    let world = World()
    let helper = kind == .failed ? Work.failing() : Work()
    if kind == .cancelled { helper.cancel() }
    if kind == .skipped { helper.addCondition(Immediate(always: .skipped(reason: "no need"))) }
    let work = Work()
    let asked = Counter()
    work.addCondition(
      Asked(helper: { _ in helper }) { _ in
        asked.add()
        return .satisfied
      }
    )
    world.run(work)
    #expect(helper.kind == kind)
    #expect(asked.count == 1)
    #expect(work.kind == .succeeded)
    #expect(work.errors.isEmpty)
  }

  @Test func `are cancelled with the operation, with its reason`() {
    let world = World()
    let helper = Work.open("helper")
    let work = Work()
    work.addCondition(Asked { _ in helper })
    world.run(work)
    work.cancel(withError: Flaw(3))
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(helper.kind == .cancelled)
    #expect(helper.flawNumbers == [3])
  }

  @Test func `one that was in a queue before is waited for and not cancelled`() {
    let world = World()
    let helper = Work.open("helper")
    world.run(helper)
    let work = Work()
    let asked = Counter()
    work.addCondition(
      Asked(helper: { _ in helper }) { _ in
        asked.add()
        return .satisfied
      }
    )
    world.run(work)
    #expect(asked.count == 0)
    work.cancel()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(helper.isExecuting)
    helper.finish()
    world.simulation.run()
    #expect(helper.kind == .succeeded)
    #expect(asked.count == 0)
  }

  @Test(arguments: seeds)
  func `two conditions may bring the same one`(seed: UInt64) {
    let world = World(seed: seed)
    let helper = Work("helper")
    let work = Work()
    for _ in 0..<2 { work.addCondition(Asked { _ in helper }) }
    world.run(work)
    #expect(helper.executions.count == 1)
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `two operations may bring the same one`(seed: UInt64) {
    let world = World(seed: seed)
    let helper = Work("helper")
    let works = (0..<4).map { _ in Work() }
    for work in works {
      work.addCondition(Asked { _ in helper })
      world.queue.addOperation(work)
    }
    world.simulation.run()
    #expect(helper.executions.count == 1)
    #expect(works.allSatisfy { $0.kind == .succeeded })
  }

  @Test(.watched) func `two operations in two queues may bring the same one at the same time`()
    async throws
  {
    let queues = [AdvancedOperationQueue(), AdvancedOperationQueue()]
    for _ in 0..<Effort.rounds(1_000) {
      let helper = Work("helper")
      let works = (0..<2).map { _ in Work() }
      for work in works { work.addCondition(Asked { _ in helper }) }
      await together(
        { queues[0].addOperation(works[0]) },
        { queues[1].addOperation(works[1]) }
      )
      for work in works { try await work.untilFinished() }
      #expect(helper.executions.count == 1)
    }
  }

  @Test func `take a slot of a full queue that the operation doesn't hold`() {
    let world = World(limit: 1)
    let helper = Work("helper")
    let work = Work()
    work.addCondition(Asked { _ in helper })
    world.run(work)
    #expect(work.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `run before a barrier that was added behind the operation`() {
    let world = World()
    let log = Log<String>()
    let dependency = Work.open()
    let work = Work {
      log.add("work")
      $0.finish()
    }
    work.addDependency(dependency)
    work.addCondition(
      Asked { _ in
        Work {
          log.add("helper")
          $0.finish()
        }
      }
    )
    world.queue.addOperations([dependency, work])
    world.queue.addBarrierBlock { log.add("barrier") }
    dependency.finishWhenExecuting(in: world)
    #expect(log.entries == ["helper", "work", "barrier"])
  }

  @Test func `a helper of an operation that was started by hand runs too`() {
    let world = World()
    let helper = Work("helper")
    let work = Work()
    work.use(world.simulation.environment)
    work.addCondition(Asked { _ in helper })
    work.start()
    world.simulation.run()
    #expect(helper.kind == .succeeded)
    #expect(work.kind == .succeeded)
  }
}

extension Work {
  fileprivate func finishWhenExecuting(in world: World) {
    world.simulation.run()
    finish()
    world.simulation.run()
  }

  @Test func `that wait for one another are cancelled together with their operation`() {
    let world = World()
    let first = Work.open("first")
    let between = Work.open("between")
    let last = Work("last")
    last.addDependency(first)
    let helpers = [first, between, last]
    let work = Work("work")
    for helper in helpers { work.addCondition(Asked { _ in helper }) }
    world.run(work)
    #expect(first.isExecuting && !last.isExecuting)
    // All that can happen happens while one of them is told of its cancel.
    between.onCancel { _, _ in world.simulation.run() }
    work.cancel()
    world.simulation.run()
    #expect(last.kind == .cancelled)
    #expect(!last.didExecute)
  }
}
