import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import Testing

/// What has ended leaves nothing on operations that live longer.
@Suite struct `An operation that ends before the operations that it waits for` {
  private static let rules: [DependencyRule] = [.allSucceeded, .anySucceeded, .noneFailed]

  @Test(arguments: seeds, [false, true])
  func `an operation that ends early leaves no rules on its dependencies`(
    seed: UInt64,
    isRefused: Bool
  ) {
    let world = World(seed: seed)
    let session = Work.open("session")
    let failing = Work.open("failing")
    let later = BlockOperation {}
    world.run(session, failing)
    let jobs = Self.rules.map { rule in
      let job = Work()
      job.addDependency(session)
      job.addDependency(failing)
      job.addCondition(rule)
      return job
    }
    world.queue.addOperations(jobs)
    for job in jobs { job.addDependency(later) }
    world.simulation.run()
    #expect(session.hasDependents && later.hasDependents)
    if isRefused { failing.finish(withError: Flaw(1)) }
    world.simulation.run()
    for job in jobs { job.cancel() }
    world.simulation.run()
    #expect(jobs.allSatisfy { $0.isFinished })
    #expect(!session.hasDependents && !later.hasDependents)
  }

  @Test(arguments: [false, true])
  func `an operation that ends early leaves nothing on its prerequisite`(isPlain: Bool) {
    let world = World()
    let live = LiveCount()
    let session: Operation = isPlain ? BlockOperation {} : Work.open("session")
    do {
      let work = Work(token: live.token())
      work.addCondition(AskedForAny { _ in session })
      if isPlain { session.addDependency(Work.open("gate")) }
      world.queue.addOperation(session)
      world.run(work)
      #expect(work.state == .evaluatingConditions)
      #expect(session.hasDependents)
      work.cancel()
      world.simulation.run()
      #expect(work.isFinished)
    }
    #expect(!session.isCancelled)
    #expect(!session.hasDependents)
    #expect(live.alive == 0)
  }

  /// A condition whose prerequisite is of any class.
  private struct AskedForAny: OperationCondition {
    let prerequisite: @Sendable (AdvancedOperation) -> Operation?
    func dependency(for operation: AdvancedOperation) -> Operation? { prerequisite(operation) }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      .satisfied
    }
  }

  @Test func `a recorder leaves nothing on an unrecorded dependency`() {
    let world = World()
    let dependency = BlockOperation {}
    do {
      let recorder = TimelineRecorder()
      let work = Work()
      work.addDependency(dependency)
      work.addObserver(recorder)
      world.run(work)
      #expect(dependency.hasDependents)
      work.cancel()
      world.simulation.run()
      #expect(recorder.timeline.spans.count == 1)
    }
    #expect(!dependency.hasDependents)
  }
}
