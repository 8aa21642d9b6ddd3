import AdvancedOperations
import AdvancedOperationsTesting
import Foundation
import Testing

@Test func `Time: the time of day, also in a simulation`() throws {
  let print = Lines()

  struct TimeOfDay: Sendable {
    let clock: OperationClock
    let origin: Date

    init(_ clock: OperationClock, now: Date = Date()) {
      self.clock = clock
      origin = now.addingTimeInterval(-(clock.now / .seconds(1)))
    }

    var now: Date { origin.addingTimeInterval(clock.now / .seconds(1)) }
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let day = TimeOfDay(clock, now: Date(timeIntervalSince1970: 1_800_000_000))

  let poll = ResultOperation(name: "poll") {
    for _ in 1...3 {
      print("after \(clock.now.components.seconds) s, at \(day.now)")
      try await clock.sleep(for: .seconds(3_600))
    }
  }
  queue.addOperation(poll)
  simulation.run()

  try expectShown(print, in: "TimeAndClocks")
}

@Test func `Time: a body that works with every clock`() {
  let poll = ResultOperation(name: "poll") {
    guard let clock = AdvancedOperation.current?.environment.clock else { return }
    try await clock.sleep(for: .seconds(30))
  }

  let simulation = simulate(poll)
  #expect(simulation.now == .seconds(30))
}

@Test func `Time: another clock`() async throws {
  let environment = OperationEnvironment(clock: OperationClock(SuspendingClock()))
  let queue = AdvancedOperationQueue(environment: environment)

  let operation = ResultOperation { AdvancedOperation.current?.environment.clock.now }
  #expect(try await queue.run(operation) != nil)
}

@Test func `Time: clocks of the system have one origin each`() {
  let before = OperationClock(ContinuousClock()).now
  let other = OperationClock(ContinuousClock())
  #expect(other.now >= before)
  let environment = OperationEnvironment()
  #expect(environment.clock.now >= before)
}

@Test func `Time: a simulation begins at zero and doesn't move by itself`() {
  let simulation = SimulatedEnvironment(seed: 1)
  #expect(simulation.environment.clock.now == .zero)
  simulation.advance(by: .seconds(5))
  #expect(simulation.environment.clock.now == .seconds(5))
}

@Test func `Time: until a time of day`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let now = Date(timeIntervalSince1970: 1_800_000_000)
  let three = now.addingTimeInterval(7_200)

  let wait = DelayOperation(.seconds(three.timeIntervalSince(now)))
  let backup = ResultOperation(name: "backup") {}
  backup.addDependency(wait)
  queue.addOperations([wait, backup])

  simulation.run()
  #expect(simulation.now == .seconds(7_200))
  #expect(backup.ending == "succeeded")
}
