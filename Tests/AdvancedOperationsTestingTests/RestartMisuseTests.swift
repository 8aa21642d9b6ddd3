import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

private struct Offline: Error {}

/// What would make an exploration of restarts green that has tested nothing.
@Suite struct `Exploring restarts fails` {
  private static func failure(
    _ workflow: (SimulatedEnvironment, InMemoryJournal) throws -> AdvancedOperation
  ) throws -> ExpectationFailure {
    let failure = #expect(throws: ExpectationFailure.self) {
      try exploreRestarts(seed: 7, of: workflow)
    }
    #expect(failure?.seed == 7)
    return try #require(failure)
  }

  private static func run(_ operations: [AdvancedOperation], _ simulation: SimulatedEnvironment) {
    AdvancedOperationQueue(environment: simulation.environment).addOperations(operations)
  }

  @Test func `exploring restarts fails if the closure runs the simulation`() throws {
    let message = try Self.failure { simulation, journal in
      let build = ResultOperation { 1 }.recorded(as: "build", in: journal)
      Self.run([build], simulation)
      simulation.run()
      return build
    }.message
    #expect(message.contains("Then the closure ran the simulation, with run(). Remove the call: "))
  }

  @Test func `exploring restarts fails if nothing is recorded`() throws {
    let message = try Self.failure { simulation, _ in
      let build = ResultOperation { 1 }
      Self.run([build], simulation)
      return build
    }.message
    #expect(message.contains("The workflow ran without a crash. No value was recorded, so a "))
    #expect(message.contains("ResultOperation { … }.recorded(as: \"build\", in: journal)"))
  }

  @Test func `exploring restarts fails if nothing happens in the simulation`() throws {
    let message = try Self.failure { _, journal in
      let build = ResultOperation { 1 }.recorded(as: "build", in: journal)
      let queue = AdvancedOperationQueue()
      queue.addOperation(build)
      queue.waitUntilAllOperationsAreFinished()
      return build
    }.message
    #expect(message.hasPrefix("The workflow ran without a crash. No step was taken: "))
  }

  @Test func `exploring restarts fails with the closure's error and its moment`() throws {
    let first = try Self.failure { _, _ in throw Offline() }
    #expect(first.underlying is Offline)
    #expect(first.message == "The workflow ran without a crash. Then the closure threw: Offline()")

    let later = try Self.failure { simulation, journal in
      if journal.keys.contains("build") { throw Offline() }
      let build = ResultOperation { 1 }.recorded(as: "build", in: journal)
      let pack = build.then { $0 }.recorded(as: "pack", in: journal)
      Self.run([build, pack], simulation)
      return pack
    }
    #expect(later.underlying is Offline)
    let pattern = #/crashed after [0-9]+ steps, with “build” recorded\. Then the closure threw: O/#
    #expect(later.message.contains(pattern), "\(later.message)")
    #expect(later.description.hasSuffix(" (seed 7)"))
  }

  @Test func `a failure message uses the singular for a crash after one step`() throws {
    let lives = Locked(0)
    // The first life whose closure throws is one after a death; which one, follows from the seed.
    let messages = try (2...12).map { number in
      lives.withLock { $0 = 0 }
      return try Self.failure { simulation, journal in
        let life = lives.withLock { lives in
          lives += 1
          return lives
        }
        if life == number { throw Offline() }
        let build = ResultOperation { 1 }.recorded(as: "build", in: journal)
        Self.run([build], simulation)
        return build
      }.message
    }
    #expect(messages.contains { $0.contains("crashed after 1 step, ") }, "\(messages)")
    #expect(!messages.contains { $0.contains(" 1 steps") })
  }
}
