import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// Chance that doesn't come from the simulation, in a test that is the same each time nonetheless.
final class Coin: Sendable {
  private let generator: Locked<SplitMix64>

  init(seed: UInt64) { generator = Locked(SplitMix64(seed: seed)) }

  func toss() -> Bool { generator.withLock { $0.next() >> 63 == 0 } }
}

@Suite struct `A workflow that isn't the same each time` {
  typealias Workflow = @Sendable (SimulatedEnvironment, Coin) -> Void

  private static func queue(_ simulation: SimulatedEnvironment) -> AdvancedOperationQueue {
    AdvancedOperationQueue(environment: simulation.environment)
  }

  /// Each is different after some tosses only.
  static let workflows: [(String, Workflow)] = [
    (
      "one operation, or two",
      { simulation, coin in
        let queue = queue(simulation)
        for _ in 0..<(coin.toss() ? 1 : 2) { queue.addOperation(AdvancedOperation()) }
        simulation.run()
      }
    ),
    (
      "one operation, which has either name",
      { simulation, coin in
        let operation = AdvancedOperation()
        operation.name = coin.toss() ? "heads" : "tails"
        queue(simulation).addOperation(operation)
        simulation.run()
      }
    ),
    (
      "a body that fails or doesn't",
      { simulation, coin in
        let bodies = ["a", "b", "c"].map { name in
          ResultOperation(name: name) { if coin.toss() { throw CancellationError() } }
        }
        queue(simulation).addOperations(bodies)
        simulation.run()
      }
    ),
    (
      "another operation at the end",
      { simulation, coin in
        let queue = queue(simulation)
        for name in ["a", "b"] { queue.addOperation(ResultOperation(name: name) {}) }
        simulation.run()
        if coin.toss() { queue.addOperation(ResultOperation(name: "last") {}) }
        simulation.run()
      }
    ),
    (
      "a wait of any length",
      { simulation, coin in
        queue(simulation).addOperation(DelayOperation(.seconds(coin.toss() ? 1 : 2)))
        simulation.run()
      }
    ),
  ]

  @Test(arguments: workflows.indices)
  func `a nondeterministic workflow is never called explored and its difference is named`(
    index: Int
  ) async throws {
    let (name, workflow) = Self.workflows[index]
    let failures = try await offPool {
      (0..<40 as Range<UInt64>).map { seed -> String? in
        let coin = Coin(seed: seed)
        do {
          try exploreSchedules { simulation in workflow(simulation, coin) }
          return nil
        } catch {
          return "\(error)"
        }
      }
    }
    for failure in failures {
      let text = try #require(failure, "\(name) was called explored")
      #expect(text.contains("not deterministic: with the same choices, "), "\(text)")
      #expect(text.contains(" before, and now there is "), "\(text)")
    }
  }

  @Test func `a nondeterministic workflow is reported with the different log line`() throws {
    let runs = Locked(0)
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { simulation in
        let isFirst = runs.withLock { runs in
          runs += 1
          return runs == 1
        }
        let operation = ResultOperation(name: "a") { if !isFirst { throw CancellationError() } }
        Self.queue(simulation).addOperation(operation)
        simulation.run()
      }
    }
    let text = "\(try #require(failure).underlying)"
    #expect(text.contains("“[0.0 seconds] a: finished, succeeded”"), "\(text)")
    #expect(text.contains("“[0.0 seconds] a: finished, failed”"), "\(text)")
  }

  @Test func `a nondeterministic workflow is detected in random schedules`() {
    let coin = Coin(seed: 1)
    #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(depthFirst: 0, randomSchedules: 5) { simulation in
        for number in 0..<(coin.toss() ? 3 : 4) { simulation.addStep("\(number)") {} }
        simulation.run()
      }
    }
  }

  @Test func `a workflow may use random numbers of the simulation`() throws {
    let report = try exploreSchedules { simulation in
      let count = 1 + Int(simulation.environment.random() % 2)
      for _ in 0..<count { Self.queue(simulation).addOperation(AdvancedOperation()) }
      simulation.run()
    }
    #expect(report.isComplete)
  }
}
