import AdvancedOperations
import AdvancedOperationsTesting
import Testing

/// A request that is tried again after longer and longer waits, of which a random part is waited,
/// as long as there is time.
@Suite struct `A program that tries again with jitter and a total timeout` {
  struct Overloaded: Error {}

  struct NotFound: Error {}

  static let policy = RetryPolicy.exponential(.seconds(1), cap: .seconds(8)).jittered()
    .totalTimeout(.seconds(30))

  func delays(_ recorder: RecordingObserver) -> [Duration] {
    recorder.events.compactMap { event in
      if case .retrying(let retry) = event { retry.delay } else { nil }
    }
  }

  func run(_ request: AdvancedOperation, seed: UInt64) -> (delays: [Duration], end: Duration) {
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let recorder = RecordingObserver()
    request.addObserver(recorder)
    queue.addOperation(request)
    simulation.run()
    return (delays(recorder), simulation.now)
  }

  func overloadedRequest() -> ResultOperation<String> {
    ResultOperation(name: "request", retry: Self.policy) { throw Overloaded() }
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `waits no longer than it says, and gives up in time`(seed: UInt64) throws {
    let request = overloadedRequest()
    let (delays, end) = run(request, seed: seed)
    for (delay, longest) in zip(delays, [1, 2, 4] + Array(repeating: 8, count: delays.count)) {
      #expect(delay >= .zero && delay <= .seconds(longest))
    }
    #expect(delays.reduce(.zero, +) == end)
    #expect(end <= .seconds(30))
    #expect(request.attempt == delays.count + 1)
    #expect(request.errors.count == delays.count + 1)
    try expectOutcome(of: request, is: .failed)
  }

  @Test func `waits as long each time with the same seed, and otherwise with another one`() {
    let first = run(overloadedRequest(), seed: 1).delays
    #expect(run(overloadedRequest(), seed: 1).delays == first)
    #expect(run(overloadedRequest(), seed: 2).delays != first)
  }

  @Test func `cuts the attempt short that is going on when the time is over`() throws {
    let request = ResultOperation(name: "request", retry: Self.policy) {
      guard AdvancedOperation.current?.attempt != 1 else { throw Overloaded() }
      try await OperationClock.current.sleep(for: .seconds(3600))
    }
    let (delays, end) = run(request, seed: 1)
    #expect(delays.count == 1)
    #expect(end == .seconds(30))
    let failure = try #require(request.outcome?.failure)
    #expect(failure.isTimeout)
    #expect(failure.first(Overloaded.self) != nil)
  }

  @Test func `has the value of the attempt that succeeds`() throws {
    let request = ResultOperation(name: "request", retry: Self.policy) {
      let attempt = AdvancedOperation.current?.attempt
      guard let attempt, attempt >= 3 else { throw Overloaded() }
      return "attempt \(attempt)"
    }
    let (delays, _) = run(request, seed: 1)
    #expect(delays.count == 2)
    #expect(try request.result?.get() == "attempt 3")
    #expect(request.errors.isEmpty)
  }

  @Test func `does not try again what is of no use`() throws {
    let policy = Self.policy.when { !($0 is NotFound) }
    let request = ResultOperation(name: "request", retry: policy) { throw NotFound() }
    let (delays, end) = run(request, seed: 1)
    #expect(delays.isEmpty)
    #expect(end == .zero)
  }

  @Test func `tries whole operations again in the same way`() throws {
    let request = RetryOperation(name: "request", retry: Self.policy) { attempt in
      let open = ResultOperation(name: "open") { "attempt \(attempt)" }
      open.addCondition(BlockCondition("third time") { attempt == 3 })
      return open
    }
    let (delays, end) = run(request, seed: 1)
    #expect(delays.count == 2)
    #expect(delays.reduce(.zero, +) == end)
    #expect(try request.result?.get() == "attempt 3")
  }
}
