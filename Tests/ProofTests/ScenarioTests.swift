import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.heavy) struct `Small workflows, in every order` {
  @Test(arguments: Scenario.all)
  func `small workflows finish as expected in every order`(scenario: Scenario) async throws {
    let report = try await offPool {
      try exploreSchedules(depthFirst: Effort.schedules(2_000), randomSchedules: Effort.drawn(200))
      {
        simulation in
        try scenario.run(simulation, Witness())
      }
    }
    #expect(report.isComplete)
    print("\(scenario): \(report)")
  }

  #if DEBUG
  @Test(arguments: Scenario.all)
  func `small workflows finish as expected with an interruption anywhere`(
    scenario: Scenario
  ) async throws {
    let report = try await offPool {
      try exploreSchedules(
        interruptions: Effort.isNightly ? 3 : 1,
        depthFirst: Effort.schedules(100, nightly: 2_000),
        randomSchedules: Effort.drawn(100, nightly: 5_000)
      ) { simulation in
        try scenario.run(simulation, Witness(allowsLateDependencies: true))
      }
    }
    print("\(scenario), interrupted: \(report)")
  }
  #endif
}
