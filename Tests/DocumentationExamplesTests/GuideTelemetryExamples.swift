import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Synchronization
import Testing

enum Trace {
  @TaskLocal static var span = "none"
}

struct Tracing: OperationInterceptor {
  func intercept(_ attempt: OperationAttempt) async throws {
    let name = "\(attempt.operation.name ?? "operation"), attempt \(attempt.number)"
    try await Trace.$span.withValue(name) { try await attempt.run() }
  }
}

final class Metrics: OperationObserver {
  private let counters = Mutex<[String: Int]>([:])

  func count(_ name: String) { counters.withLock { $0[name, default: 0] += 1 } }
  var all: [(key: String, value: Int)] { counters.withLock { $0 }.sorted { $0.key < $1.key } }

  func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) {
    count("retries")
  }

  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    switch outcome {
    case .succeeded: count("succeeded")
    case .skipped: count("skipped")
    case .cancelled: count("cancelled")
    case .failed: count("failed")
    }
  }
}

@Test func `Telemetry: logs, metrics and spans`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let server = FeedServer(failures: 1)

  let metrics = Metrics()
  queue.addObserver(LogObserver { line in print(line) })
  queue.addObserver(metrics)
  queue.addInterceptor(Tracing())

  let retry = RetryPolicy.constant(.seconds(2)).attempts(3)
  let download = ResultOperation(name: "download", retry: retry) {
    print("span:", Trace.span)
    try await clock.sleep(for: .seconds(1))
    return try await server.download()
  }
  let publish = ResultOperation(name: "publish") {}
  publish.addCondition(BlockCondition("signed in") { false })
  queue.addOperations([download, publish])

  simulation.run()
  for (name, count) in metrics.all { print("\(name): \(count)") }

  try expectShown(print, in: "Telemetry")
}

@Test func `Telemetry: an interceptor measures bodies`() {
  let measured = Lines()

  struct Timing: OperationInterceptor {
    let record: @Sendable (String, Duration) -> Void

    func intercept(_ attempt: OperationAttempt) async throws {
      let operation = attempt.operation
      let clock = operation.environment.clock
      let begin = clock.now
      defer { record(operation.name ?? "operation", clock.now - begin) }
      try await attempt.run()
    }
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.addInterceptor(Timing { name, time in measured(name, time) })
  queue.addOperation(ResultOperation(name: "work") { try await clock.sleep(for: .seconds(3)) })
  simulation.run()
  #expect(measured.all == ["work 3.0 seconds"])
}

@Test func `Telemetry: an operation has the task-locals of where it was created`() async throws {
  let queue = AdvancedOperationQueue()

  let operation = Trace.$span.withValue("request 7") {
    ResultOperation(name: "handle") { Trace.span }
  }

  #expect(try await queue.run(operation) == "request 7")
}

@Test func `Telemetry: an interceptor isn't called for what doesn't execute, nor for overrides`() {
  let called = Lines()
  struct Noting: OperationInterceptor {
    let note: @Sendable (String) -> Void
    func intercept(_ attempt: OperationAttempt) async throws {
      note(attempt.operation.name ?? "")
      try await attempt.run()
    }
  }
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.addInterceptor(Noting { called($0) })
  let guarded = ResultOperation(name: "guarded") {}
  guarded.addCondition(BlockCondition("never") { false })
  queue.addOperations([
    guarded, AdvancedOperation(name: "override"), ResultOperation(name: "body") {},
  ])
  simulation.run()
  #expect(called.all == ["body"])
}
