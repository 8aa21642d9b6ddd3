import AdvancedOperations
import AdvancedOperationsTesting
import Testing

/// A server that awaits the answer of a workflow in the task of a client, which may hang up.
///
/// Operations that were added for the client end with its call; operations of other callers continue.
@Suite struct `A program whose client hangs up` {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue: AdvancedOperationQueue

  init() {
    queue = AdvancedOperationQueue(environment: simulation.environment)
  }

  static func workflow() -> (load: ResultOperation<String>, answer: ResultOperation<Int>) {
    let load = ResultOperation(name: "load") {
      try await OperationClock.current.sleep(for: .seconds(60))
      return "page"
    }
    return (load, load.then(name: "answer") { page in page.count })
  }

  @Test func `an answer in time is the value of the call`() throws {
    let (_, answer) = Self.workflow()
    let value = try simulation.run { [queue] in try await queue.run(answer) }
    #expect(value == 4)
    #expect(simulation.now == .seconds(60))
  }

  /// A client asks for an answer, and hangs up after five seconds.
  func hangUp(on answer: ResultOperation<Int>) throws {
    let clock = simulation.environment.clock
    try simulation.run { [queue] in
      try await withThrowingTaskGroup(of: Int.self) { clients in
        clients.addTask { try await queue.run(answer) }
        try await clock.sleep(for: .seconds(5))
        clients.cancelAll()
        await #expect(throws: CancellationError.self) { try await clients.next() }
      }
    }
    simulation.run()
  }

  @Test func `the call throws immediately, and cancels the operations that it has added`() throws {
    let (load, answer) = Self.workflow()
    try hangUp(on: answer)
    try expectOutcome(of: load, is: .cancelled)
    #expect(load.cancellationReason is CancellationError)
    try expectOutcome(of: answer, is: .cancelled)
    #expect(queue.operationCount == 0)
    #expect(simulation.now == .seconds(5))
  }

  @Test func `operations of other callers continue`() throws {
    let (load, answer) = Self.workflow()
    queue.addOperation(load)
    try hangUp(on: answer)
    try expectOutcome(of: load, is: .succeeded)
    try expectOutcome(of: answer, is: .cancelled)
    #expect(simulation.now == .seconds(60))
  }

  @Test func `a task on real threads may be cancelled as well`() async throws {
    let queue = AdvancedOperationQueue(name: "server")
    let (isLoading, loading) = AsyncStream.makeStream(of: Void.self)
    let load = ResultOperation(name: "load") {
      loading.yield()
      for await _ in AsyncStream<Never>.makeStream().stream {}
      return "page"
    }
    let answer = load.then(name: "answer") { page in page.count }

    let client = Task { try await queue.run(answer) }
    for await _ in isLoading { break }
    client.cancel()
    await #expect(throws: CancellationError.self) { try await client.value }
    try await load.untilFinished()
    try await answer.untilFinished()
    try expectOutcome(of: load, is: .cancelled)
    try expectOutcome(of: answer, is: .cancelled)
    #expect(load.cancellationReason is CancellationError)
  }

  @Test func `a client who hung up before the call starts nothing`() throws {
    let (load, answer) = Self.workflow()
    try simulation.run { [queue] in
      await withTaskGroup(of: Void.self) { clients in
        clients.cancelAll()
        clients.addTask {
          await #expect(throws: CancellationError.self) { try await queue.run(answer) }
        }
      }
    }
    simulation.run()
    #expect(load.outcome?.isSuccess != true)
    #expect(answer.outcome?.isSuccess != true)
    #expect(simulation.now == .zero)
  }

  @Test func `a second client of a shared download doesn't end the download of the first client`()
    throws
  {
    let (load, answer) = Self.workflow()
    let second = load.then(name: "second answer") { page in page.uppercased() }
    let clock = simulation.environment.clock
    let value = try simulation.run { [queue] in
      async let first = queue.run(answer)
      try await clock.sleep(for: .seconds(1))
      try await withThrowingTaskGroup(of: String.self) { clients in
        clients.addTask { try await queue.run(second) }
        try await clock.sleep(for: .seconds(1))
        clients.cancelAll()
        await #expect(throws: CancellationError.self) { try await clients.next() }
      }
      return try await first
    }
    #expect(value == 4)
    #expect(load.outcome?.isSuccess == true)
    try expectOutcome(of: second, is: .cancelled)
  }
}
