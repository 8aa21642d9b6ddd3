import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Ends an exploration.
private struct Stop: Error {}

@Suite(.serialized) struct `The watchdog of real time` {
  private final class Reports: Sendable {
    private let lines = Locked<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func append(_ line: String) { lines.withLock { $0.append(line) } }
  }

  /// Keeps what is reported of one simulation.
  private static func reports(
    of seed: UInt64,
    about phrase: String,
    _ then: @escaping @Sendable () -> Void
  ) -> Reports {
    let reports = Reports()
    RealTimeWatchdog.setReport { line in
      // Any other step may take a millisecond on a machine that has others to serve.
      guard line.contains("seed: \(seed))"), line.contains(phrase) else { return }
      reports.append(line)
      then()
    }
    return reports
  }

  private static func world(
    _ seed: UInt64
  ) -> (simulation: SimulatedEnvironment, queue: AdvancedOperationQueue) {
    let simulation = SimulatedEnvironment(seed: seed)
    simulation.watchdogInterval = .milliseconds(1)
    return (simulation, AdvancedOperationQueue(environment: simulation.environment))
  }

  /// A workflow without an end, which isn't reported before virtual time has moved often.
  private static func poll(
    in simulation: SimulatedEnvironment,
    until isOver: @escaping @Sendable () -> Bool = { false }
  ) -> AdvancedOperation {
    simulation.watchdogInterval = .seconds(3_600)
    return RepeatOperation(name: "poll", every: .seconds(60)) { round in
      if round == 200 { simulation.watchdogInterval = .milliseconds(1) }
      return isOver() ? nil : AdvancedOperation()
    }
  }

  @Test func `the watchdog names a step that blocks its thread and the seed`() throws {
    let released = Released()
    let reports = Self.reports(of: 4711, about: "“start blocker” has blocked") {
      released.signal()
    }
    let (simulation, queue) = Self.world(4711)
    let operation = BlockOperation { released.wait() }
    operation.name = "blocker"
    queue.addOperation(operation)
    simulation.run()
    #expect(reports.all.count == 1)
  }

