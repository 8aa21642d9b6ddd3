import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@testable import AdvancedOperations

/// Circuits that open by a ratio, with several probes, and operations that wait for them.
@Suite(.watched) struct `Circuits by ratio` {
  private static func call(_ breaker: CircuitBreaker, waits: Bool = false, _ work: Work) -> Work {
    work.addCondition(CircuitClosed(breaker, waits: waits))
    return work
  }

  /// Runs calls one after the other, one each second; true stands for a success.
  private static func run(_ outcomes: [Bool], _ breaker: CircuitBreaker, in world: World) {
    for isSuccess in outcomes {
      world.queue.addOperation(call(breaker, isSuccess ? Work() : Work.failing()))
      world.simulation.advance(by: .seconds(1))
    }
  }

  // MARK: The ratio

  @Test func `failures between successes open a circuit by ratio, and not a consecutive one`() {
    let outcomes = (0..<20).map { $0 % 2 == 0 }
    let world = World()
    let consecutive = CircuitBreaker(failures: 3)
    Self.run(outcomes, consecutive, in: world)
    #expect(consecutive.state == .closed)
    let ratio = CircuitBreaker(failureRatio: 0.5, ofAtLeast: 10, within: .seconds(100))
    Self.run(Array(outcomes[..<9]), ratio, in: world)
    #expect(ratio.state == .closed)
    Self.run([false], ratio, in: world)
    #expect(ratio.state == .open)
  }

  @Test func `outcomes of an earlier period don't count`() {
    let world = World()
    let breaker = CircuitBreaker(failureRatio: 0.5, ofAtLeast: 4, within: .seconds(10))
    Self.run([false, false, false], breaker, in: world)
    world.simulation.advance(by: .seconds(20))
    Self.run([false, true, true], breaker, in: world)
    #expect(breaker.state == .closed)
  }

  @Test(arguments: Effort.seeds(5))
  func `a service that fails at random opens the circuit soon at 60 %, and seldom at 20 %`(
    seed: UInt64
  ) {
    var random = Random(seed)
    /// The number of the call that opens the circuit, at 100 calls a second.
    func opening(_ failureRate: Double, _ count: Int) -> Int? {
      let rule = Circuit.Rule.ratio(0.5, minimum: 20, period: .seconds(10))
      var circuit = Circuit(rule, probes: 3)
      let clock = OperationClock(ContinuousClock())
      let id = ObjectIdentifier(breaker)
      for call in 0..<count {
        let now = Duration.milliseconds(10 * call)
        let fails = Double.random(in: 0..<1, using: &random) < failureRate
        circuit.ended(id, isFailure: fails, at: (clock, now), until: now + .seconds(30))
        if !circuit.isClosed { return call }
      }
      return nil
    }
    let breaker = CircuitBreaker(failures: 1)
    let soon = (0..<100).count { _ in opening(0.6, 20) != nil }
    #expect(soon > 70)
    let seldom = (0..<20).count { _ in opening(0.2, Effort.size(5_000)) != nil }
    #expect(seldom <= 1)
  }

  @Test func `a slow success counts as a failure`() {
    let world = World()
    let breaker = CircuitBreaker(
      failureRatio: 0.75,
      ofAtLeast: 2,
      within: .seconds(100),
      slow: .seconds(5)
    )
    for seconds in [4, 4, 5, 6] {
      let call = world.taking(seconds, "call")
      call.addCondition(CircuitClosed(breaker))
      world.run(call)
      #expect(call.kind == .succeeded)
    }
    #expect(breaker.state == .closed)
    for _ in 0..<4 {
      let call = world.taking(10, "slow")
      call.addCondition(CircuitClosed(breaker))
      world.run(call)
    }
    #expect(breaker.state == .open)
  }

  // MARK: Probes

