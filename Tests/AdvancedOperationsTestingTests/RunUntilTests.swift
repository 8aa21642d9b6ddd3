import AdvancedOperations
import AdvancedOperationsTesting
import Testing

@Suite struct `A run until a condition` {
  private let simulation = SimulatedEnvironment(seed: 3)
  private var queue: AdvancedOperationQueue {
    AdvancedOperationQueue(environment: simulation.environment)
  }

  /// The failure of a call that must throw one.
  private static func failure(_ body: () throws -> Void) throws -> ExpectationFailure {
    try #require(#expect(throws: ExpectationFailure.self, performing: body))
  }

  @Test func `a run until a condition throws with its line and waiting operations`() throws {
    let held = HeldOperation(name: "held")
    let waiter = AdvancedOperation()
    waiter.name = "waiter"
    waiter.addDependency(held)
    queue.addOperations([held, waiter])
    let line = #line + 2
    let failure = try Self.failure {
      try simulation.run(until: { waiter.isExecuting })
    }
    #expect(failure.fileID == #fileID && failure.line == line)
    #expect(failure.seed == 3)
    let lines = failure.message.split(separator: "\n").map(String.init)
    #expect(
      lines.first
        == "The condition of run(until:) has not become true. Nothing can happen in the simulation "
        + "any more:"
    )
    #expect(lines.dropFirst().contains { $0.hasPrefix("held has returned") }, "\(failure)")
    #expect(lines.dropFirst().contains { $0 == "waiter waits for held" }, "\(failure)")
  }

  @Test func `a run until a condition names an operation that left the simulation`() throws {
    let sleeper = ResultOperation(name: "sleeper") {
      try await Task.sleep(for: .seconds(86_400))
    }
    queue.addOperation(sleeper)
    let failure = try Self.failure { try simulation.run(until: { sleeper.isFinished }) }
    #expect(failure.message.contains("“sleeper” is executing"), "\(failure)")
    sleeper.cancel()
  }

  @Test func `a run until a condition says that operations finished or none ran`() throws {
    let none = try Self.failure { try simulation.run(until: { false }) }
    #expect(none.message.contains("Nothing has run in the simulation"), "\(none)")
    queue.addOperation(AdvancedOperation())
    let finished = try Self.failure { try simulation.run(until: { false }) }
    #expect(
      finished.message.hasSuffix("any more: all operations of its queues have finished."),
      "\(finished)"
    )
  }

  @Test func `a run until a condition names three operations and counts others`() throws {
    queue.addOperations((1...5).map { HeldOperation(name: "held \($0)") })
    let failure = try Self.failure { try simulation.run(until: { false }) }
    #expect(failure.message.hasSuffix("\nand 2 more."), "\(failure)")
  }

  @Test func `a run until a condition ends with the condition's error`() throws {
    struct Missing: Error {}
    let work = ResultOperation { 1 }
    queue.addOperation(work)
    #expect(throws: Missing.self) {
      try simulation.run(until: {
        if work.isExecuting { throw Missing() }
        return false
      })
    }
    #expect(work.isExecuting)
  }

  @Test func `a run until a condition may omit the label`() throws {
    let work = ResultOperation(name: "work") { 1 }
    queue.addOperation(work)
    try simulation.run { work.isExecuting }
    #expect(work.isExecuting)
    try simulation.run { try simulation.operation(named: "work").isFinished }
    #expect(work.isFinished)
  }

  @Test func `a run until a condition fails an exploration's schedule`() throws {
    let failure = try #require(
      #expect(throws: ScheduleFailure.self) {
        try exploreSchedules { simulation in
          let queue = AdvancedOperationQueue(environment: simulation.environment)
          let upload = HeldOperation(name: "upload")
          queue.addOperation(upload)
          try simulation.run(until: { upload.isFinished })
        }
      }
    )
    let underlying = try #require(failure.underlying as? ExpectationFailure)
    #expect(underlying.message.contains("upload has returned"))
  }
}
