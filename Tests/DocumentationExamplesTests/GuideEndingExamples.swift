import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Dispatch
import Foundation
import Synchronization
import Testing

#if canImport(Android)
import Android
#endif

@Test func `Ending a queue: operations finish, are cut short or are refused`() throws {
  let print = Lines()

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(name: "mail", environment: simulation.environment)

  let send = ResultOperation(name: "send") { try await clock.sleep(for: .seconds(1)) }
  let sync = ResultOperation(name: "sync") { try await clock.sleep(for: .seconds(60)) }
  let index = sync.then(name: "index") { _ in }
  queue.addOperations([send, sync, index])

  let report = try simulation.run { await queue.drain(within: .seconds(20)) }
  print("after \(clock.now.components.seconds) s:", report)

  let late = ResultOperation(name: "late") {}
  queue.addOperation(late)
  simulation.run()
  for operation in [send, sync, index, late] { print(operation.explain()) }

  try expectShown(print, in: "EndingAQueue")
  #expect(queue.isClosed)
  #expect(report.succeededCount == 1)
  #expect(report.cancelledCount == 2)
  #expect(report.turnedAwayCount == 0)
  #expect((late.cancellationReason as? OperationQueueClosed)?.cause == .addedLate)

  try endsOfOperations(report, late)
}

/// Which operations never began, were interrupted or were turned away, and the next start.
private func endsOfOperations(_ report: OperationDrainReport, _ late: AdvancedOperation) throws {
  let print = Lines()

  for case let operation as AdvancedOperation in report.cutShort {
    let name = operation.name ?? "an operation"
    print(name, operation.hasStarted ? "was interrupted" : "never began")
  }
  if let closed = late.cancellationReason as? OperationQueueClosed, closed.cause == .addedLate {
    print("late was turned away")
  }

  try expectShown(print, in: "EndingAQueue")

  let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: file) }
  let queue = AdvancedOperationQueue()
  queue.isSuspended = true
  func makeJob(_ name: String) -> AdvancedOperation { AdvancedOperation(name: name) }

  let names = report.cutShort.compactMap(\.name)
  try JSONEncoder().encode(names).write(to: file)

  for name in try JSONDecoder().decode([String].self, from: Data(contentsOf: file)) {
    queue.addOperation(makeJob(name))
  }

  #expect(queue.operations.map(\.name) == ["index", "sync"])
  queue.cancelAllOperations()
  queue.isSuspended = false
}

@Test func `Ending a queue: only the operations that are executing`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(
    maxConcurrentOperationCount: 1,
    environment: simulation.environment
  )
  for _ in 1...3 { queue.addOperation(ResultOperation { try await clock.sleep(for: .seconds(1)) }) }
  simulation.run(until: .milliseconds(300))

  for operation in queue.operations where !operation.isExecuting { operation.cancel() }

  let report = try simulation.run { await queue.drain(within: .seconds(20)) }
  #expect("\(report)" == "1 succeeded, 2 cancelled")
  #expect(report.cutShort.isEmpty)
  #expect(simulation.now == .seconds(1))
}

@Test func `Ending a queue: the report of a body that ignores its cancellation`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(name: "mail", environment: simulation.environment)
  let body = Mutex<CheckedContinuation<Void, Never>?>(nil)
  let importing = ResultOperation(name: "import") {
    await withCheckedContinuation { continuation in body.withLock { $0 = continuation } }
  }
  queue.addOperation(importing)
  let report = try simulation.run {
    async let report = queue.drain(within: .seconds(20))
    try await clock.sleep(for: .seconds(25))
    print(queue.explain())
    body.withLock { $0?.resume() }
    return await report
  }
  try expectShown(print, in: "EndingAQueue")
  #expect(report.cutShort.map(\.name) == ["import"])
}

/// In a process of its own, which receives the signal.
@Test func `Ending a queue: a service that SIGTERM ends`() async {
  await #expect(processExitsWith: .success) {
    let print = Lines()

    @Sendable func addJobs(to queue: AdvancedOperationQueue) async {
      while !Task.isCancelled {
        queue.addOperation(ResultOperation {})
        try? await Task.sleep(for: .milliseconds(10))
      }
    }

    func serve(_ queue: AdvancedOperationQueue) async {
      let reader = Task { await addJobs(to: queue) }
      await untilTerminated()

      // 1. Stop the code that adds operations: the server, the timer, the reader.
      reader.cancel()
      // 2. Drain the queue. If a body ignores its cancellation, end the process without it.
      DispatchQueue(label: "exit").asyncAfter(deadline: .now() + 25) {
        print(queue.explain())
        exit(1)
      }
      let report = await queue.drain(within: .seconds(20))
      // 3. Log the report, and let the program end.
      print(report)
    }

    func untilTerminated() async {
      signal(SIGTERM, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: SIGTERM)
      await withCheckedContinuation { continuation in
        source.setEventHandler {
          source.cancel()
          continuation.resume()
        }
        source.resume()
      }
    }

    signal(SIGTERM, SIG_IGN)
    let sender = Task {
      while !Task.isCancelled {
        kill(getpid(), SIGTERM)
        try? await Task.sleep(for: .milliseconds(10))
      }
    }
    let queue = AdvancedOperationQueue()
    await serve(queue)
    sender.cancel()
    #expect(queue.isClosed && queue.operationCount == 0)
    #expect(print.all.count == 1)
  }
}

@Test func `Ending a queue: the queue accepts operations that its members add`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(name: "mail", environment: simulation.environment)
  let sent = Lines()

  let send = ResultOperation(name: "send") {
    try await clock.sleep(for: .seconds(1))
    try AdvancedOperation.current?.produce(ResultOperation(name: "log") { sent("logged") })
  }

  queue.addOperation(send)
  let report = try simulation.run { await queue.drain() }
  #expect(sent.all == ["logged"])
  #expect("\(report)" == "2 succeeded")
}

@Test func `Ending a queue: a successor, whatever became of the operation`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(name: "mail", environment: simulation.environment)
  let made = Lines()
  @Sendable func makePoll() -> ResultOperation<Void> {
    made("poll")
    let poll = ResultOperation(name: "poll") { try await clock.sleep(for: .seconds(1)) }

    poll.onFinish { [weak queue] _, _ in
      if let queue, !queue.isClosed { queue.addOperation(makePoll()) }
    }

    return poll
  }

  queue.addOperation(makePoll())
  simulation.run(until: .milliseconds(2_500))
  let report = try simulation.run { await queue.drain(within: .seconds(20)) }
  simulation.run()
  #expect(made.all == ["poll", "poll", "poll"])
  #expect("\(report)" == "1 succeeded")
}

@Test func `Ending a queue: no new work, without closing it`() async throws {
  let queue = AdvancedOperationQueue()
  let operations = (1...3).map { _ in AdvancedOperation() }
  queue.addOperations(operations)

  try await queue.untilAllOperationsAreFinished()

  let another = AdvancedOperation()
  queue.addOperation(another)
  try await another.untilFinished()
  #expect(another.ending == "succeeded")
}

@Test func `Ending a queue: a suspended queue is resumed when the time has passed`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.isSuspended = true
  let waiting = AdvancedOperation()
  queue.addOperation(waiting)
  let report = try simulation.run { await queue.drain(within: .seconds(20)) }
  #expect("\(report)".hasPrefix("1 cancelled"))
  #expect(waiting.isFinished)
}
