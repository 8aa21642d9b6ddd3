import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

@Suite struct `The end of time` {
  private let simulation = SimulatedEnvironment(seed: 1)

  private func sleeper(_ name: String = "server") -> ResultOperation<Void> {
    let clock = simulation.environment.clock
    return ResultOperation(name: name) { try await clock.sleep(for: .seconds(Int64.max)) }
  }

  private func queue() -> AdvancedOperationQueue {
    AdvancedOperationQueue(environment: simulation.environment)
  }

  @Test func `a run doesn't reach the end of time`() throws {
    let server = sleeper()
    let job = ResultOperation(name: "job") {
      try await OperationClock.current.sleep(for: .seconds(2))
    }
    queue().addOperations([server, job])
    simulation.run()
    #expect(simulation.now == .seconds(2))
    #expect(server.isExecuting && job.isFinished)
    // Nothing is left to do until it is cancelled.
    #expect(!simulation.step())
    simulation.run(until: .seconds(Int64.max))
    simulation.advance(by: .seconds(Int64.max))
    #expect(simulation.now == .seconds(2) && server.isExecuting)
    server.cancel()
    simulation.run()
    #expect(server.isFinished && simulation.now == .seconds(2))
    #expect(simulation.timerCount == 0)
  }

  @Test func `strays and explorations report a sleep until the end of time`() throws {
    queue().addOperation(sleeper())
    simulation.run()
    let stray = try #require(simulation.strays.first)
    let reason = "It sleeps by the clock until the end of time, so until it is cancelled"
    #expect(stray.description.contains(reason), "\(stray)")
    #expect(!stray.description.contains("left the simulation"), "\(stray)")
    let failure = #expect(throws: ScheduleFailure.self) {
      try exploreSchedules { simulation in
        let clock = simulation.environment.clock
        AdvancedOperationQueue(environment: simulation.environment).addOperation(
          ResultOperation(name: "server") { try await clock.sleep(until: .seconds(Int64.max)) }
        )
        simulation.run()
      }
    }
    #expect(try #require(failure).description.contains(reason))
    let restart = #expect(throws: ExpectationFailure.self) {
      try exploreRestarts { simulation, journal in
        let server = ResultOperation {
          try await OperationClock.current.sleep(for: .seconds(Int64.max))
        }.recorded(as: "server", in: journal)
        AdvancedOperationQueue(environment: simulation.environment).addOperation(server)
        return server
      }
    }
    #expect(try #require(restart).message.contains(reason))
  }

  @Test func `a run reports code that sleeps until the end of time`() {
    let clock = simulation.environment.clock
    let failure = #expect(throws: ExpectationFailure.self) {
      try simulation.run { try await clock.sleep(for: .seconds(Int64.max)) }
    }
    #expect(failure?.message.contains("It sleeps by the clock until the end of time") == true)
  }

  @Test func `a timeout at the end of time doesn't count as progress`() throws {
    let kept = Locked<CheckedContinuation<Void, Never>?>(nil)
    let operation = HeldOperation(name: "upload")
    operation.addObserver(TimeoutObserver(.seconds(Int64.max)))
    let leaver = ResultOperation(name: "leaver") {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        kept.withLock { $0 = continuation }
      }
    }
    leaver.addObserver(TimeoutObserver(.seconds(Int64.max)))
    let queue = queue()
    queue.addOperations([operation, leaver])
    simulation.run()
    #expect(simulation.strays.map(\.name) == ["leaver"])
    #expect(simulation.strays.first?.description.contains("left the simulation") == true)
    kept.withLock { $0.take() }?.resume()
    operation.release()
    simulation.run()
    #expect(queue.operationCount == 0)
  }

  @Test func `steps at any time are taken although an operation sleeps forever`() {
    let server = sleeper()
    queue().addOperation(server)
    simulation.addStep("cancel", atAnyTime: true) { server.cancel() }
    simulation.run()
    #expect(server.isFinished)
    #expect(simulation.now == .zero)
  }
}

@Suite struct `Runs that end before the end` {
  @Test func `a run evaluates its condition before each step and at the end`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    for number in 0..<10 { simulation.addStep("\(number)") {} }
    var calls = 0
    try simulation.run(until: {
      calls += 1
      return calls == 4
    })
    #expect(calls == 4)
    #expect(simulation.pending.count == 7)
    // Nothing is left when it is called for the last time.
    calls = 0
    #expect(throws: ExpectationFailure.self) {
      try simulation.run(until: {
        calls += 1
        return calls == 9
      })
    }
    #expect(calls == 8)
  }

  @Test(arguments: [Duration.seconds(-5), .zero, .seconds(3), .seconds(10)])
  func `a run until a past time takes the due steps`(time: Duration) {
    let simulation = SimulatedEnvironment(seed: 1)
    simulation.advance(by: .seconds(10))
    let clock = simulation.environment.clock
    let calls = Locked<[Int]>([])
    for seconds in [10, 4, 11] {
      _ = clock.schedule(at: .seconds(seconds)) { calls.withLock { $0.append(seconds) } }
    }
    simulation.run(until: time)
    #expect(calls.withLock { $0.sorted() } == [4, 10])
    #expect(simulation.now == .seconds(10))
  }

  @Test(arguments: [Duration.seconds(-5), .seconds(-Int64.max), .zero])
  func `advancing by a negative duration takes the due steps`(duration: Duration) {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    simulation.advance(by: .seconds(10))
    let operation = ResultOperation(name: "nap") {
      try await OperationClock.current.sleep(for: .zero)
    }
    queue.addOperation(operation)
    simulation.advance(by: duration)
    #expect(operation.isFinished)
    #expect(simulation.now == .seconds(10))
  }
}
