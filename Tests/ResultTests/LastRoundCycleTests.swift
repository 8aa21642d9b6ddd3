import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// An operation has ended and its last attempt or round goes on, which waits for what the operation
/// still holds.
@Suite(.watched) struct `A cycle through the last round of an operation that has ended` {
  enum Kind: CaseIterable { case retry, rounds, recovery }
  enum Held: CaseIterable { case slot, claim, barrier }

  @Test(arguments: Kind.allCases, Held.allCases)
  func `a cycle through a last round ends with an error for the wait`(
    kind: Kind,
    held: Held
  ) throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = simulation.environment.clock
    let queue = AdvancedOperationQueue(
      maxConcurrentOperationCount: held == .slot ? 1 : 5,
      environment: simulation.environment
    )
    let waiting = ResultOperation(name: "waiting") { 1 }
    let cycles = Log<[String]>()
    let makeRound: @Sendable () -> ResultOperation<Int> = {
      ResultOperation(name: "round") {
        // As code may that doesn't heed its cancel.
        try? await clock.sleep(for: .seconds(2))
        do { return try await waiting.value } catch let error as OperationCycleError {
          cycles.add(error.path.map(\.name))
          throw error
        }
      }
    }
    let failing = ResultOperation<Int>(name: "failing") { throw Flaw(1) }
    let outer: AdvancedOperation =
      switch kind {
      case .retry:
        RetryOperation(name: "outer", retry: .immediate.attempts(1)) { _ in makeRound() }
      case .rounds: RepeatOperation(name: "outer", times: 1) { _ in makeRound() }
      case .recovery: failing.recover(name: "outer") { _ in makeRound() }
      }
    if held == .claim {
      for operation in [outer, waiting] { operation.addClaim(MutuallyExclusive("x")) }
    }
    if kind == .recovery { queue.addOperation(failing) }
    queue.addOperation(outer)
    simulation.run(until: .milliseconds(500))
    if held == .barrier { queue.addBarrierBlock {} }
    queue.addOperation(waiting)
    simulation.run(until: .seconds(1))
    outer.finish()
    simulation.run(until: .milliseconds(1_500))
    #expect(outer.isFinished)
    #expect("\(waiting.explain())".contains("its body keeps running"))
    simulation.run()
    #expect(cycles.entries == [["round", "waiting", "outer", "round"]])
    #expect(waiting.outcome?.isSuccess == true)
    #expect(queue.operationCount == 0)
  }

  @Test func `a cycle is found if the end arrives while a round is created`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(
      maxConcurrentOperationCount: 1,
      environment: simulation.environment
    )
    let waiting = ResultOperation(name: "waiting") { 1 }
    let cycles = Log<[String]>()
    let outer = RetryOperation(name: "outer", retry: .immediate.attempts(1)) { _ in
      AdvancedOperation.current?.finish()
      return ResultOperation<Int>(name: "round") {
        do { return try await waiting.value } catch let error as OperationCycleError {
          cycles.add(error.path.map(\.name))
          throw error
        }
      }
    }
    queue.addOperations([outer, waiting])
    simulation.run()
    #expect(cycles.entries == [["round", "waiting", "outer", "round"]])
    #expect(waiting.outcome?.isSuccess == true)
    #expect(queue.operationCount == 0)
  }
}