  @Test(arguments: seeds)
  func `a half-open circuit runs n probes at most, and closes when all of them succeed`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let breaker = CircuitBreaker(failureRatio: 1, ofAtLeast: 1, probes: 3, cooldown: .seconds(10))
    Self.run([false], breaker, in: world)
    world.simulation.advance(by: .seconds(10))
    let calls = (0..<5).map { Self.call(breaker, Work.open("call \($0)")) }
    world.queue.addOperations(calls)
    world.simulation.advance(by: .zero)
    let probes = calls.filter(\.isExecuting)
    #expect(probes.count == 3)
    #expect(calls.count { $0.kind == .failed } == 2)
    for (number, probe) in probes.enumerated() {
      #expect(breaker.state == .halfOpen)
      probe.finish()
      world.simulation.advance(by: .zero)
      #expect((breaker.state == .closed) == (number == 2))
    }
  }

  @Test func `a failing probe opens the circuit, and a cancelled one makes room`() {
    let world = World()
    let breaker = CircuitBreaker(failureRatio: 1, ofAtLeast: 1, probes: 2, cooldown: .seconds(10))
    Self.run([false], breaker, in: world)
    world.simulation.advance(by: .seconds(10))
    let calls = (0..<2).map { Self.call(breaker, Work.open("call \($0)")) }
    world.queue.addOperations(calls)
    world.simulation.advance(by: .zero)
    calls[0].cancel()
    world.simulation.advance(by: .zero)
    let third = Self.call(breaker, Work.open("third"))
    world.run(third)
    #expect(third.isExecuting)
    third.finish(withError: Flaw(1))
    calls[1].finish()
    world.simulation.advance(by: .zero)
    #expect(breaker.state == .open)
  }

  // MARK: Waiting

  @Test(arguments: Effort.seeds(5))
  func `operations wait for the circuit without a slot, and start as probes and then together`(
    seed: UInt64
  ) {
    let world = World(seed: seed, limit: 50)
    let breaker = CircuitBreaker(
      "api",
      failureRatio: 1,
      ofAtLeast: 1,
      probes: 2,
      cooldown: .seconds(30)
    )
    let starts = Log<Duration>()
    let clock = world.simulation.environment.clock
    Self.run([false], breaker, in: world)
    let count = Effort.size(1_000, ordinarily: 100)
    let calls = (0..<count).map { number in
      let call = ResultOperation(name: "call \(number)") {
        starts.add(clock.now)
        try await clock.sleep(for: .seconds(2))
      }
      call.addCondition(CircuitClosed(breaker, waits: true))
      return call
    }
    world.queue.addOperations(calls)
    world.simulation.advance(by: .seconds(4))
    #expect(calls.allSatisfy { $0.state == .evaluatingConditions })
    #expect(
      "\(calls[0].explain())"
        == "call 0 waits for circuit “api” for 4 s: The circuit is open for another 25 s."
    )
    world.simulation.run(until: .seconds(31))
    #expect(starts.entries == [.seconds(30), .seconds(30)])
    #expect(calls.count { $0.explain().causes.first?.kind == .gate } == count - 2)
    world.simulation.run()
    #expect(calls.allSatisfy { $0.kind == .succeeded })
    #expect(starts.entries.dropFirst(2).first == .seconds(32))
    #expect(starts.entries.count == count)
  }

  @Test func `waiting operations go on waiting if the probe fails`() {
    let world = World(limit: 10)
    let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(30))
    Self.run([false], breaker, in: world)
    let number = Counter()
    let starts = Log<Duration>()
    let clock = world.simulation.environment.clock
    let calls = (0..<4).map { _ in
      let work = Work { work in
        starts.add(clock.now)
        if number.add() <= 2 { work.finish(withError: Flaw(1)) } else { work.finish() }
      }
      return Self.call(breaker, waits: true, work)
    }
    world.queue.addOperations(calls)
    world.simulation.run()
    #expect(calls.count { $0.kind == .failed } == 2)
    #expect(calls.count { $0.kind == .succeeded } == 2)
    #expect(starts.entries == [30, 60, 90, 90].map { .seconds($0) })
  }

  @Test func `a probe that hangs keeps the others waiting for a cooldown`() {
    let world = World(limit: 10)
    let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(30))
    Self.run([false], breaker, in: world)
    let hung = Self.call(breaker, waits: true, Work.open("hung"))
    world.queue.addOperation(hung)
    world.simulation.run(until: .seconds(31))
    #expect(hung.isExecuting)
    let next = Self.call(breaker, waits: true, Work("next"))
    world.queue.addOperation(next)
    world.simulation.run()
    #expect(next.kind == .succeeded)
    #expect(world.simulation.now == .seconds(60))
    hung.finish()
    world.simulation.run()
  }

  @Test func `a part of a compound condition waits, too`() {
    let world = World(limit: 10)
    let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(30))
    Self.run([false], breaker, in: world)
    let work = Work("work")
    work.addCondition(Immediate(always: .satisfied) && CircuitClosed(breaker, waits: true))
    world.run(work)
    #expect(work.kind == .succeeded)
    #expect(world.simulation.now == .seconds(30))
    #expect(breaker.state == .closed)
  }

  @Test func `a waiting operation that is cancelled leaves`() {
    let world = World(limit: 10)
    let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(30))
    Self.run([false], breaker, in: world)
    let work = Self.call(breaker, waits: true, Work("work"))
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(1))
    work.cancel()
    world.simulation.advance(by: .zero)
    #expect(work.kind == .cancelled)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `probes, failures, cancels and waiting operations in any order`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(5))
      let running = Counter()
      let bodies = Counter()
      let works = (0..<3).map { number in
        let work = Work("w\(number)") { work in
          running.add()
          defer { running.add(-1) }
          if bodies.add() <= 2 { work.finish(withError: Flaw(1)) } else { work.finish() }
        }
        work.addCondition(CircuitClosed(breaker, waits: true))
        return work
      }
      queue.maxConcurrentOperationCount = 2
      queue.addOperations(works)
      simulation.addStep("cancel", atAnyTime: true) { works[2].cancel() }
      simulation.run()
      try #require(queue.operationCount == 0)
      for work in works { try #require(work.isFinished) }
      try #require(breaker.state != .open || bodies.count <= 2)
    }
    #expect(report.scheduleCount > 50)
  }
}
