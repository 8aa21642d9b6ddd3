import AdvancedOperations
import AdvancedOperationsTesting
import Testing

/// Fails a number of times, with an error that may be worth another attempt.
private actor Server {
  private var failuresLeft: Int
  init(failures: Int) { failuresLeft = failures }
  func load() throws -> String {
    failuresLeft -= 1
    if failuresLeft >= 0 { throw Offline() }
    return "page"
  }
}

private struct NotFound: Error {}

@Test func `Retries: attempts, delays and time limits`() throws {
  let print = Lines()
  let server = Server(failures: 2)

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let policy = RetryPolicy.exponential(.seconds(1)).attempts(5)
    .when { !($0 is NotFound) }
    .attemptTimeout(.seconds(10))
    .totalTimeout(.seconds(60))

  let load = ResultOperation(name: "load", retry: policy) {
    print("\(clock.now.components.seconds) s: attempt \(AdvancedOperation.current?.attempt ?? 1)")
    return try await server.load()
  }
  let hang = ResultOperation(name: "hang", retry: policy) {
    try await clock.sleep(for: .seconds(3_600))
  }
  queue.addOperations([load, hang])
  simulation.run()
  for operation in [load, hang] as [AdvancedOperation] { print(operation.explain()) }

  try expectShown(print, in: "RetriesAndTimeouts")
  #expect(simulation.now == .seconds(60))
  #expect(hang.outcome?.failure?.isTimeout == true)
}

@Test func `Retries: a limit of the time without progress`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let copy = ResultOperation(name: "copy") {
    for part in 1...10 {
      try await clock.sleep(for: .seconds(part == 4 ? 3_600 : 50))
      AdvancedOperation.current?.updateProgress(completed: Int64(part), total: 10)
    }
  }
  copy.addObserver(TimeoutObserver(withoutProgressFor: .seconds(60)))
  queue.addOperation(copy)
  simulation.run(until: .seconds(190))
  print(copy.explain())
  simulation.run()
  print(copy.explain())

  try expectShown(print, in: "RetriesAndTimeouts")
  #expect(simulation.now >= .seconds(210))

  let upload = ResultOperation {}
  upload.addObserver(TimeoutObserver(withoutProgressFor: .seconds(60)))
  upload.cancel()
}

@Test func `Retries: time limits cancel`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let upload = ResultOperation(name: "upload") { try await clock.sleep(for: .seconds(3_600)) }

  upload.addObserver(TimeoutObserver(.seconds(30)))
  upload.addObserver(TimeoutObserver(.seconds(300), of: .all))

  queue.addOperation(upload)
  simulation.run()
  #expect(simulation.now == .seconds(30))
  #expect(upload.outcome?.isCancelled == true)
  #expect(upload.outcome?.failure?.isTimeout == true)
}

@Test func `Retries: deadlines`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let arrival = clock.now
  let stock = ResultOperation(name: "stock", retry: .constant(.seconds(3))) {
    try await clock.sleep(for: .seconds(4))
    throw Offline()
  }
  let quote = GroupOperation(name: "quote") { stock }
  quote.deadline = arrival + .seconds(12)
  queue.addOperation(quote)
  simulation.run()
  print(stock.explain())
  print("after \((clock.now - arrival).components.seconds) s")

  try expectShown(print, in: "RetriesAndTimeouts")

  struct Request { var timeout: Duration? }
  let ask = ResultOperation {
    var request = Request()
    if let deadline = AdvancedOperation.current?.deadline {
      request.timeout = deadline - OperationClock.current.now
    }
    return request.timeout
  }
  ask.deadline = clock.now + .seconds(8)
  queue.addOperation(ask)
  simulation.run()
  #expect(try ask.result?.get() == .seconds(8))
}

@Test func `Retries: a circuit breaker`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(
    maxConcurrentOperationCount: 1,
    environment: simulation.environment
  )
  let server = Server(failures: 2)

  let breaker = CircuitBreaker(failures: 2, cooldown: .seconds(30))
  func call(_ number: Int) -> AdvancedOperation {
    let call = ResultOperation(name: "call \(number)") { try await server.load() }
    call.addCondition(CircuitClosed(breaker))
    return call
  }

  for number in 1...3 {
    let call = call(number)
    queue.addOperation(call)
    simulation.run()
    print(call.explain())
  }
  try expectShown(print, in: "RetriesAndTimeouts")

  simulation.advance(by: .seconds(30))
  #expect(breaker.state == .halfOpen)
  let probe = call(4)
  queue.addOperation(probe)
  simulation.run()
  #expect(probe.ending == "succeeded")
  #expect(breaker.state == .closed)
}

