import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

private struct Offline: Error {}

@Suite struct `Probes and recorders` {
  @Test(arguments: Effort.seeds(20))
  func `a condition probe gives its answer on request`(seed: UInt64) {
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let probe = ConditionProbe()
    let operations = (0..<3).map { _ in AdvancedOperation() }
    for operation in operations { operation.addCondition(probe) }
    queue.addOperations(operations)
    simulation.run()
    #expect(operations.allSatisfy { $0.state == .evaluatingConditions })
    #expect(probe.evaluationCount == 3)
    probe.answer(.failed(Offline()))
    simulation.run()
    #expect(operations.allSatisfy { $0.errors.count == 1 && $0.state == .finished })
    probe.answer(.satisfied)
    let late = AdvancedOperation()
    late.addCondition(probe)
    queue.addOperation(late)
    simulation.run()
    #expect(late.outcome?.isSuccess == true)
  }

  @Test func `a condition probe without an answer ends with a cancel`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let operation = AdvancedOperation()
    operation.addCondition(ConditionProbe())
    queue.addOperation(operation)
    simulation.run()
    operation.cancel()
    simulation.run()
    #expect(operation.state == .finished)
    #expect(operation.errors.isEmpty)
  }

  @Test func `a recorder keeps events with their values`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let recorder = RecordingObserver()
    let operation = ResultOperation {
      AdvancedOperation.current?.updateProgress(completed: 1, total: 4)
      try AdvancedOperation.current?.produce(AdvancedOperation())
      throw Offline()
    }
    operation.addObserver(recorder)
    queue.addOperation(operation)
    simulation.run()
    #expect(
      recorder.kinds == [.enqueued, .started, .progress, .produced, .willFinish, .finished]
    )
    guard case .progress(let update) = recorder.events[2] else {
      Issue.record("no progress")
      return
    }
    #expect(update.fractionCompleted == 0.25)
    guard case .finished(.failed(let failure)) = recorder.events[5] else {
      Issue.record("no failure")
      return
    }
    #expect(failure.errors.first is Offline)
  }

  @Test func `a condition can be evaluated without running its operation`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let operation = AdvancedOperation()
    let held = try simulation.evaluate(BlockCondition { true }, for: operation)
    #expect(held.isSatisfied)
    let missing = try simulation.evaluate(FileExists("/no/such/file"), for: operation)
    guard case .failed(let error) = missing else {
      Issue.record("there is such a file")
      return
    }
    #expect(error as? FileExists.Problem == .missing(path: "/no/such/file"))
    #expect(operation.state == .pending)
  }

  @Test func `the random generator returns the published numbers`() {
    // The first outputs for the seed 1234567, from the authors' reference implementation.
    var generator = SplitMix64(seed: 1_234_567)
    let expected: [UInt64] = [
      6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
      4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
    ]
    #expect((0..<5).map { _ in generator.next() } == expected)
  }
}
