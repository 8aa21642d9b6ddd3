import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

@Suite struct `The limit of the log` {
  private static func world(_ limit: Int?) -> SimulatedEnvironment {
    let simulation = SimulatedEnvironment(seed: 1)
    simulation.logLimit = limit
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    for number in 0..<20 {
      queue.addOperation(ResultOperation(name: "\(number)") { await Task.yield() })
    }
    return simulation
  }

  private static func lines(_ simulation: SimulatedEnvironment) -> [Substring] {
    simulation.log.split(separator: "\n")
  }

  @Test func `the log limit is 100,000 lines by default`() {
    #expect(SimulatedEnvironment(seed: 1).logLimit == 100_000)
  }

  @Test(arguments: [0, 1, 2, 3, 7, 50, 119, 10_000])
  func `a limited log keeps the last lines and counts the earlier ones`(limit: Int) {
    let (all, limited) = (Self.world(nil), Self.world(limit))
    all.run()
    // Whatever it has after each step, the end is the same.
    while limited.step() { _ = limited.log }
    let (lines, last) = (Self.lines(all), Self.lines(limited))
    #expect(lines.count > 100)
    if limit >= lines.count {
      #expect(last == lines)
    } else {
      let count = lines.count - limit
      #expect(last.first == "(\(count) earlier lines left off, see logLimit)")
      #expect(Array(last.dropFirst()) == lines.suffix(limit))
    }
  }

  @Test func `the log limit can be changed while there are lines`() {
    let (all, limited) = (Self.world(nil), Self.world(nil))
    all.run()
    limited.run()
    limited.logLimit = 5
    #expect(Array(Self.lines(limited).dropFirst()) == Self.lines(all).suffix(5))
    limited.logLimit = nil
    #expect(Self.lines(limited).count == 6)
  }

  @Test func `the log limit changes no choice and no count of an exploration`() throws {
    func report(_ limit: Int?) throws -> ScheduleReport {
      try exploreSchedules(depthFirst: 200, randomSchedules: 20) { simulation in
        simulation.logLimit = limit
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        for number in 0..<4 { queue.addOperation(ResultOperation(name: "\(number)") {}) }
        simulation.run()
      }
    }
    let whole = try report(nil)
    #expect(try report(0) == whole)
    #expect(try report(3) == whole)
  }

  @Test(arguments: [0, 2, 1_000])
  func `an exploration detects differences in log lines that were dropped`(limit: Int) throws {
    let runs = Locked(0)
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { simulation in
        simulation.logLimit = limit
        let count = runs.withLock { runs in
          runs += 1
          return runs
        }
        simulation.addStep(count == 1 ? "one" : "other") {}
        simulation.run()
        for number in 0..<10 { simulation.addStep("\(number)") {} }
        // One order only.
        while simulation.pending.count > 1 { simulation.step() }
        simulation.run()
      }
    }
    let text = try #require(failure).description
    #expect(text.contains("The workflow is not deterministic"), "\(text)")
    #expect(text.contains("which were left off") == (limit < 1_000), "\(text)")
  }

  @Test func `a poll with a log limit runs for long in little memory`() {
    let simulation = SimulatedEnvironment(seed: 1)
    simulation.logLimit = 100
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.addOperation(
      RepeatOperation(name: "poll", times: 2_000, every: .seconds(60)) { round in
        ResultOperation(name: "round") { round }
      }
    )
    simulation.run()
    #expect(queue.operationCount == 0)
    // Names of 2,000 rounds and of their tasks; those that are gone are forgotten now and then.
    #expect(simulation.rememberedNameCount < 1_500)
  }
}