  @Test func `the watchdog can end the process of a blocked step`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let simulation = SimulatedEnvironment(seed: 8)
      simulation.trapsWhenBlocked = true
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let operation = BlockOperation {
        // Only for this step: any other may take a millisecond as well.
        simulation.watchdogInterval = .milliseconds(1)
        Released().wait()
      }
      operation.name = "blocker"
      queue.addOperation(operation)
      simulation.run()
    }
    let sentence = "SimulatedEnvironment(seed: 8): the step “start blocker” has blocked its thread"
    try expectMessage(sentence, in: result)
  }

  @Test func `the watchdog names pending steps that nothing runs once`() throws {
    let released = Released()
    let reports = Self.reports(of: 4712, about: "pending") { released.signal() }
    let (simulation, queue) = Self.world(4712)
    queue.name = "forgotten"
    queue.addOperation(ResultOperation(name: "b") { 1 })
    released.wait()
    // What comes after this may take a millisecond as well.
    let lines = reports.all
    simulation.step()
    simulation.run()
    #expect(lines.count == 1)
    #expect(lines.first?.contains("of real time (worker of forgotten), and nothing runs") == true)
    #expect(lines.first?.contains("call simulation.run()") == true)
  }

  @Test func `the watchdog names steps that were added after the last run`() throws {
    let released = Released()
    _ = Self.reports(of: 4713, about: "(worker of late)") { released.signal() }
    let (simulation, queue) = Self.world(4713)
    queue.name = "late"
    simulation.run()
    queue.addOperation(ResultOperation(name: "b") { 1 })
    released.wait()
    simulation.run()
  }

  @Test func `the watchdog reports a run that doesn't end with its last steps`() throws {
    let isReported = Locked(false)
    let reports = Self.reports(of: 4714, about: "has taken") {
      isReported.withLock { $0 = true }
    }
    let (simulation, queue) = Self.world(4714)
    let poll = Self.poll(in: simulation)
    queue.addOperation(poll)
    try simulation.run(until: { isReported.withLock { $0 } })
    // The run that lets it end may take a millisecond as well.
    let lines = reports.all
    poll.cancel()
    simulation.run()
    let text = try #require(lines.first)
    #expect(text.contains("run(until:) has taken ") && text.contains(" steps in "), "\(text)")
    #expect(text.contains("virtual time is at ") && text.contains("the last steps: “"), "\(text)")
    #expect(text.contains("run(until: .seconds(3600))"), "\(text)")
    #expect(lines.count == 1)
  }

  @Test func `the watchdog treats consecutive calls of step as one run`() throws {
    let isReported = Locked(false)
    let reports = Self.reports(of: 4716, about: "step() has taken") {
      isReported.withLock { $0 = true }
    }
    let (simulation, queue) = Self.world(4716)
    let poll = Self.poll(in: simulation)
    queue.addOperation(poll)
    while !isReported.withLock({ $0 }), simulation.step() {}
    poll.cancel()
    simulation.run()
    let text = try #require(reports.all.first)
    #expect(text.contains("virtual time is at ") && text.contains("the last steps: “"), "\(text)")
  }

  @Test func `the watchdog says that virtual time doesn't advance`() throws {
    let isReported = Locked(false)
    let reports = Self.reports(of: 4717, about: "has taken") {
      isReported.withLock { $0 = true }
    }
    let (simulation, queue) = Self.world(4717)
    simulation.advance(by: .seconds(5))
    queue.addOperation(
      ResultOperation(name: "busy") { while !isReported.withLock({ $0 }) { await Task.yield() } }
    )
    simulation.run()
    let text = try #require(reports.all.first)
    #expect(text.contains("virtual time has stood still at 5 s for "), "\(text)")
    #expect(text.contains("a loop that waits with Task.yield(), or a retry"), "\(text)")
    #expect(!text.contains("3600"), "\(text)")
  }

  @Test func `the watchdog says that a blocked step waits or loops`() throws {
    let released = Released()
    let reports = Self.reports(of: 4718, about: "has blocked") { released.signal() }
    let (simulation, queue) = Self.world(4718)
    queue.addOperation(BlockOperation { released.wait() })
    simulation.run()
    #expect(reports.all.first?.contains("of real time: it waits, or it loops.") == true)
  }

  /// Explores until the watchdog has reported something with all of these words.
  private static func report(
    with words: [String],
    _ explore: (_ isReported: @escaping @Sendable () -> Bool) throws -> Void,
    ignoring isExpected: (any Error) -> Bool
  ) throws -> String {
    let found = Locked<String?>(nil)
    RealTimeWatchdog.setReport { line in
      guard words.allSatisfy({ line.contains($0) }) else { return }
      found.withLock { $0 = line }
    }
    do { try explore { found.withLock { $0 != nil } } } catch  where isExpected(error) {}
    return try #require(found.withLock { $0 })
  }

  @Test func `the watchdog reports the progress of an exploration of schedules`() throws {
    let text = try Self.report(
      // A report between two schedules has no current run.
      with: ["exploreSchedules: ", "(seed 4719)", "of the current run"]
    ) { isReported in
      var isOver = false
      try exploreSchedules(depthFirst: .max, randomSchedules: 0, seed: 4719) { simulation in
        simulation.watchdogInterval = .milliseconds(1)
        // Few schedules, once something is reported.
        if isReported() { isOver = true }
        for number in 0..<(isOver ? 1 : 9) { simulation.addStep("\(number)") {} }
        simulation.run()
        if isOver { throw Stop() }
      }
    } ignoring: {
      $0 is ScheduleFailure
    }
    #expect(
      text.contains(#/: [0-9]+ schedules? in .* of real time, and [0-9]+ steps? of the/#),
      "\(text)"
    )
  }

  @Test func `the watchdog reports the progress of an exploration of restarts`() throws {
    let text = try Self.report(
      with: ["exploreRestarts: ", "restart", "of the current run"]
    ) { isReported in
      try exploreRestarts(randomSchedules: .max, seed: 4720) { simulation, journal in
        simulation.watchdogInterval = .milliseconds(1)
        if isReported() { throw Stop() }
        let pay = ResultOperation { 50 }.recorded(as: "pay", in: journal)
        AdvancedOperationQueue(environment: simulation.environment).addOperation(pay)
        return pay
      }
    } ignoring: {
      $0 is ExpectationFailure
    }
    #expect(
      text.contains(#/ restarts? in .* of real time, and [0-9]+ steps? of the current run/#),
      "\(text)"
    )
  }

  @Test func `the watchdog reports an endless run between two restarts`() throws {
    let text = try Self.report(with: ["4721", "exploreRestarts has taken"]) { isReported in
      try exploreRestarts(randomSchedules: 1, seed: 4721) { simulation, journal in
        let pay = ResultOperation { 50 }.recorded(as: "pay", in: journal)
        let queue = AdvancedOperationQueue(environment: simulation.environment)
        queue.addOperation(pay)
        if !isReported() {
          queue.addOperation(Self.poll(in: simulation, until: isReported))
        }
        return pay
      }
    } ignoring: { _ in
      true
    }
    #expect(text.contains("let it end, for example with a number of rounds"), "\(text)")
  }

  @Test func `the watchdog doesn't retain a simulation that nothing runs`() {
    // Released with the steps of the simulation.
    final class Kept: Sendable {}
    weak var kept: Kept?
    do {
      let (simulation, _) = Self.world(4715)
      let captured = Kept()
      kept = captured
      simulation.addStep("never taken") { withExtendedLifetime(captured) {} }
      #expect(simulation.pending == ["never taken"])
    }
    #expect(kept == nil)
  }
}

