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

@Test func `AdvancedOperationQueueDelegate: it attaches what all operations need`() {
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
