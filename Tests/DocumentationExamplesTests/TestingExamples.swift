import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

/// Remembers whether it was touched.
private final class FakeDatabase: Sendable {
  private let touches = Locked(0)
  var isUntouched: Bool { touches.withLock { $0 == 0 } }
  func touch() { touches.withLock { $0 += 1 } }
}

private final class Import: AdvancedOperation, @unchecked Sendable {
  let database: FakeDatabase

  init(_ database: FakeDatabase) {
    self.database = database
    super.init()
  }

  override func execute() {
    database.touch()
    finish()
  }
}

private let database = FakeDatabase()

@Test(arguments: SimulatedEnvironment.seeds)
func `an import without network fails and doesn't touch the database`(seed: UInt64) {
  let simulation = SimulatedEnvironment(seed: seed)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let online = ConditionProbe()
  let importing = Import(database)
  importing.addCondition(online)
  queue.addOperation(importing)

  simulation.run()
  #expect(importing.state == .evaluatingConditions)

  online.answer(.failed(Offline()))
  simulation.run()
  #expect(importing.errors.count == 1)
  #expect(database.isUntouched)
}

@Test func `ConditionProbe: the probe returns a result when the test requests it`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let operation = AdvancedOperation()

  let probe = ConditionProbe()
  operation.addCondition(probe)
  queue.addOperation(operation)
  simulation.run()
  #expect(operation.state == .evaluatingConditions)

  probe.answer(.failed(Offline()))
  simulation.run()
  #expect(operation.state == .finished)
}

@Test func `evaluate: a condition is evaluated on its own`() throws {
  let simulation = SimulatedEnvironment(seed: 1)

  let result = try simulation.evaluate(FileExists("/no/such/file"))
  #expect(!result.isSatisfied)
}

@Test func `RecordingObserver: the observer keeps its events`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let operation = AdvancedOperation()

  let recorder = RecordingObserver()
  operation.addObserver(recorder)
  queue.addOperation(operation)
  simulation.run()
  #expect(recorder.kinds == [.enqueued, .started, .willFinish, .finished])
}

@Test func `OperationEvent: each event describes a change`() {
  let print = Lines()
  let recorder = RecordingObserver()
  let operation = ResultOperation { throw Offline() }
  operation.addObserver(recorder)
  simulate(operation)

  for event in recorder.events {
    if case .finished(let outcome) = event { print(outcome) }
  }

  #expect(print.all == ["failed\n  The connection was lost."])
}

@Test func `SimulatedEnvironment: two minutes of retries take no time`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let download = ResultOperation(retry: .constant(.seconds(60)).attempts(3)) { throw Offline() }
  queue.addOperation(download)
  simulation.run()
  #expect(download.errors.count == 3)
  #expect(simulation.now == .seconds(120))
}

@Test func `SplitMix64: random is the same in every run`() {
  let operations = (1...20).map { number in ResultOperation { number } }

  var generator = SplitMix64(seed: 7)
  let shuffled = operations.shuffled(using: &generator)

  var same = SplitMix64(seed: 7)
  #expect(shuffled == operations.shuffled(using: &same))
  #expect(shuffled != operations)
}

private struct Response: Sendable {
  let status: Int
}

@Test func `SimulatedEnvironment: async code runs in it`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let request = "/events"
  @Sendable func handler(_ request: String) async throws -> Response {
    let count = try await queue.run(ResultOperation { request.count })
    return Response(status: count > 0 ? 200 : 404)
  }

  let response = try simulation.run { try await handler(request) }
  #expect(response.status == 200)
}

@Test func `SimulatedEnvironment: a body sleeps by the clock of its operation`() throws {
  let poll = ResultOperation(name: "poll") {
    try await OperationClock.current.sleep(for: .seconds(30))
  }
  let simulation = simulate(poll)
  #expect(simulation.now == .seconds(30))
  try expectOutcome(of: poll, is: .succeeded)
}
