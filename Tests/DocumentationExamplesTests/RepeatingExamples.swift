import AdvancedOperations
import AdvancedOperationsTesting
import Testing

@Test func `DelayOperation: there is a pause between two operations`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let first = ResultOperation { simulation.now }
  let second = ResultOperation { simulation.now }

  let pause = DelayOperation(.seconds(30))
  second.addDependency(pause)
  pause.addDependency(first)
  queue.addOperations([first, pause, second])

  simulation.run()
  #expect((try? second.result?.get()) == .seconds(30))
}

private let mirrors = ["north", "south", "west"]

private final class Upload: AdvancedOperation, @unchecked Sendable {
  let mirror: String

  init(to mirror: String) {
    self.mirror = mirror
    super.init()
  }

  override func execute() {
    if mirror == "west" { finish() } else { finish(withError: Offline()) }
  }
}

@Test func `RetryOperation: each attempt is a new operation`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let network = Answer(true)

  let upload = RetryOperation(retry: .exponential(.seconds(1), jitter: true, attempts: 5)) {
    attempt in
    let upload = Upload(to: mirrors[attempt % mirrors.count])
    upload.addCondition(BlockCondition("online") { await network.isReachable })
    return upload
  }
  queue.addOperation(upload)

  simulation.run()
  #expect(upload.ending == "succeeded")
}

/// Has nothing the first time, and is empty afterwards.
private struct Inbox: Sendable {
  let rounds = Lines()

  func fetch() async throws {
    rounds("fetch")
    if rounds.all.count < 3 { throw Offline() }
    throw Closed()
  }

  struct Closed: Error {}
}

@Test func `RepeatOperation: something is done again and again`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let inbox = Inbox()

  let poll = RepeatOperation(times: nil, every: .seconds(60)) { round in
    ResultOperation(name: "poll") { try await inbox.fetch() }
  }
  poll.onRoundError { _, error in error is Offline ? nil : error }
  queue.addOperation(poll)

  simulation.run()
  #expect(inbox.rounds.all.count == 3)
  #expect(poll.errors.first is Inbox.Closed)
  #expect(simulation.now == .seconds(120))
}

@Test func `RetryPolicy: attempts and all of them together have limits`() {
  let policy = RetryPolicy.exponential(.seconds(1), attempts: 10)
    .attemptTimeout(.seconds(5))
    .totalTimeout(.seconds(60))

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let download = ResultOperation(retry: policy) { try await clock.sleep(until: .seconds(3600)) }
  AdvancedOperationQueue(environment: simulation.environment).addOperation(download)
  simulation.run()
  #expect(download.errors.allSatisfy { $0 is OperationTimeout })
  #expect(simulation.now <= .seconds(60))
}
