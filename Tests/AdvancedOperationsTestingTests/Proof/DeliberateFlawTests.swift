#if DEBUG
import AdvancedOperations
import AdvancedOperationsTesting
import Testing

/// The library is made to make mistakes of which frameworks like it are known, and they are found.
@Suite struct `A deliberate flaw` {
  /// One is inside until a later step, the others wait, and one of them may give up.
  static func workflow(
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
      for operation in all { operation.addCondition(MutuallyExclusive("one")) }
      witness.watch(all)
      queue.addOperations(all)
      if let waiter = all.first(where: { $0.name == cancelled }) {
        simulation.addStep("cancel") { if !witness.ran(waiter) { waiter.cancel() } }
      }
      simulation.run()
      try witness.check(queue)
    }
  }

  /// A workflow that shows a flaw, and how often its steps have to be interrupted for that.
  static func workflow(
    showing flaw: DeliberateFlaw
  ) -> (interruptions: Int, run: @Sendable (SimulatedEnvironment) throws -> Void) {
    // Who gives up at the wrong moment is seen between steps, the others only within them.
    flaw == .anonymousWaiter
      ? (0, workflow(of: ["a", "b", "c"], cancels: "b"))
      : (1, workflow(of: ["a", "b"], cancels: nil))
  }

  @Test(arguments: DeliberateFlaw.allCases)
  func `is found, and without it nothing is`(flaw: DeliberateFlaw) async throws {
    let (interruptions, workflow) = Self.workflow(showing: flaw)
    let explore: @Sendable (DeliberateFlaw?) async throws -> ScheduleReport = { flaw in
      try await offPool {
        try exploreSchedules(
          interruptions: interruptions,
          making: flaw,
          depthFirst: 1_000,
          random: 1_000,
          of: workflow
        )
      }
    }
    let report = try await explore(nil)
    let found = await #expect(throws: ScheduleFailure.self) { try await explore(flaw) }
    let failure = try #require(found)
    print("\(flaw): found by schedule \(failure.scheduleCount + 1), \(failure.schedule):")
    print("\(failure.underlying)")
    print("without it: \(report)")
    #expect(failure.underlying is Witness.Violation)
  }
}
#endif