@Test func `Retries: a policy decides about errors, and counts attempts`() {
  let bodies = Lines()
  let skipped = ResultOperation(retry: .immediate.attempts(3)) {
    bodies("skipped")
    throw OperationSkipped(reason: "unchanged")
  }
  let breaker = CircuitBreaker(failures: 1)
  let server = Server(failures: 2)
  let call = ResultOperation(retry: .immediate.attempts(3)) { try await server.load() }
  call.addCondition(CircuitClosed(breaker))
  simulate(skipped, call)
  #expect(bodies.all == ["skipped"])
  #expect(skipped.ending == "skipped: unchanged")
  #expect(call.ending == "succeeded")
  #expect(breaker.state == .closed)
}

@Test func `Retries: a budget for the retries of several operations`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let server = Server(failures: 9)

  let budget = RetryBudget("api", ratio: 0.1, minimum: 1)
  let polite = RetryPolicy.constant(.seconds(1)).attempts(3).limited(by: budget)

  for number in 1...3 {
    let call = ResultOperation(name: "call \(number)", retry: polite) { try await server.load() }
    queue.addOperation(call)
    simulation.run()
    print(call.explain())
  }
  try expectShown(print, in: "RetriesAndTimeouts")
}

@Test func `Retries: the examples of budgets and of delays that begin again`() throws {
  let first: RetryPolicy
  do {
    let budget = RetryBudget("api", ratio: 0.1)
    let policy = RetryPolicy.exponential(.seconds(1)).attempts(3).limited(by: budget)
    first = policy
  }
  let policy = RetryPolicy.exponential(.seconds(1)).attempts(8).resettingAfter(.seconds(60))
  let bodies = Lines()
  for policy in [first, policy] {
    let operation = ResultOperation(retry: policy) { bodies("body") }
    simulate(operation)
    #expect(operation.ending == "succeeded")
  }
  #expect(bodies.all == ["body", "body"])
}

@Test func `Retries: a breaker counts each attempt of a RetryOperation`() {
  let server = Server(failures: 9)
  let breaker = CircuitBreaker(failures: 2)

  let load = RetryOperation(name: "load", retry: .constant(.seconds(5)).attempts(4)) { attempt in
    let load = ResultOperation(name: "attempt \(attempt)") { try await server.load() }
    load.addCondition(CircuitClosed(breaker))
    return load
  }

  let logged = Lines()
  load.addObserver(BlockObserver(willRetry: { _, retry in logged("\(retry.delay)") }))
  let simulation = simulate(load)
  #expect(simulation.now == .seconds(15))
  #expect(logged.all == ["5.0 seconds", "5.0 seconds", "5.0 seconds"])
  #expect(breaker.state == .open)
  let causes = load.outcome?.failure?.rootCauses ?? []
  #expect(causes.map { $0.error is Offline } == [true, true, false, false])
}

@Test(arguments: [false, true])
func `Retries: an attempt that timed out, for a closure that names errors`(namesTimeouts: Bool) {
  let attempts = Lines()
  let isWorthwhile: @Sendable (any Error) -> Bool = { error in
    error is Offline || (namesTimeouts && error is OperationTimeout)
  }
  let breaker = CircuitBreaker(failures: 1, counts: isWorthwhile)
  let policy = RetryPolicy.immediate.attempts(2).attemptTimeout(.seconds(1)).when(isWorthwhile)
  let hang = ResultOperation(retry: policy) {
    attempts("attempt")
    try await OperationClock.current.sleep(for: .seconds(60))
  }
  hang.addCondition(CircuitClosed(breaker))
  simulate(hang)
  #expect(attempts.all.count == (namesTimeouts ? 2 : 1))
  #expect(breaker.state == (namesTimeouts ? .open : .closed))
}

@Test func `Retries: operations wait for a circuit that opens by ratio`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(name: "sync", environment: simulation.environment)
  let server = Server(failures: 2)

  let api = CircuitBreaker("api", failureRatio: 0.5, ofAtLeast: 2, slow: .seconds(5), probes: 3)
  for number in 1...3 {
    let sync = ResultOperation(name: "sync \(number)") { try await server.load() }
    sync.addCondition(CircuitClosed(api, waits: true))
    queue.addOperation(sync)
    simulation.advance(by: .seconds(1))
  }
  print(queue.explain())

  try expectShown(print, in: "RetriesAndTimeouts")
  simulation.run()
  #expect(queue.operationCount == 0)
  #expect(api.state == .halfOpen)
}

@Test func `CircuitBreaker: a ratio, slow calls and probes`() {
  let breaker = CircuitBreaker("api", failureRatio: 0.5, slow: .seconds(5), probes: 3)
  let call = AdvancedOperation()
  call.addCondition(CircuitClosed(breaker))
  simulate(call)
  #expect(call.ending == "succeeded")
}
