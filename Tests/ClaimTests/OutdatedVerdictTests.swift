import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// What one holder of a claim changes, the next one sees: the pattern of *skip if it was done*.
@Suite struct `Immediate conditions under a claim` {
  private func makeImport(_ name: String, _ isDone: Changing<Bool>) -> Work {
    let work = Work(name) { work in
      isDone.value = true
      work.finish()
    }
    work.addClaim(MutuallyExclusive("database"))
    work.addCondition(
      Immediate { _ in isDone.value ? .skipped(reason: "it was done") : .satisfied }
    )
    return work
  }

  @Test(arguments: Effort.seeds(200), [1, 2, 4])
  func `only one of several operations evaluated at the same time executes`(
    seed: UInt64,
    limit: Int
  ) {
    let world = World(seed: seed, limit: limit)
    let isDone = Changing(false)
    let imports = (0..<4).map { makeImport("import \($0)", isDone) }
    world.queue.addOperations(imports)
    world.simulation.run()
    #expect(imports.count { $0.kind == .succeeded } == 1)
    #expect(imports.count { $0.kind == .skipped } == 3)
  }

  @Test(arguments: Effort.seeds(200))
  func `only one of several operations that waited for the claim executes`(seed: UInt64) {
    let world = World(seed: seed)
    let isDone = Changing(false)
    let holder = Work.open("holder")
    holder.addClaim(MutuallyExclusive("database"))
    world.run(holder)
    let imports = (0..<3).map { makeImport("import \($0)", isDone) }
    world.queue.addOperations(imports)
    world.simulation.run()
    #expect(imports.allSatisfy { $0.state == .ready })
    holder.finish()
    world.simulation.run()
    #expect(imports.count { $0.kind == .succeeded } == 1)
    #expect(imports.count { $0.kind == .skipped } == 2)
  }

  @Test(arguments: Effort.seeds(100))
  func `only one of several manually started operations executes`(seed: UInt64) {
    let world = World(seed: seed)
    let isDone = Changing(false)
    let imports = (0..<3).map { makeImport("import \($0)", isDone) }
    for work in imports {
      work.environment = world.simulation.environment
      work.start()
    }
    world.simulation.run()
    #expect(imports.count { $0.kind == .succeeded } == 1)
    #expect(imports.count { $0.kind == .skipped } == 2)
  }
}
