import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

@Test(arguments: SimulatedEnvironment.seeds)
func `an upload ends`(seed: UInt64) throws {
  let simulation = SimulatedEnvironment(seed: seed)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let upload = ResultOperation(name: "upload") { 1 }
  queue.addOperation(upload)
  simulation.run()
  try expectOutcome(of: upload, is: .succeeded)
}

@Test func `SimulatedEnvironment: several seeds in one loop`() throws {
  for seed in SimulatedEnvironment.seeds {
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let upload = ResultOperation(name: "upload") { 1 }
    queue.addOperation(upload)
    simulation.run()
    try expectOutcome(of: upload, is: .succeeded)
  }
}

struct SteppedClock: Clock {
  let clock: OperationClock
  private let origin = ContinuousClock.now
  var now: ContinuousClock.Instant { origin + clock.now }
  var minimumResolution: Duration { .nanoseconds(1) }
  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: origin.duration(to: deadline))
  }
}

@Test func `SteppedClock: code that takes any clock sleeps in a simulation`() throws {
  @Sendable func poll<C: Clock>(_ clock: C, every pause: C.Duration) async throws -> C.Instant {
    for _ in 1...3 { try await clock.sleep(until: clock.now.advanced(by: pause), tolerance: nil) }
    return clock.now
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = SteppedClock(clock: simulation.environment.clock)
  let begin = clock.now
  let end = try simulation.run { try await poll(clock, every: .seconds(60)) }
  #expect(begin.duration(to: end) == .seconds(180))
  #expect(simulation.now == .seconds(180))
}

@MainActor private final class FeedModel {
  private let queue: AdvancedOperationQueue
  private(set) var events: [String] = []

  init(_ queue: AdvancedOperationQueue) { self.queue = queue }

  func load() async {
    events = (try? await queue.run(ResultOperation { ["Chile 1960"] })) ?? []
  }
}

@MainActor @Test(arguments: SimulatedEnvironment.seeds)
func `a model shows the feed`(seed: UInt64) async throws {
  let simulation = SimulatedEnvironment(seed: seed)
  let model = FeedModel(AdvancedOperationQueue(environment: simulation.environment))
  var isDone = false
  Task {
    await model.load()
    isDone = true
  }
  while !isDone {
    await Task.yield()  // lets the task run on the main actor
    simulation.run()
  }
  #expect(model.events == ["Chile 1960"])
}
