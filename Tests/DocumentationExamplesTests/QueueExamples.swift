import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

@Test func `AdvancedOperationQueue: it is a queue with a limit`() async throws {
  let operations = (1...3).map { _ in AdvancedOperation() }
  let (download, parse, store) = (operations[0], operations[1], operations[2])

  let queue = AdvancedOperationQueue()
  queue.maxConcurrentOperationCount = 4
  queue.addOperations([download, parse, store])

  try await queue.untilAllOperationsAreFinished()
  #expect(operations.allSatisfy { $0.ending == "succeeded" })
}

@Test func `AdvancedOperationQueueDelegate: the delegate attaches observers to all operations`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  final class Deadlines: AdvancedOperationQueueDelegate {
    func operationQueue(_ queue: AdvancedOperationQueue, willAdd operation: AdvancedOperation) {
      operation.addObserver(TimeoutObserver(.seconds(60)))
    }
  }
  let deadlines = Deadlines()
  queue.delegate = deadlines

  let clock = simulation.environment.clock
  let operation = ResultOperation { try await clock.sleep(until: .seconds(3600)) }
  queue.addOperation(operation)
  simulation.run()
  #expect(operation.cancellationReason is OperationTimeout)
  withExtendedLifetime(deadlines) {}
}

@Test func `OperationEnvironment: a queue gets a clock`() {
  let myClock = OperationClock(SuspendingClock())

  let queue = AdvancedOperationQueue(environment: OperationEnvironment(clock: myClock))

  #expect(queue.environment.clock.now < .seconds(3600))
}

private func sleepForThreeSeconds() async throws {
  let clock = OperationClock(ContinuousClock())
  try await clock.sleep(for: .seconds(3))
  let deadline = clock.now + .seconds(3)
  try await clock.sleep(until: deadline)
}

@Test func `OperationClock: a cancelled task need not wait for the time`() async {
  let task = Task { try await sleepForThreeSeconds() }
  task.cancel()
  await #expect(throws: CancellationError.self) { try await task.value }
}

@Test func `OperationTimer: a call that isn't due yet can be cancelled`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let calls = Lines()
  @Sendable func giveUp() { calls("gave up") }

  let timer = clock.schedule(at: clock.now + .seconds(30)) { giveUp() }
  timer.cancel()

  let other = clock.schedule(at: .seconds(60)) { calls("another") }
  simulation.run()
  #expect(calls.all == ["another"])
  withExtendedLifetime(other) {}
}

private struct LoggedOut: Error {}

@Test func `AdvancedOperationQueue: all are cancelled for one reason`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let operation = AdvancedOperation()
  queue.addOperation(operation)

  queue.cancelAllOperations(withError: LoggedOut())

  simulation.run()
  #expect(operation.cancellationReason is LoggedOut)
}

@Test func `AdvancedOperationQueue: the initializer accepts a name and a limit`() {
  let imports = AdvancedOperationQueue(name: "imports", maxConcurrentOperationCount: 4)

  #expect(imports.name == "imports")
  #expect(imports.maxConcurrentOperationCount == 4)
}

private actor PolledServer {
  private var askedCount = 0

  func isReady() throws -> Bool {
    askedCount += 1
    return askedCount == 3
  }
}

@Test func `OperationClock: a body sleeps in the time of its operation`() {
  let server = PolledServer()
  let poll = ResultOperation(name: "poll") {
    while try await !server.isReady() {
      try await OperationClock.current.sleep(for: .seconds(30))
    }
  }
  let simulation = SimulatedEnvironment(seed: 1)
  AdvancedOperationQueue(environment: simulation.environment).addOperation(poll)
  simulation.run()
  #expect(simulation.now == .seconds(60))
}

private struct Archive: Sendable {
  func save(_ events: [String]) async throws -> Int { events.count }
}

@Test func `run: one call adds a workflow and returns its value`() async throws {
  let queue = AdvancedOperationQueue()
  let feed = FeedServer()
  let archive = Archive()

  let download = ResultOperation(name: "download") { try await feed.download() }
  let parse = download.then(name: "parse") { data in try Feed(data).events }
  let store = parse.then(name: "store") { events in try await archive.save(events) }
  let saved = try await queue.run(store)

  #expect(saved == 3)
}

@Test func `run: an operation without a value is run in the same way`() async throws {
  let queue = AdvancedOperationQueue()
  let sync = GroupOperation { BlockOperation {} }

  try await queue.run(sync)

  #expect(sync.ending == "succeeded")
}

private struct Spans {
  @TaskLocal static var names: [String] = []
}

private func withSpan(_ name: String, _ body: () async throws -> Void) async throws {
  try await Spans.$names.withValue(Spans.names + [name]) { try await body() }
}

@Test func `OperationInterceptor: a span is opened around each body`() async throws {
  let queue = AdvancedOperationQueue()

  struct Tracing: OperationInterceptor {
    func intercept(_ attempt: OperationAttempt) async throws {
      let name = attempt.operation.name ?? "operation"
      try await withSpan("\(name), attempt \(attempt.number)") { try await attempt.run() }
    }
  }
  queue.addInterceptor(Tracing())

  let operation = ResultOperation(name: "download") { Spans.names }
  #expect(try await queue.run(operation) == ["download, attempt 1"])
}

private struct DrainLog {
  let lines = Lines()
  func warning(_ line: String) { lines(line) }
}

@Test func `drain: the report names the operations that were cut short`() async throws {
  let logger = DrainLog()
  let queue = AdvancedOperationQueue()
  queue.addOperation(ResultOperation(name: "parse") { 1 })

  let report = await queue.drain(within: .seconds(20))
  for operation in report.cutShort { logger.warning("\(operation) was cut short") }

  #expect(logger.lines.all.isEmpty)
}

@Test func `OperationDrainReport: the report counts the outcomes`() async throws {
  let print = Lines()
  let queue = AdvancedOperationQueue()
  queue.addOperations((1...12).map { number in ResultOperation { number } })
  queue.addOperation(ResultOperation { throw Offline() })

  let report = await queue.drain(within: .seconds(20))
  print(report)
  // 12 succeeded, 1 failed, 2 cancelled, cut short: upload, mail

  // Those that had ended before the drain began aren't counted.
  #expect(print.all == ["\(report)"])
}

@Test func `OperationQueueClosed: the error is the reason of late operations`() async throws {
  let refusals = Lines()
  let refuse = { refusals("refused") }
  let queue = AdvancedOperationQueue()
  await queue.drain()
  let operation = AdvancedOperation()
  queue.addOperation(operation)

  if operation.cancellationReason is OperationQueueClosed { refuse() }

  #expect(refusals.all == ["refused"])
}
