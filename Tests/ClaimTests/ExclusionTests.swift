#if DEBUG
import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// The mistakes of which frameworks like this one are known are among `Tests/Mutants`.
@Suite struct `Mutual exclusion` {
  /// One is inside until a later step, the others wait, and one of them may give up.
  private static func workflow(
    of names: [String],
    cancels cancelled: String?
  ) -> @Sendable (SimulatedEnvironment) throws -> Void {
    { simulation in
      let witness = Witness()
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let all = names.map { name in
        Watched(name, witness) { operation in
          witness.enter()
          simulation.addStep("end of \(name)") {
            witness.leave()
            operation.finish()
          }
        }
      }
      for operation in all { operation.addClaim(MutuallyExclusive("one")) }
      witness.watch(all)
      queue.addOperations(all)
      if let waiter = all.first(where: { $0.name == cancelled }) {
        simulation.addStep("cancel") { if !witness.ran(waiter) { waiter.cancel() } }
      }
      simulation.run()
      try witness.check(queue)
    }
  }

  @Test func `mutual exclusion holds wherever a step is interrupted`() async throws {
    let workflow = Self.workflow(of: ["a", "b"], cancels: nil)
    let report = try await offPool {
      try exploreSchedules(
        interruptions: 1,
        depthFirst: Effort.schedules(1_000),
        randomSchedules: Effort.drawn(1_000),
        of: workflow
      )
    }
    print("\(report)")
  }

  @Test func `mutual exclusion holds when a waiting operation is cancelled`() async throws {
    let workflow = Self.workflow(of: ["a", "b", "c"], cancels: "b")
    let report = try await offPool {
      try exploreSchedules(
        depthFirst: Effort.schedules(1_000),
        randomSchedules: Effort.drawn(1_000),
        of: workflow
      )
    }
    print("\(report)")
  }

  /// Under this schedule, a cancel that frees a place whichever operation has it lets two in.
  ///
  /// If it no longer fits, plant `anonymous-waiter` of Tests/Mutants and explore for another one.
  @Test
  func `mutual exclusion holds when a waiter is cancelled while another operation executes`() throws
  {
    let workflow = Self.workflow(of: ["a", "b", "c"], cancels: "b")
    try exploreSchedules(replaying: "1;1=1,2=1,3=1,4=1,6=1", of: workflow)
  }
}
#endif
