import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A call from outside, at any time` {
  @Test(arguments: OutsideScene.all, OutsideCall.allCases)
  func `a call from outside at any time leaves nothing behind`(
    scene: OutsideScene,
    call: OutsideCall
  ) async throws {
    let report = try await offPool {
      try exploreSchedules(
        depthFirst: Effort.schedules(300, nightly: 20_000),
        randomSchedules: Effort.drawn(100, nightly: 5_000)
      ) { try scene.run(call, in: $0) }
    }
    print("\(call) on \(scene): \(report)")
  }

  #if DEBUG
  @Test(arguments: OutsideScene.all, OutsideCall.allCases)
  func `a call from outside at any interrupted step leaves nothing behind`(
    scene: OutsideScene,
    call: OutsideCall
  ) async throws {
    let report = try await offPool {
      try exploreSchedules(
        interruptions: Effort.isNightly ? 2 : 1,
        depthFirst: Effort.schedules(25, nightly: 5_000),
        randomSchedules: Effort.drawn(25, nightly: 5_000)
      ) { try scene.run(call, in: $0, isInterrupted: true) }
    }
    print("\(call) on \(scene), interrupted: \(report)")
  }

  /// What only a second thread shows, with enough schedules to show it.
  private static func explore(
    _ workflow: @escaping @Sendable (SimulatedEnvironment) throws -> Void
  ) async throws {
    _ = try await offPool {
      try exploreSchedules(
        interruptions: 1,
        depthFirst: Effort.schedules(1_000, nightly: 20_000),
        randomSchedules: Effort.drawn(200, nightly: 5_000),
        of: workflow
      )
    }
  }

  private struct Flaw: Error {}

  private static func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
    if !isTrue { throw Witness.Violation(description: text()) }
  }

  @Test func `a finish of a group that is just starting leaves its queue idle`() async throws {
    try await Self.explore { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.maxConcurrentOperationCount = 1
      let child = Watched("child", Witness()) { operation in
        simulation.addStep("end of child") { operation.finish() }
      }
      let group = GroupOperation(name: "group") { child }
      queue.addOperation(group)
      simulation.addStep("finish") { if group.state == .executing { group.finish() } }
      simulation.run()
      try Self.expect(queue.operationCount == 0, "the queue still has \(queue.operations)")
      try Self.expect(child.isFinished, "the child was left")
    }
  }

  @Test func `a child that is added during its group's start may use the group's claim`()
    async throws
  {
    try await Self.explore { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let group = GroupOperation(name: "group") { AdvancedOperation() }
      group.addClaim(MutuallyExclusive("claim"))
      let late = AdvancedOperation()
      late.name = "late"
      late.addClaim(MutuallyExclusive("claim"))
      queue.addOperation(group)
      simulation.addStep("add") { if !group.addOperation(late) { late.cancel() } }
      simulation.run()
      try Self.expect(late.errors.isEmpty, "\(late.errors)")
      try Self.expect(group.outcome?.isSuccess == true, "\(group.errors)")
    }
  }

  @Test func `a dependent of a child that fails fast never starts`() async throws {
    try await Self.explore { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let hasRun = Locked(false)
      let failing = ResultOperation(name: "failing") { throw Flaw() }
      let dependent = BlockOperation { hasRun.withLock { $0 = true } }
      dependent.addDependency(failing)
      let group = GroupOperation(name: "group", errorPolicy: .failFast) {
        failing
        dependent
      }
      queue.addOperation(group)
      simulation.run()
      try Self.expect(!hasRun.withLock { $0 }, "the dependent ran")
      try Self.expect(queue.operationCount == 0, "the queue still has \(queue.operations)")
    }
  }
  #endif
}
