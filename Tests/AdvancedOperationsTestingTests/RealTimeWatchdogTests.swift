import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

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

  @Test func `names a step that blocks its thread, and the seed`() throws {
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

  @Test func `ends the process of a blocked step, if the simulation is told to`() async throws {
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

  @Test func `names steps that nothing runs, once`() throws {
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

  @Test func `names steps that came after the last run`() throws {
    let released = Released()
    _ = Self.reports(of: 4713, about: "(worker of late)") { released.signal() }
    let (simulation, queue) = Self.world(4713)
    queue.name = "late"
    simulation.run()
    queue.addOperation(ResultOperation(name: "b") { 1 })
    released.wait()
    simulation.run()
  }

  @Test func `says that a run doesn't end, with the last steps`() throws {
    let isReported = Locked(false)
    let reports = Self.reports(of: 4714, about: "has taken") {
      isReported.withLock { $0 = true }
    }
    let (simulation, queue) = Self.world(4714)
    let poll = RepeatOperation(name: "poll", times: nil, every: .seconds(60)) { _ in
      AdvancedOperation()
    }
    queue.addOperation(poll)
    simulation.run(until: { isReported.withLock { $0 } })
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

  @Test func `keeps no simulation alive that nothing runs`() {
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

@Suite struct `Looks at a run` {
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

  @Test func `find a step that goes on for too long, and no other`() {
    var looks = RunLooks(after: 5, at: start)
    #expect(look(&looks, 6, true, 1) == .goesOn)
    #expect(look(&looks, 6, true, 10) == .goesOn)
    #expect(look(&looks, 6, true, 11) == .blocked(for: .seconds(10)))
    #expect(look(&looks, 6, false, 12) == .goesOn)
  }

  @Test func `find a run that goes on for too long, once`() {
    var looks = RunLooks(after: 5, at: start)
    #expect(look(&looks, 6, true, 1) == .goesOn)
    #expect(look(&looks, 900, true, 9) == .goesOn)
    #expect(look(&looks, 1_005, false, 10) == .endless(steps: 1_000, for: .seconds(10)))
    #expect(look(&looks, 2_000, true, 20) == .goesOn)
  }

  @Test func `find steps that nothing runs, and begin anew after a run`() {
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
