import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite(.heavy, .serialized) struct `CoreStress: random graphs` {
  @Test
  func `operations of random graphs finish once after their dependencies within the limit`()
    async throws
  {
    for seed in CoreStress.seeds {
      let run = CoreStress.Run(seed: seed)
      let violations = try await run.violations()
      #expect(
        violations.isEmpty,
        "OPERATIONS_STRESS_SEED=\(seed): \(violations.prefix(10).joined(separator: "; "))"
      )
      await run.dropAll()
    }
  }
}
