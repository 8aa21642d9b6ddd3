import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

@Suite struct `A scope and where it is opened` {
  @Test(arguments: seeds)
  func `a scope in a simulated body stays in the simulation and its claim domain`(
    seed: UInt64
  ) throws {
    let world = World(seed: seed)
    let inside = Log<Bool>()
    let holder = ResultOperation(name: "holder") {
      let clock = AdvancedOperation.current?.environment.clock
      try await clock?.sleep(for: .seconds(10))
      inside.add(false)
    }
    holder.addClaim(MutuallyExclusive("database"))
    let claiming = ResultOperation(name: "claiming") {
      try await withOperations { scope in
        let child = ResultOperation(name: "child") { inside.add(true) }
        child.addClaim(MutuallyExclusive("database"))
        scope.add(child)
        try await child.value
        return scope.environment.claimDomain
      }
    }
    world.queue.addOperation(holder)
    try world.simulation.run(until: { holder.state == .executing })
    world.queue.addOperation(claiming)
    world.simulation.run()
    #expect(inside.entries == [false, true])
    let domain = try #require(try claiming.result?.get())
    #expect(domain === world.simulation.environment.claimDomain)
    #expect(world.simulation.strays.isEmpty)
    #expect(world.simulation.now == .seconds(10))
  }

  @Test func `a scope outside of operations has a default environment`() async throws {
    let domain = try await withOperations { $0.environment.claimDomain }
    #expect(domain === ClaimDomain.shared)
  }

  @Test func `a scope uses the environment that it is given`() throws {
    let (world, other) = (World(), OperationEnvironment(claimDomain: ClaimDomain()))
    let body = ResultOperation {
      try await withOperations(environment: other) { $0.environment.claimDomain }
    }
    world.queue.addOperation(body)
    world.simulation.run()
    #expect(try body.result?.get() === other.claimDomain)
  }

  @Test func `a queue's observers are notified of operations in a body's scope`() {
    let world = World()
    let recorder = RecordingObserver()
    world.queue.addObserver(recorder)
    world.run(ResultOperation { try await withOperations { scope in scope.add(Work()) } })
    #expect(recorder.kinds.filter { $0 == .finished }.count == 2)
  }

  @Test(arguments: seeds)
  func `a scope's limit bounds the number of executing operations`(seed: UInt64) throws {
    let world = World(seed: seed)
    let running = Locked((now: 0, most: 0))
    try world.simulation.run {
      try await withOperations(maxConcurrentOperationCount: 2) { scope in
        for _ in 0..<6 {
          scope.add(
            ResultOperation {
              running.withLock { running in
                running.now += 1
                running.most = max(running.most, running.now)
              }
              try await OperationClock.current.sleep(for: .seconds(1))
              running.withLock { $0.now -= 1 }
            }
          )
        }
      }
    }
    #expect(running.withLock { $0.most } == 2)
    #expect(world.simulation.now == .seconds(3))
  }

  @Test
  func `a scope's observers are attached to later operations until they are removed`() throws {
    let world = World()
    let recorder = RecordingObserver()
    try world.simulation.run {
      try await withOperations { scope in
        try await scope.add(ResultOperation(name: "before") {}).value
        let observation = scope.addObserver(recorder)
        try await scope.add(ResultOperation(name: "observed") {}).value
        observation.remove()
        try await scope.add(ResultOperation(name: "after") {}).value
      }
    }
    #expect(recorder.kinds == [.enqueued, .started, .willFinish, .finished])
  }

  @Test func `cancelling a scope's operations with a reason is one of its errors`() throws {
    let world = World()
    let (held, later) = (Work.open("held"), Work("later"))
    let failure = #expect(throws: OperationFailure.self) {
      try world.simulation.run {
        try await withOperations { scope in
          scope.add(held)
          scope.cancelAll(withError: Flaw(1))
          scope.add(later)
        }
      }
    }
    #expect(flaws(failure?.errors ?? []) == [1])
    #expect(failure?.elements.map(\.origin) == [.child("held", .cancel)])
    #expect(held.cancellationReason as? Flaw == Flaw(1))
    #expect(later.kind == .succeeded)
  }
}
