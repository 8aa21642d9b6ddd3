import AdvancedOperations
import AdvancedOperationsTesting
import Testing

@Test func `BlockObserver: closures are notified`() {
  let print = Lines()
  let operation = ResultOperation(name: "download") {}

  operation.addObserver(BlockObserver(didStart: { print("started \($0)") }))

  simulate(operation)
  #expect(print.all == ["started download (executing)"])
}

private struct Journal: Sendable {
  let lines = Lines()
  func write(_ line: String) { lines(line) }
}

private let journal = Journal()

@Test func `OperationObserver: your own type is notified`() throws {
  struct Audit: OperationObserver {
    func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      journal.write("\(operation.name ?? ""): \(outcome)")
    }
  }

  let operation = ResultOperation(name: "download") { throw Offline() }
  operation.addObserver(Audit())
  simulate(operation)
  let outcome = try #require(operation.outcome)
  #expect(journal.lines.all == ["download: \(outcome)"])
}

@Test func `OperationObservation: an observer is removed`() {
  let refreshed = Lines()
  @Sendable func refresh(_ operation: AdvancedOperation) { refreshed(operation) }
  let operation = AdvancedOperation()

  let observation = operation.onFinish { operation, _ in refresh(operation) }
  observation.remove()

  simulate(operation)
  #expect(operation.isFinished && refreshed.all.isEmpty)
}

@Test func `OperationProgress: an operation reports its progress`() {
  let print = Lines()
  let rows = 1...4

  let copy = ResultOperation(name: "copy") {
    for row in rows {
      AdvancedOperation.current?.updateProgress(completed: Int64(row), total: Int64(rows.count))
    }
  }
  copy.addObserver(
    BlockObserver(didUpdateProgress: { _, progress in print(progress.fractionCompleted) })
  )

  simulate(copy)
  #expect(print.all == ["0.25", "0.5", "0.75", "1.0"])
}

@Test func `ProgressObserver: the progress of a workflow is summed up`() {
  let print = Lines()
  let download = ResultOperation { "data" }
  let workflow = [download, download.then { _ in "events" }]

  let progress = ProgressObserver { progress, _ in
    print("\(Int(progress.fractionCompleted * 100)) %")
  }
  for operation in workflow { operation.addObserver(progress) }

  simulate(workflow[0], workflow[1])
  #expect(print.all.contains("50 %"))
  #expect(print.all.last == "100 %")
}

@Test func `TimeoutObserver: an operation that takes too long is cancelled`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let download = ResultOperation { try await clock.sleep(until: .seconds(3600)) }

  download.addObserver(TimeoutObserver(.seconds(30)))

  AdvancedOperationQueue(environment: simulation.environment).addOperation(download)
  simulation.run()
  #expect(download.cancellationReason as? OperationTimeout == .init(duration: .seconds(30)))
  #expect(simulation.now == .seconds(30))
}

private struct Bar: Sendable {
  let shown = Lines()
  func show(_ fraction: Double) { shown(fraction) }
}

/// An operation that was added to its queue after somebody had asked for its events.
private struct Watched {
  let events: OperationEvents

  init(_ operation: AdvancedOperation) {
    events = operation.events
    AdvancedOperationQueue().addOperation(operation)
  }
}

@Test func `OperationEvents: events are a sequence`() async {
  let bar = Bar()
  let download = Watched(
    ResultOperation { AdvancedOperation.current?.updateProgress(completed: 1, total: 4) }
  )

  for await event in download.events {
    if case .progress(let update) = event { bar.show(update.fractionCompleted) }
  }

  #expect(bar.shown.all == ["0.25"])
}

private struct Logger: Sendable {
  let lines = Lines()
  func info(_ line: String) { lines(line) }
  func error(_ line: String) { lines(line) }
}

@Test func `LogObserver: a line for each thing of note`() {
  let logger = Logger()
  let workflow = [ResultOperation(name: "download") {}]

  let log = LogObserver { line in logger.info("\(line)") }
  for operation in workflow { operation.addObserver(log) }

  simulate(workflow[0])
  #expect(
    logger.lines.all == [
      "download: enqueued", "download: started, having waited 0 ns",
      "download: succeeded after 0 ns",
    ]
  )
}

@Test func `OperationFailure: as a tree under a heading, and on one line`() {
  let print = Lines()
  let logger = Logger()
  let operation = ResultOperation(name: "download", retry: .immediate.attempts(2)) {
    throw Offline()
  }
  simulate(operation)
  guard let failure = operation.outcome?.failure else { return }

  print("\(operation) ended:\n\(failure.indented(by: 1))")
  logger.error("\(operation.name ?? "") failed: \(failure.summary())")

  #expect(
    print.all == [
      """
      download (failed) ended:
        attempt 1: The connection was lost.
        attempt 2: The connection was lost.
      """
    ]
  )
  #expect(
    logger.lines.all == [
      "download failed: attempt 1: The connection was lost.; attempt 2: The connection was lost."
    ]
  )
}
