import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

private struct Flaw: Error, Hashable {
  let number: Int
}

@Suite struct `A condition probe` {
  private static func scene() -> (SimulatedEnvironment, AdvancedOperationQueue, ConditionProbe) {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    return (simulation, queue, ConditionProbe())
  }

  @Test func `a probe returns the answer that it was given before`() {
    let (simulation, queue, probe) = Self.scene()
    probe.answer(.skipped(reason: "no need"))
    let operation = AdvancedOperation()
    operation.addCondition(probe)
    queue.addOperation(operation)
    simulation.run()
    guard case .skipped(let reason) = operation.outcome else {
      Issue.record("\(operation)")
      return
    }
    #expect(reason == "no need")
  }

  @Test func `a probe ends its wait if the operation is cancelled`() {
    let (simulation, queue, probe) = Self.scene()
    let operation = AdvancedOperation()
    operation.addCondition(probe)
    queue.addOperation(operation)
    simulation.run()
    operation.cancel()
    simulation.run()
    #expect(operation.isFinished)
    #expect(operation.errors.isEmpty)
    // Nobody waits any more; the answer is for those who come.
    probe.answer(.satisfied)
    simulation.run()
  }

  @Test func `a probe is released after a cancel whether it was answered or not`() {
    let (simulation, queue, _) = Self.scene()
    weak var weakly: ConditionProbe?
    do {
      let probe = ConditionProbe()
      weakly = probe
      let operation = AdvancedOperation()
      operation.addCondition(probe)
      queue.addOperation(operation)
      simulation.run()
      operation.cancel()
    }
    simulation.run()
    #expect(weakly == nil)
  }

  // MARK: On its own

  @Test func `evaluate prefers a condition's immediate answer`() throws {
    struct Both: OperationCondition {
      func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
        operation.name == nil ? nil : .satisfied
      }
      func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
        .skipped(reason: "asked")
      }
    }
    let simulation = SimulatedEnvironment(seed: 1)
    let operation = AdvancedOperation()
    #expect(try !simulation.evaluate(Both(), for: operation).isSatisfied)
    operation.name = "named"
    #expect(try simulation.evaluate(Both(), for: operation).isSatisfied)
  }

  @Test func `evaluate lets a condition wait in virtual time with its operation current`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let slow = BlockCondition("slow") {
      guard let operation = AdvancedOperation.current else { return false }
      try await operation.environment.clock.sleep(until: .seconds(3600))
      return operation.name == "import"
    }
    let operation = AdvancedOperation()
    operation.name = "import"
    #expect(try simulation.evaluate(slow, for: operation).isSatisfied)
    #expect(simulation.now == .seconds(3600))
    #expect(operation.state == .pending)
  }

  @Test func `evaluate makes the operation current for immediate conditions too`() throws {
    struct Current: ImmediateCondition {
      func check(_ operation: AdvancedOperation) -> OperationConditionResult {
        AdvancedOperation.current === operation ? .satisfied : .skipped(reason: "another one")
      }
    }
    let simulation = SimulatedEnvironment(seed: 1)
    #expect(try simulation.evaluate(Current()).isSatisfied)
    #expect(try simulation.evaluate(Current(), for: ResultOperation {}).isSatisfied)
  }

  @Test func `evaluate throws if a condition never has a result`() throws {
    let simulation = SimulatedEnvironment(seed: 4)
    let probe = ConditionProbe(name: "network")
    let failure = #expect(throws: ExpectationFailure.self) {
      try simulation.evaluate(probe, line: 17)
    }
    #expect(failure?.message.hasPrefix("Condition “network” has no result.") == true)
    #expect(failure?.seed == 4)
    #expect(failure?.line == 17)
    // It was cancelled.
    simulation.run()
    #expect(probe.waiting.isEmpty)
  }
}

@Suite struct `A recording observer` {
  @Test func `a recording observer keeps all events in order with their values`() throws {
    final class Once: AdvancedOperation, @unchecked Sendable {
      let child = AdvancedOperation()
      override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }
      override func execute() {
        updateProgress(completed: 2, total: 3)
        #expect(throws: Never.self) { try produce(child) }
        cancel(withError: Flaw(number: 1))
        finish(withError: Flaw(number: 2))
      }
    }
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let recorder = RecordingObserver()
    #expect(recorder.events.isEmpty)
    let operation = Once()
    operation.addObserver(recorder)
    queue.addOperation(operation)
    simulation.run()
    #expect(
      recorder.kinds == [
        .enqueued, .started, .progress, .produced, .cancelled, .willFinish, .finished,
      ]
    )
    for event in recorder.events {
      switch event {
      case .enqueued, .started: continue
      case .dropped, .retrying: Issue.record("an observer misses nothing, and nothing was retried")
      case .progress(let update): #expect(update == .init(completedUnitCount: 2, totalUnitCount: 3))
      case .produced(let child): #expect(child === operation.child)
      case .cancelled(let errors):
        #expect(errors.map { $0 as? Flaw } == [Flaw(number: 1)])
      case .willFinish(let outcome):
        #expect(outcome.failure?.errors.map { $0 as? Flaw } == [Flaw(number: 1), Flaw(number: 2)])
      case .finished(let outcome):
        guard case .cancelled(let failure) = outcome else {
          Issue.record("\(outcome)")
          return
        }
        #expect(failure.elements.count == 2)
      }
    }
  }

  @Test func `a recording observer records many operations together`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let recorder = RecordingObserver()
    for _ in 0..<3 {
      let operation = AdvancedOperation()
      operation.addObserver(recorder)
      queue.addOperation(operation)
    }
    simulation.run()
    #expect(recorder.kinds.filter { $0 == .finished }.count == 3)
    #expect(recorder.events.count == 12)
  }
}
