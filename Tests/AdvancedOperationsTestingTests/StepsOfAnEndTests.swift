import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// Between the end of an operation and its being quiet dependents may start, as on threads.
@Suite struct `The end of an operation, in all schedules` {
  private struct Flaw: Error {}

  @Test func `dependents start before or after an operation's claims are released`() throws {
    let kinds = Locked<Set<String>>([])
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let first = AdvancedOperation()
      let second = AdvancedOperation()
      for operation in [first, second] {
        operation.addClaim(MutuallyExclusive("one", whenBusy: .skip))
      }
      second.addDependency(first)
      queue.addOperations([first, second])
      simulation.run()
      kinds.withLock { _ = $0.insert("\(second.outcome?.isSkipped == true)") }
    }
    #expect(report.isComplete)
    #expect(kinds.withLock { $0 } == ["true", "false"])
  }

  @Test func `dependents start before or after the group has counted an operation`() throws {
    let counts = Locked<Set<Int64>>([])
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let first = ResultOperation(name: "first") {}
      let group = GroupOperation(name: "group") { first }
      let second = BlockOperation {
        let completed = group.progress.completedUnitCount
        counts.withLock { _ = $0.insert(completed) }
      }
      second.addDependency(first)
      _ = group.addOperation(second)
      queue.addOperation(group)
      simulation.run()
      guard group.isFinished else { throw Flaw() }
    }
    #expect(report.isComplete)
    #expect(counts.withLock { $0 } == [0, 1])
  }

  @Test func `an end outside of steps has updated the group before returning`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let child = HeldOperation(name: "child")
    let group = GroupOperation(name: "group") { child }
    queue.addOperation(group)
    simulation.run()
    child.release()
    #expect(group.progress.completedUnitCount == 1)
  }
}