@Suite struct `Watchdog checks of a run` {
  private let start = SuspendingClock.now

  private func look(
    _ looks: inout RunLooks,
    _ count: Int,
    _ isInStep: Bool,
    _ seconds: Int
  )
    -> RunLooks.Verdict
  {
    looks.look(
      count: count,
      isInStep: isInStep,
      at: start + .seconds(seconds),
      interval: .seconds(10)
    )
  }

  @Test func `watchdog checks find only a step that takes too long`() {
    var looks = RunLooks(after: 5, at: start)
    #expect(look(&looks, 6, true, 1) == .goesOn)
    #expect(look(&looks, 6, true, 10) == .goesOn)
    #expect(look(&looks, 6, true, 11) == .blocked(for: .seconds(10)))
    #expect(look(&looks, 6, false, 12) == .goesOn)
  }

  @Test func `watchdog checks find a run that takes too long once`() {
    var looks = RunLooks(after: 5, at: start)
    #expect(look(&looks, 6, true, 1) == .goesOn)
    #expect(look(&looks, 900, true, 9) == .goesOn)
    #expect(look(&looks, 1_005, false, 10) == .endless(steps: 1_000, for: .seconds(10)))
    #expect(look(&looks, 2_000, true, 20) == .goesOn)
  }

  @Test func `watchdog checks treat steps without a pause as one run`() {
    var looks = RunLooks(after: 0, at: start)
    func isOver(_ count: Int, _ seconds: Double) -> Bool {
      looks.isOver(count: count, at: start + .seconds(seconds), interval: .seconds(10))
    }
    #expect(!isOver(1, 1))
    #expect(look(&looks, 1, false, 1) == .goesOn)
    #expect(!isOver(1, 3.4))
    #expect(!isOver(2, 3.6))
    #expect(isOver(1, 3.6))
  }

  @Test func `watchdog checks report an exploration after each interval`() {
    var looks = ExplorationLooks(at: start)
    func look(_ seconds: Int) -> Duration? {
      looks.look(at: start + .seconds(seconds), interval: .seconds(10))
    }
    #expect(look(9) == nil)
    #expect(look(10) == .seconds(10))
    #expect(look(19) == nil)
    #expect(look(21) == .seconds(21))
    #expect(look(30) == nil)
    #expect(look(31) == .seconds(31))
  }

  @Test func `watchdog checks find pending steps and restart after a run`() {
    var looks = PendingLooks(at: start)
    func look(_ runs: Int, _ seconds: Int) -> Duration? {
      looks.look(runCount: runs, at: start + .seconds(seconds), interval: .seconds(10))
    }
    #expect(look(0, 1) == nil)
    #expect(look(0, 10) == nil)
    #expect(look(1, 12) == nil)
    #expect(look(1, 21) == nil)
    #expect(look(1, 22) == .seconds(10))
  }
}
