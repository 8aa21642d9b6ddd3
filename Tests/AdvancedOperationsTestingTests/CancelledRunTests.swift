import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

private struct Flaw: Error {}

// In that suite, because there is one place where reports go.
extension `The watchdog of real time` {
  /// A time limit of a test cancels its task.
  @Suite struct `A run in a cancelled task` {
    private static func poll(_ simulation: SimulatedEnvironment) -> AdvancedOperation {
      let poll = RepeatOperation(name: "poll", every: .seconds(60)) { round in
        ResultOperation(name: "round") { round }
      }
      AdvancedOperationQueue(environment: simulation.environment).addOperation(poll)
      return poll
    }

    /// Runs synchronous code in a task that cancels itself where the code says so.
    @discardableResult
    private static func inTask<Value: Sendable>(
      _ body: @escaping @Sendable (_ cancel: @escaping @Sendable () -> Void) throws -> Value
    ) async throws -> Value {
      let task = Locked<Task<Value, any Error>?>(nil)
      let started = AsyncWait()
      let made = Task {
        try await started.run { _ in
          true
        } unregister: { _ in
        }
        return try body { task.withLock { $0 }?.cancel() }
      }
      task.withLock { $0 = made }
      started.finish()
      return try await made.value
    }

    private final class Reports: Sendable {
      private let kept = Locked<[String]>([])
      var lines: [String] { kept.withLock { $0 } }
      func append(_ line: String) { kept.withLock { $0.append(line) } }
    }

    private static func reports(of seed: UInt64) -> Reports {
      let reports = Reports()
      RealTimeWatchdog.setReport { line in
        guard line.contains("seed: \(seed))"), line.contains("was ended") else { return }
        reports.append(line)
      }
      return reports
    }

    /// The calls that take steps, each with what it returns for a run that was ended.
    private static let calls: [(String, @Sendable (SimulatedEnvironment) throws -> Bool)] = [
      (
        "run()",
        {
          $0.run(); return false
        }
      ),
      (
        "run(until:)",
        {
          $0.run(until: .seconds(1_000_000_000)); return false
        }
      ),
      (
        "run(until:)",
        { simulation in
          #expect(throws: CancellationError.self) {
            try simulation.run(until: { false })
          } == nil
        }
      ),
      (
        "advance(by:)",
        {
          $0.advance(by: .seconds(1_000_000_000)); return false
        }
      ),
      (
        "step()",
        { simulation in
          while simulation.step() {}
          return false
        }
      ),
      (
        "run(_:)",
        { simulation in
          let clock = simulation.environment.clock
          return #expect(throws: CancellationError.self) {
            try simulation.run { while true { try await clock.sleep(for: .seconds(1)) } }
          } == nil
        }
      ),
      (
        "evaluate(_:for:)",
        { simulation in
          let clock = simulation.environment.clock
          let condition = BlockCondition("endless") {
            while true { try await clock.sleep(for: .seconds(1)) }
          }
          return #expect(throws: CancellationError.self) {
            try simulation.evaluate(condition)
          } == nil
        }
      ),
    ]

    @Test(arguments: calls.indices)
    func `a cancelled run ends before the next step and reports the last ones`(
      index: Int
    ) async throws {
      let seed = 8_000 + UInt64(index)
      let reports = Self.reports(of: seed)
      let (name, call) = Self.calls[index]
      try await Self.inTask { cancel in
        let simulation = SimulatedEnvironment(seed: seed)
        let poll = Self.poll(simulation)
        let clock = simulation.environment.clock
        _ = clock.schedule(at: .seconds(3_600)) { cancel() }
        let isTrue = try call(simulation)
        #expect(!isTrue)
        #expect(poll.isExecuting)
        #expect(simulation.now == .seconds(3_600))
        // It stays ended, and says so once.
        simulation.run()
        #expect(simulation.now == .seconds(3_600))
      }
      let lines = reports.lines
      #expect(lines.count == 1)
      let line = try #require(lines.first)
      #expect(
        line.contains("): \(name) was ended because the task that called it is cancelled"),
        "\(line)"
      )
      #expect(line.contains("virtual time is at 1 h; the last steps: “"), "\(line)")
    }

    @Test func `a cancelled run without remaining steps behaves like any other`() async throws {
      let reports = Self.reports(of: 8_100)
      try await Self.inTask { cancel in
        let simulation = SimulatedEnvironment(seed: 8_100)
        cancel()
        simulation.run()
        try simulation.run(until: { true })
        #expect(!simulation.step())
        let result = try simulation.evaluate(FileExists("/"))
        #expect(result.isSatisfied)
      }
      #expect(reports.lines.isEmpty)
    }

    @Test func `a cancelled exploration of schedules throws CancellationError`() async throws {
      for isInRun in [true, false] {
        _ = Self.reports(of: 8_200)
        let runs = Locked(0)
        try await Self.inTask { cancel in
          #expect(throws: CancellationError.self) {
            try exploreSchedules(seed: 8_200) { simulation in
              let count = runs.withLock { runs in
                runs += 1
                return runs
              }
              for number in 0..<4 {
                simulation.addStep("\(number)") { if isInRun, count == 5 { cancel() } }
              }
              simulation.run()
              if !isInRun, count == 5 { cancel() }
              // What follows from the end of a run isn't what the workflow is about.
              if count == 5 { throw Flaw() }
            }
          }
        }
        #expect(runs.withLock { $0 } == 5)
      }
    }

    @Test func `a cancel ends the shortening of a schedule and keeps the failure`() async throws {
      let failures = Locked(0)
      let failure = try await Self.inTask { cancel in
        #expect(throws: ScheduleFailure.self) {
          try exploreSchedules(depthFirst: 1, randomSchedules: 50, seed: 8_300) { simulation in
            let order = Locked<[Int]>([])
            for number in 0..<5 {
              simulation.addStep("\(number)") { order.withLock { $0.append(number) } }
            }
            simulation.run()
            let found = order.withLock { $0 }
            guard let last = found.firstIndex(of: 4), let first = found.firstIndex(of: 0),
              last < first
            else { return }
            let count = failures.withLock { failures in
              failures += 1
              return failures
            }
            // The first failure is found, and the second one is a shorter schedule.
            if count == 2 { cancel() }
            throw Flaw()
          }
        }
      }
      #expect(try #require(failure).underlying is Flaw)
      #expect(failures.withLock { $0 } == 2)
    }

    @Test func `a cancelled exploration of restarts throws CancellationError`() async throws {
      _ = Self.reports(of: 8_400)
      try await Self.inTask { cancel in
        #expect(throws: CancellationError.self) {
          try exploreRestarts(seed: 8_400) { simulation, journal in
            let pay = ResultOperation { 50 }.recorded(as: "pay", in: journal)
            AdvancedOperationQueue(environment: simulation.environment).addOperation(pay)
            _ = Self.poll(simulation)
            _ = simulation.environment.clock.schedule(at: .seconds(3_600)) { cancel() }
            return pay
          }
        }
      }
    }
  }
}
