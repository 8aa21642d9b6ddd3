import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

private struct Flaw: Error {}

@Suite(.watched) struct `The failure that an exploration reports` {
  private static func two(_ log: PartLog, in simulation: SimulatedEnvironment) {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    for name in ["a", "b"] { queue.addOperation(ResultOperation(name: name) { log.add(name) }) }
    simulation.run()
  }

  /// Stands for chance, a real clock, or a state that outlives a schedule.
  @Test func `a failure that doesn't recur is reported without a schedule`() throws {
    var number = 0
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { simulation in
        Self.two(PartLog(), in: simulation)
        number += 1
        if number == 5 { throw Flaw() }
      }
    }
    let found = try #require(failure)
    let text = "\(found)"
    #expect(found.underlying is Flaw)
    #expect(text.contains("schedule 5 fails: Flaw()"))
    #expect(text.contains("The same choices were made once more, and nothing failed."))
    #expect(text.contains("not deterministic"))
    #expect(!text.contains("replay it"))
  }

  @Test func `a failure that changes on replay is reported with the other error`() throws {
    struct Other: Error {}
    var number = 0
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { simulation in
        Self.two(PartLog(), in: simulation)
        number += 1
        if number == 2 { throw Flaw() }
        if number > 2 { throw Other() }
      }
    }
    let found = try #require(failure)
    #expect(found.underlying is Flaw)
    #expect("\(found)".contains("the schedule failed with another error: Other()"))
  }

  /// Fails with another error of the same type under schedules that are nearer to the first one.
  @Test(arguments: [0, 1, 2])
  func `an exploration reports the failure that occurred first`(kind: Int) async throws {
    struct Named: Error { let text: String }
    let differences = try await offPool {
      var differences: [String] = []
      for seed in Effort.seeds(20) {
        var first: String?
        let failure = #expect(throws: ScheduleFailure.self) {
          try exploreSchedules(depthFirst: 0, randomSchedules: 2_000, seed: seed) { simulation in
            let queue = AdvancedOperationQueue(environment: simulation.environment)
            let log = PartLog()
            for name in ["p", "s", "m"] {
              queue.addOperation(
                ResultOperation(name: name) {
                  log.add(name)
                  await Task.yield()
                  log.add(name.uppercased())
                }
              )
            }
            simulation.run()
            let order = log.all.joined()
            func fail(_ text: String) throws {
              first = first ?? text
              switch kind {
              case 0: throw Named(text: text)
              case 1: throw ExpectationFailure(text)
              default: throw ExpectationFailure("same", line: text.count)
              }
            }
            if order.hasPrefix("ms") { try fail("charged twice") }
            if order.hasPrefix("psP") { try fail("mail is late") }
            if order.hasPrefix("sP") { try fail("nothing") }
          }
        }
        let text: String? =
          switch failure?.underlying {
          case let error as Named: error.text
          case let error as ExpectationFailure where kind == 1: error.message
          case let error as ExpectationFailure: error.line == first?.count ? first : "\(error.line)"
          default: nil
          }
        if text != first { differences.append("seed \(seed): \(first ?? "") \(text ?? "")") }
      }
      return differences
    }
    #expect(differences.isEmpty)
  }

  @Test func `a failure's schedule is shortened even if its numbers change`() throws {
    struct Lost: Error { let balance: Int }
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules(depthFirst: 0, randomSchedules: 100) { simulation in
        let count = Locked(0)
        for number in 0..<5 {
          simulation.addStep("\(number)") { count.withLock { $0 = $0 * 10 + number } }
        }
        simulation.run()
        throw Lost(balance: count.withLock { $0 })
      }
    }
    #expect(failure?.schedule == "1;")
  }

  /// A line that was printed before the run, and a replay from it.
  @Test func `a random schedule is reproduced from its numbers`() async throws {
    try await offPool {
      for seed in Effort.seeds() {
        var logs: [String] = []
        func workflow(_ simulation: SimulatedEnvironment) {
          let queue = AdvancedOperationQueue(environment: simulation.environment)
          for name in ["a", "b"] {
            queue.addOperation(ResultOperation(name: name) { await Task.yield() })
          }
          simulation.addStep("any", atAnyTime: true) {}
          simulation.run()
          logs.append(simulation.log)
        }
        for number in 0..<8 {
          let text = "\(seed);draw=\(number):20:16"
          try exploreSchedules(replaying: text, of: workflow)
          workflow(try #require(SimulatedEnvironment(replaying: text)))
          #expect(logs.suffix(2).first == logs.last)
        }
        #expect(Set(logs).count > 4)
      }
    }
  }

  #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS) && !os(Android)
  @Test func `a trap's schedule is printed before it on request`() async throws {
    let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      unsafe setenv("OPERATIONS_PRINT_SCHEDULES", "1", 1)
      try exploreSchedules { simulation in
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        let log = PartLog()
        for name in ["a", "b"] {
          queue.addOperation(
            ResultOperation(name: name) {
              log.add(name)
              precondition(log.all != ["b"], "b came first")
            }
          )
        }
        simulation.run()
      }
    }
    let result = try #require(exit)
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    let lines = text.split(separator: "\n")
    let last = try #require(lines.last { $0.hasPrefix("exploreSchedules(replaying: \"") })
    let schedule = try #require(last.split(separator: "\"").dropFirst().first)
    // The schedule is one in which b comes first.
    var orders: [String] = []
    try exploreSchedules(replaying: String(schedule)) { simulation in
      let log = PartLog()
      Self.two(log, in: simulation)
      orders.append(log.all.joined())
    }
    #expect(orders == ["ba"])
  }
  #endif
}

@Suite(.watched) struct `Steps at any time in schedules that are drawn` {
  private static func times(_ seed: UInt64, _ random: Int) throws -> ScheduleReport {
    try exploreSchedules(depthFirst: 0, randomSchedules: random, seed: seed) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let group = chainOfEightSleeps(by: simulation.environment.clock)
      queue.addOperation(group)
      simulation.addStep("cancel", atAnyTime: true) { group.cancel() }
      simulation.run()
    }
  }

  /// With a coin at each choice, one in 2^8 would come in the last second.
  @Test func `random schedules take a step at any time at each second`() async throws {
    let report = try await offPool { try Self.times(1, 200) }
    #expect(report.timesOfSteps == ["cancel": Set((0...8).map { .seconds($0) })])
    #expect("\(report)".hasSuffix("“cancel” was taken at 9 times from 0 s to 8 s"))
  }
}
