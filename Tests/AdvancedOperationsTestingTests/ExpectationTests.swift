import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

private enum Flaw: Error, Equatable {
  case offline
  case full(Int)
}

private struct Other: Error {}

@Suite struct `Expectations` {
  /// Runs operations in a world of their own.
  private static func run(_ operations: Operation..., seed: UInt64 = 7) {
    let simulation = SimulatedEnvironment(seed: seed)
    AdvancedOperationQueue(environment: simulation.environment).addOperations(operations)
    simulation.run()
  }

  private static func failing(_ errors: [any Error]) -> AdvancedOperation {
    let operation = AdvancedOperation()
    operation.name = "import"
    for (index, error) in errors.enumerated() {
      operation.addCondition(BlockCondition("condition \(index)") { throw error })
    }
    run(operation)
    return operation
  }

  /// What an expectation throws; nil when it is met.
  private static func failure(_ body: () throws -> Void) -> ExpectationFailure? {
    do {
      try body()
      return nil
    } catch {
      return error as? ExpectationFailure
    }
  }

  @Test func `a condition failure is matched by its type, value and name`() throws {
    let operation = Self.failing([Other(), Flaw.full(3)])
    let error = try expectConditionFailure(of: operation, as: Flaw.self)
    #expect(error == .full(3))
    try expectConditionFailure(of: operation, as: Other.self)
    try expectConditionFailure(of: operation, is: Flaw.full(3))
    try expectConditionFailure(of: operation, as: Flaw.self, condition: "condition 1")
    try expectConditionFailure(of: operation, is: Flaw.full(3), condition: "condition 1")
  }

  @Test func `an expectation reports the actual failure with its line and seed`() throws {
    let operation = Self.failing([Flaw.offline])
    let failure = Self.failure { try expectConditionFailure(of: operation, as: Other.self) }
    let line = #line - 1
    #expect(failure?.line == line)
    #expect(failure?.fileID.hasSuffix("ExpectationTests.swift") == true)
    #expect(failure?.seed == 7)
    let text = try #require(failure).description
    #expect(text.contains("“import”") && text.contains("Other") && text.contains("offline"))
    #expect(text.hasSuffix("(seed 7)"))
    #expect(Self.failure { try expectConditionFailure(of: operation, is: Flaw.full(1)) } != nil)
    #expect(
      Self.failure { try expectConditionFailure(of: operation, as: Flaw.self, condition: "x") }
        != nil
    )
    #expect(
      Self.failure { try expectConditionFailure(of: operation, is: Flaw.offline, condition: "x") }
        != nil
    )
  }

  @Test func `a condition failure isn't matched by other errors or a missing end`() {
    let thrown = ResultOperation { throw Flaw.offline }
    let cancelled = AdvancedOperation()
    cancelled.cancel(withError: Flaw.offline)
    Self.run(thrown, cancelled)
    for operation in [thrown, cancelled, AdvancedOperation()] {
      #expect(Self.failure { try expectConditionFailure(of: operation, as: Flaw.self) } != nil)
      #expect(Self.failure { try expectConditionFailure(of: operation, is: Flaw.offline) } != nil)
    }
  }

  @Test
  func `an outcome expectation distinguishes all outcomes and unfinished operations`() throws {
    let skipped = AdvancedOperation()
    let probe = ConditionProbe()
    probe.answer(.skipped(reason: "no need"))
    skipped.addCondition(probe)
    let cancelled = AdvancedOperation()
    cancelled.cancel()
    let failed = ResultOperation { throw Flaw.offline }
    let succeeded = AdvancedOperation()
    Self.run(skipped, cancelled, failed, succeeded)
    let ends: [(AdvancedOperation, OperationOutcome.Kind)] = [
      (skipped, .skipped), (cancelled, .cancelled), (failed, .failed), (succeeded, .succeeded),
    ]
    for (operation, own) in ends {
      for ending in OperationOutcome.Kind.allCases {
        let failure = Self.failure { try expectOutcome(of: operation, is: ending) }
        #expect((failure == nil) == (ending == own), "\(operation) \(ending)")
      }
      #expect(Self.failure { try expectOutcome(of: AdvancedOperation(), is: own) } != nil)
    }
    let text = Self.failure { try expectOutcome(of: failed, is: .succeeded) }?.message
    #expect(text?.contains("offline") == true)
  }

  @Test func `an expectation for an unfinished operation names strays`() throws {
    let leaver = ResultOperation(name: "leaver") { try await Task.sleep(for: .seconds(86_400)) }
    let waiter = leaver.then(name: "waiter") {}
    let simulation = SimulatedEnvironment(seed: 7)
    defer { withExtendedLifetime(simulation) {} }
    AdvancedOperationQueue(environment: simulation.environment).addOperations([leaver, waiter])
    simulation.run()
    for operation in [leaver, waiter] {
      for failure in [
        Self.failure { try expectOutcome(of: operation, is: .succeeded) },
        Self.failure { try expectConditionFailure(of: operation, as: Flaw.self) },
        Self.failure { try expectConditionFailure(of: operation, is: Flaw.offline) },
      ] {
        let text = try #require(failure).message
        #expect(text.contains("“leaver” is executing and has no pending step"))
        #expect(text.contains("Task.sleep") && text.contains("OperationClock.current.sleep(for:"))
        #expect(failure?.seed == 7)
      }
    }
    leaver.cancel()
  }

  @Test func `an expectation for an unfinished operation explains its wait`() throws {
    let simulation = SimulatedEnvironment(seed: 7)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let (first, second) = (HeldOperation(name: "first"), AdvancedOperation())
    second.name = "second"
    second.addDependency(first)
    func text() -> String {
      Self.failure { try expectOutcome(of: second, is: .succeeded) }?.message ?? ""
    }
    #expect(text().contains("\(second.explain())"))
    queue.addOperations([first, second])
    #expect(text().contains("call run()"))
    simulation.run()
    #expect(!text().contains("call run()"))
    #expect(text().contains("\(second.explain())"))
    #expect(text().contains("first has returned from execute()"))
  }

  @Test func `an event expectation shows the difference line by line`() throws {
    let recorder = RecordingObserver()
    let operation = AdvancedOperation()
    operation.addObserver(recorder)
    Self.run(operation)
    try expectEvents(of: recorder, are: [.enqueued, .started, .willFinish, .finished])
    let failure = Self.failure {
      try expectEvents(of: recorder, are: [.enqueued, .cancelled, .willFinish, .finished])
    }
    #expect(
      failure?.message == """
        The observer recorded other events:
          enqueued
        - cancelled
        + started
          willFinish
          finished
        """
    )
  }

  @Test(arguments: [
    ([], ["a"], "+ a"), (["a"], [], "- a"), (["a", "b"], ["b", "a"], "- a\n  b\n+ a"),
    (["a"], ["a"], "  a"), ([], [], ""),
  ])
  func `a difference of events keeps the order of both`(old: [String], new: [String], text: String)
  {
    #expect(difference(from: old, to: new) == text)
  }
}

