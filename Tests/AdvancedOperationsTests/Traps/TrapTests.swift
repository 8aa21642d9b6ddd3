import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Mistakes of the caller end the process with one sentence, in release builds too.
@Suite(.watched) struct `Mistakes trap` {
  /// Evaluates a mistake in a process of its own.
  private func expectTrap(
    _ sentence: String,
    _ result: ExitTest.Result?,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws { try expectMessage(sentence, in: result, sourceLocation: sourceLocation) }

  @Test func `explaining with a limit of no causes traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = World().queue.explain(limit: 0) }
    try expectTrap(
      "explain(limit:) was called on the queue “AdvancedOperationQueue” with 0. Pass the number of causes "
        + "that you want to see, 1 or more.",
      result
    )
  }

  @Test func `finishing a pending operation traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { Work("work").finish() }
    try expectTrap(
      "finish() was called on operation “work”, which is pending and has not begun to execute. "
        + "Call it from execute() or later, or cancel the operation instead.",
      result
    )
  }

  @Test func `skipping a pending operation traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { Work("work").skip(reason: "no need") }
    try expectTrap(
      "skip(reason:) was called on operation “work”, which is pending and has not begun to "
        + "execute. Call it from execute() or later, or cancel the operation instead.",
      result
    )
  }

  @Test func `finishing an operation that evaluates conditions traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World()
      let work = Work("work")
      work.addCondition(ConditionProbe())
      world.run(work)
      work.finish(withError: Flaw(1))
    }
    try expectTrap(
      "finish() was called on operation “work”, which is evaluatingConditions and has not begun",
      result
    )
  }

  @Test func `finishing an operation that waits for a slot traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World(limit: 0)
      let work = Work("work")
      work.addCondition(Immediate())
      world.run(work)
      work.finish(withErrors: [])
    }
    try expectTrap("finish() was called on operation “work”, which is ready and has not", result)
  }

  @Test func `adding a condition after enqueueing traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World()
      let work = Work("work")
      world.queue.isSuspended = true
      world.queue.addOperation(work)
      work.addCondition(Immediate())
    }
    try expectTrap(
      "addCondition(_:) was called on operation “work”, which is pending and was enqueued or "
        + "started before. Add all conditions and claims first.",
      result
    )
  }

  @Test func `attaching a journal after enqueueing traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World()
      let work = ResultOperation(name: "work") { 1 }
      world.queue.isSuspended = true
      world.queue.addOperation(work)
      work.cancel()
      work.recorded(as: "key", in: InMemoryJournal())
    }
    try expectTrap(
      "recorded(as:in:) was called on operation “work”, which is ready and was enqueued or started "
        + "before. Call it first.",
      result
    )
  }

  @Test func `attaching a journal in the body traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = ResultOperation<Void>(name: "work") {
        let work = AdvancedOperation.current as? ResultOperation<Void>
        work?.recorded(as: "key", in: InMemoryJournal())
      }
      work.start()
      try await work.untilFinished()
    }
    try expectTrap(
      "recorded(as:in:) was called on operation “work”, which is executing and was enqueued or",
      result
    )
  }

  /// The compiler warns of the call, unless something that is deprecated makes it.
  private protocol Recording { func record() }

  private struct Unrecordable: Recording {
    private struct Receipt: Sendable {}

    @available(*, deprecated)
    func record() {
      ResultOperation(name: "pay") { Receipt() }.recorded(as: "pay", in: InMemoryJournal())
    }
  }

  @Test func `a journal for a value that isn't Codable traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let recording: any Recording = Unrecordable()
      recording.record()
    }
    try expectTrap(
      "recorded(as:in:) was called on operation “pay”, whose value, Receipt, isn't Codable where it "
        + "was called. Make it Codable, and nonisolated.",
      result
    )
  }

  @Test func `attaching a second journal traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = ResultOperation { 1 }.recorded(as: "work", in: InMemoryJournal())
      work.recorded(as: "other", in: InMemoryJournal())
    }
    try expectTrap(
      "recorded(as:in:) was called on operation “work”, which is recorded as “work” already. "
        + "Remove the second call.",
      result
    )
  }

  @Test func `adding a claim while executing traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = Work.open("work")
      work.start()
      work.addClaim(MutuallyExclusive("a"))
    }
    try expectTrap(
      "addClaim(_:) was called on operation “work”, which is executing and was enqueued or",
      result
    )
  }

  @Test func `adding a condition after the end traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = Work("work")
      work.start()
      work.addCondition(Immediate())
    }
    try expectTrap("addCondition(_:) was called on operation “work”, which is finished", result)
  }

  @Test func `starting an executing operation traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = Work.open("work")
      work.start()
      work.start()
    }
    try expectTrap("start() was called on operation “work”, which is executing.", result)
  }

  @Test func `starting an operation that evaluates conditions traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World()
      let work = Work("work")
      work.environment = world.simulation.environment
      work.addCondition(ConditionProbe())
      work.start()
      work.start()
    }
    try expectTrap("start() was called on operation “work”, which is", result)
  }

  @Test func `starting an operation in its own finish callback traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = Work("work")
      work.onFinish { operation, _ in operation.start() }
      work.start()
    }
    try expectTrap("start() was called on operation “work”, which is", result)
  }

  @Test func `manually starting an operation of a queue traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World()
      let work = Work("work")
      world.queue.addOperation(work)
      work.start()
    }
    try expectTrap("start() was called on operation “work”, which is in a queue.", result)
  }

  @Test func `manually starting an operation that its queue executes traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World()
      let work = Work.open("work")
      world.run(work)
      work.start()
    }
    try expectTrap("start() was called on operation “work”, which is executing.", result)
  }

  @Test func `starting an operation with unfinished dependencies traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = Work("work")
      work.addDependency(Work())
      work.start()
    }
    try expectTrap(
      "start() was called on operation “work”, whose dependencies have not finished. "
        + "Wait for them, or add all of them to a queue.",
      result
    )
  }

  @Test func `a claim with the limit 0 traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = MutuallyExclusive("a", limit: 0) }
    try expectTrap("MutuallyExclusive “a” was created with the limit 0. Give 1 or more.", result)
  }

  @Test func `a group with a negative limit traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = GroupOperation(name: "group", maxConcurrentOperationCount: -2) }
    try expectTrap("GroupOperation “group” was given the limit -2.", result)
  }
}
