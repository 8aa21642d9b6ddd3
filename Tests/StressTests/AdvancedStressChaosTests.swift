import AdvancedOperations
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.heavy, .serialized) struct `AdvancedStress: chaos` {
  /// Operations of every kind with conditions, claims, prerequisites, retries, groups and timeouts
  /// over one to three queues, that are cancelled, suspended, swept and rewired meanwhile.
  @Test func `chaotic operations all finish once in order and leave nothing alive`()
    async throws
  {
    for seed in CoreStress.seeds {
      let live = try await play(seed)
      await live.ended()
      #expect(live.now == 0, "seed \(seed)")
    }
  }

  private func play(_ seed: UInt64) async throws -> CoreStress.Live {
    let run = AdvancedStress.Run(seed: seed)
    let watchdog = CoreStress.Watchdog { [weak run] in run?.report ?? "" }
    try await run.run()
    let problems = try await run.problems()
    watchdog.end()
    #expect(
      problems.isEmpty,
      "OPERATIONS_STRESS_SEED=\(seed): \(problems.prefix(10).joined(separator: "; "))"
    )
    return run.live
  }

  @Test
  func `cancelled waiters and claim holders don't block the remaining operations`() async throws {
    let environment = OperationEnvironment(claimDomain: ClaimDomain())
    let queues = (0..<2).map { _ in AdvancedOperationQueue(environment: environment) }
    let live = CoreStress.Live()
    let inside = CoreStress.Tally()
    var waiters: [AdvancedOperation] = []
    for round in 0..<CoreStress.scaled(4_000) {
      let work = AdvancedStress.Work(live, .finishesElsewhere, inside: inside)
      work.addClaim(MutuallyExclusive("a"))
      if round % 3 == 0 { work.addCondition(Checked()) }
      queues[round % 2].addOperation(work)
      waiters.append(work)
      if round % 4 == 0 { waiters.randomElement()?.cancel() }
      if round % 64 == 63 { waiters.removeAll() }
    }
    waiters = []
    for queue in queues { try await queue.untilAllOperationsAreFinished() }
    #expect(inside.peak == 1)
    await live.ended()
  }

  private struct Checked: ImmediateCondition {
    func check(_ operation: AdvancedOperation) -> OperationConditionResult { .satisfied }
  }
}