@Suite struct `A held operation` {
  private static func world() -> (SimulatedEnvironment, AdvancedOperationQueue) {
    let simulation = SimulatedEnvironment(seed: 1)
    return (simulation, AdvancedOperationQueue(environment: simulation.environment))
  }

  @Test func `a held operation keeps slot and claims until it is released`() throws {
    let (simulation, queue) = Self.world()
    let holder = HeldOperation(name: "holder")
    let waiter = AdvancedOperation()
    for operation in [holder, waiter] { operation.addClaim(MutuallyExclusive("one")) }
    waiter.addDependency(
      {
        let before = AdvancedOperation()
        queue.addOperation(before)
        return before
      }()
    )
    queue.addOperation(holder)
    #expect(!holder.isHeld)
    simulation.run()
    #expect(holder.isHeld && holder.state == .executing)
    queue.addOperation(waiter)
    simulation.run()
    #expect(waiter.state == .ready)
    try expectNoStrays(in: simulation)
    holder.release()
    holder.release(withErrors: [Other()])
    simulation.run()
    try expectOutcome(of: holder, is: .succeeded)
    try expectOutcome(of: waiter, is: .succeeded)
    #expect(!holder.isHeld)
  }

  @Test func `a held operation may be released early and with errors`() throws {
    let (simulation, queue) = Self.world()
    let holder = HeldOperation()
    holder.release(withErrors: [Other()])
    queue.addOperation(holder)
    simulation.run()
    try expectOutcome(of: holder, is: .failed)
    #expect(holder.errors.first is Other)
  }

  @Test func `a held operation ends with a cancel depending on its policy`() throws {
    let (simulation, queue) = Self.world()
    let (soft, hard) = (HeldOperation(), HeldOperation(cancellationPolicy: .whenFinishIsCalled))
    queue.addOperations([soft, hard])
    simulation.run()
    queue.cancelAllOperations()
    simulation.run()
    try expectOutcome(of: soft, is: .cancelled)
    #expect(hard.state == .executing && hard.isHeld)
    hard.release()
    simulation.run()
    try expectOutcome(of: hard, is: .cancelled)
  }
}

@Suite struct `A condition probe of several operations` {
  @Test func `a probe with several waiting operations answers one of them`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let probe = ConditionProbe(name: "network")
    let operations = (0..<3).map { _ in AdvancedOperation() }
    for operation in operations { operation.addCondition(probe) }
    queue.addOperations(operations)
    simulation.run()
    #expect(Set(probe.waiting) == Set(operations))
    #expect(probe.answer(.failed(Flaw.offline), for: operations[1]))
    #expect(!probe.answer(.satisfied, for: operations[1]))
    simulation.run()
    try expectConditionFailure(of: operations[1], is: Flaw.offline, condition: "network")
    #expect(operations[0].state == .evaluatingConditions)
    probe.answer(.satisfied)
    simulation.run()
    try expectOutcome(of: operations[0], is: .succeeded)
    #expect(probe.waiting.isEmpty)
  }

  @Test func `the first of a probe's two answers applies`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let probe = ConditionProbe()
    let operation = AdvancedOperation()
    operation.addCondition(probe)
    queue.addOperation(operation)
    simulation.run()
    probe.answer(.satisfied)
    probe.answer(.failed(Other()))
    simulation.run()
    try expectOutcome(of: operation, is: .succeeded)
  }

  @Test func `a probe may answer after its operation was cancelled`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let probe = ConditionProbe(ignoresCancellation: true)
    let operation = AdvancedOperation()
    operation.addCondition(probe)
    queue.addOperation(operation)
    simulation.run()
    operation.cancel()
    simulation.run()
    try expectOutcome(of: operation, is: .cancelled)
    #expect(probe.waiting == [operation])
    probe.answer(.failed(Other()))
    simulation.run()
    #expect(operation.errors.isEmpty)
    #expect(probe.waiting.isEmpty)
  }
}
