import AdvancedOperations
import AdvancedOperationsTesting
import Testing

private struct LoggedOut: Error, CustomStringConvertible {
  let description = "The user has logged out."
}

@Test func `Cancellation: code can distinguish the ends of a workflow`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  let archive = Database()

  let check = ResultOperation(name: "check") { true }
  let download = ResultOperation(name: "download") {
    try await clock.sleep(for: .seconds(60))
    return "Chile 1960"
  }
  let store = download.then(name: "store") { text in try await archive.save(text) }

  let notify = ResultOperation(name: "notify") {}
  notify.addDependency(download)

  let publish = ResultOperation(name: "publish") {}
  publish.addDependency(download)
  publish.addCondition(.allSucceeded)

  let workflow = [check, download, store, notify, publish] as [AdvancedOperation]
  queue.addOperations(workflow)

  // … a second later:
  simulation.advance(by: .seconds(1))
  download.cancel(withError: LoggedOut())
  simulation.run()

  func end(of operation: AdvancedOperation) -> String {
    switch operation.outcome {
    case nil: "has not ended"
    case .succeeded: "succeeded"
    case .skipped(let reason): "had nothing to do: \(reason)"
    case .cancelled(let failure) where failure.isTimeout: "took too long: \(failure.summary())"
    case .cancelled(let failure): "was cancelled: \(failure.summary())"
    case .failed(let failure) where failure.isTimeout:
      "did not succeed, a time limit was over: \(failure.summary())"
    case .failed(let failure) where failure.isCancellation:
      "did not succeed, another was cancelled: \(failure.summary())"
    case .failed(let failure): "failed: \(failure.summary())"
    }
  }

  for operation in workflow { print(operation.name ?? "", end(of: operation)) }

  try expectShown(print, in: "CancellingWorkflows")
}

@Test func `Cancellation: a group, a queue and a scope`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  func work(_ name: String) -> ResultOperation<Void> {
    ResultOperation(name: name) { try await clock.sleep(for: .seconds(60)) }
  }
  let (download, store, other) = (work("download"), work("store"), work("other"))
  store.addDependency(download)

  let sync = GroupOperation(name: "sync") {
    download
    store
  }
  queue.addOperation(sync)

  simulation.advance(by: .seconds(1))

  sync.cancel(withError: LoggedOut())

  queue.addOperation(other)
  simulation.advance(by: .seconds(1))

  queue.cancelAllOperations(withError: LoggedOut())

  simulation.run()
  for operation in [sync, download, store, other] {
    #expect(operation.cancellationReason is LoggedOut)
    #expect(operation.outcome?.isCancelled == true)
  }
  #expect(sync.outcome?.failure?.cancellation.map { "\($0)".contains("reason") } == true)
  if case .parent(let reason) = download.outcome?.failure?.cancellation {
    #expect(reason is LoggedOut)
  } else {
    Issue.record("not cancelled by its group")
  }
}

@Test func `Cancellation: a timeout is a cancel`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  let slow = ResultOperation(name: "slow") { try await clock.sleep(for: .seconds(60)) }
  slow.addObserver(TimeoutObserver(.seconds(5)))
  let store = slow.then(name: "store") {}
  let hasty = ResultOperation(
    name: "hasty",
    retry: .immediate.attempts(2).attemptTimeout(.seconds(1))
  ) {
    try await clock.sleep(for: .seconds(60))
  }
  queue.addOperations([slow, store, hasty])
  simulation.run()
  #expect(slow.outcome?.isCancelled == true)
  #expect(slow.outcome?.failure?.isTimeout == true)
  #expect(store.outcome?.isFailed == true)
  #expect(store.outcome?.failure?.isTimeout == true)
  #expect(store.outcome?.failure?.isCancellation == true)
  #expect(hasty.outcome?.isFailed == true)
  #expect(hasty.outcome?.failure?.isTimeout == true)
  #expect(hasty.outcome?.failure?.isCancellation == false)
}

@Test func `Cancellation: a late value is dropped, and a late error is kept`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  let stubborn = ResultOperation(name: "stubborn") {
    try? await clock.sleep(for: .seconds(60))
    return 1
  }
  let plain = ResultOperation(name: "plain") { try await clock.sleep(for: .seconds(60)) }
  queue.addOperations([stubborn, plain])
  simulation.advance(by: .seconds(1))
  stubborn.cancel()
  plain.cancel()
  simulation.run()
  #expect(stubborn.ending == "cancelled")
  #expect(throws: OperationFailure.self) { try stubborn.result?.get() }
  #expect(plain.ending == "cancelled")
}

@Test func `Cancellation: what is needed is run nevertheless, by another operation`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let download = ResultOperation(name: "download") {}
  let log = Lines()

  let cleanUp = ResultOperation(name: "clean up") { log("cleaned up") }
  cleanUp.addDependency(download)

  download.cancel()
  queue.addOperations([download, cleanUp])
  simulation.run()
  #expect(log.all == ["cleaned up"])
}

/// Each row of the table about dependents.
@Test func `Cancellation: what runs after a dependency was cancelled`() {
  func ending(after dependency: AdvancedOperation, _ condition: (any OperationCondition)?) -> String
  {
    let dependent = AdvancedOperation()
    dependent.addDependency(dependency)
    if let condition { dependent.addCondition(condition) }
    simulate(dependency, dependent)
    return String(dependent.ending.prefix { $0.isLetter })
  }
  func cancelled() -> AdvancedOperation {
    let operation = AdvancedOperation()
    operation.cancel()
    return operation
  }
  func failed() -> AdvancedOperation { ResultOperation { throw Offline() } }
  func skipped() -> AdvancedOperation { ResultOperation { throw OperationSkipped(reason: "") } }

  #expect(ending(after: cancelled(), nil) == "succeeded")
  #expect(ending(after: cancelled(), NoCancelledDependencies()) == "failed")
  #expect(ending(after: failed(), NoCancelledDependencies()) == "succeeded")
  #expect(ending(after: cancelled(), NoFailedDependencies()) == "succeeded")
  #expect(ending(after: failed(), NoFailedDependencies()) == "failed")
  #expect(ending(after: cancelled(), DependencyRule.allSucceeded) == "failed")
  #expect(ending(after: failed(), DependencyRule.allSucceeded) == "failed")
  #expect(ending(after: skipped(), DependencyRule.allSucceeded) == "failed")
}
