import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

private struct Malformed: Error, CustomStringConvertible {
  let description = "Line 7 has no date."
}

@Test func `Observing: a type of your own, for all operations of a queue`() async throws {
  let print = Lines()

  struct StatusLine: OperationObserver {
    let show: @Sendable (String) -> Void

    func operationDidStart(_ operation: AdvancedOperation) {
      show("\(operation.name ?? "") has started")
    }

    func operation(
      _ operation: AdvancedOperation,
      didUpdateProgress progress: OperationProgress
    ) {
      show("\(operation.name ?? ""): \(Int(progress.fractionCompleted * 100)) %")
    }

    func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      show("\(operation.name ?? "") has ended: \(outcome)")
    }
  }

  let queue = AdvancedOperationQueue()
  queue.addObserver(StatusLine { line in print(line) })

  let copy = ResultOperation(name: "copy") {
    for row in 1...4 {
      AdvancedOperation.current?.updateProgress(completed: Int64(row), total: 4)
    }
  }
  let check = copy.then(name: "check") { _ in throw Malformed() }
  queue.addOperations([copy, check])

  try await check.untilFinished()
  try expectShown(print, in: "ObservingOperations")
}

@Test func `Observing: the event with the most values`() {
  struct Retries: OperationObserver {
    let show: @Sendable (String) -> Void

    func operation(
      _ operation: AdvancedOperation,
      willRetry retry: OperationRetry
    ) {
      show("\(operation.name ?? "") is tried again in \(retry.delay): \(retry.error)")
    }
  }

  let lines = Lines()
  let fetch = ResultOperation(name: "fetch", retry: .constant(.seconds(1)).attempts(2)) {
    throw Malformed()
  }
  fetch.addObserver(Retries { line in lines(line) })
  simulate(fetch)
  #expect(lines.all == ["fetch is tried again in 1.0 seconds: Line 7 has no date."])
}

@Test func `Observing: one event of one operation`() {
  let log = Lines()
  let upload = ResultOperation(name: "upload") {}

  upload.onFinish { upload, outcome in
    log("\(upload.name ?? ""): \(outcome)")
  }

  simulate(upload)
  #expect(log.all == ["upload: succeeded"])
}

@Test func `Observing: in async code, as a sequence`() async throws {
  let print = Lines()
  let queue = AdvancedOperationQueue()
  let copy = ResultOperation(name: "copy") {
    for row in 1...4 {
      AdvancedOperation.current?.updateProgress(completed: Int64(row), total: 4)
    }
  }

  let events = copy.events
  queue.addOperation(copy)
  for await event in events {
    switch event {
    case .progress(let update):
      print("\(update.completedUnitCount) of \(update.totalUnitCount)")
    case .finished(let outcome): print("ended: \(outcome)")
    default: break
    }
  }

  #expect(print.all == ["1 of 4", "2 of 4", "3 of 4", "4 of 4", "ended: succeeded"])
}

@Test func `Observing: a condition that fails is followed by no start`() {
  let recorder = RecordingObserver()
  let guarded = ResultOperation(name: "guarded") {}
  guarded.addCondition(BlockCondition("never") { false })
  guarded.addObserver(recorder)
  simulate(guarded)
  let started = recorder.events.contains { event in
    if case .started = event { true } else { false }
  }
  let finished = recorder.events.contains { event in
    if case .finished = event { true } else { false }
  }
  #expect(!started && finished)
}

@Test func `Observing: an observer's did-finish runs before any dependent starts`() {
  let order = Lines()
  let first = ResultOperation(name: "first") {}
  let second = ResultOperation(name: "second") { order("dependent") }
  second.addDependency(first)
  first.onFinish { _, _ in order("observer") }
  simulate(first, second)
  #expect(order.all == ["observer", "dependent"])
}

@Test func `Observing: an observer of a queue is attached to children too`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let names = Lines()
  let before = ResultOperation(name: "before") {}
  queue.isSuspended = true
  queue.addOperation(before)
  let observation = queue.addObserver(
    BlockObserver(didFinish: { operation, _ in names(operation.name ?? "") })
  )
  queue.addOperation(GroupOperation(name: "group") { AdvancedOperation(name: "child") })
  observation.remove()
  queue.addOperation(AdvancedOperation(name: "after"))
  queue.isSuspended = false
  simulation.run()
  #expect(names.all == ["child", "group"])
}
