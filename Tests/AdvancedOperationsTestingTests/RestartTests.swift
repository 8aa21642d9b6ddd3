import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

private struct Offline: Error {}

/// How often each body has begun.
private final class Effects: Sendable {
  private let state = Locked<[String: Int]>([:])
  var counts: [String: Int] { state.withLock { $0 } }
  func happens(_ name: String) { state.withLock { $0[name, default: 0] += 1 } }
  func count(_ name: String) -> Int { counts[name] ?? 0 }
}

/// A small workflow whose steps are recorded.
struct DurableWorkflow: Sendable, CustomStringConvertible {
  let description: String
  /// How often a body may begin in one life, where nothing is recorded.
  let attempts: Int
  fileprivate let make:
    @Sendable (SimulatedEnvironment, InMemoryJournal, Effects) -> AdvancedOperation

  private static func step(
    _ key: String,
    _ journal: InMemoryJournal,
    _ effects: Effects,
    after inputs: [ResultOperation<Int>] = [],
    retry: RetryPolicy? = nil,
    failures: Int = 0
  ) -> ResultOperation<Int> {
    let attempts = Locked(0)
    return ResultOperation(afterAll: inputs, retry: retry) { values in
      effects.happens(key)
      await Task.yield()
      let attempt = attempts.withLock { count in
        count += 1
        return count
      }
      if attempt <= failures { throw Offline() }
      return values.reduce(key.utf8.count, +)
    }.recorded(as: key, in: journal)
  }

  private static func queue(_ simulation: SimulatedEnvironment) -> AdvancedOperationQueue {
    AdvancedOperationQueue(environment: simulation.environment)
  }

  static let all = [
    DurableWorkflow(description: "chain", attempts: 1) { simulation, journal, effects in
      let a = step("a", journal, effects)
      let bb = step("bb", journal, effects, after: [a])
      let ccc = step("ccc", journal, effects, after: [bb])
      queue(simulation).addOperations([a, bb, ccc])
      return ccc
    },
    DurableWorkflow(description: "diamond", attempts: 1) { simulation, journal, effects in
      let top = step("top", journal, effects)
      let sides = ["left", "right"].map { step($0, journal, effects, after: [top]) }
      let bottom = step("bottom", journal, effects, after: sides)
      bottom.addClaim(MutuallyExclusive("database"))
      queue(simulation).addOperations([top, bottom] + sides)
      return bottom
    },
    DurableWorkflow(description: "fan with retries", attempts: 3) { simulation, journal, effects in
      let parts = (1...3).map { number in
        step(
          "part \(number)",
          journal,
          effects,
          retry: .constant(.seconds(1)).attempts(3),
          failures: number - 1
        )
      }
      let sum = step("sum", journal, effects, after: parts)
      let queue = queue(simulation)
      queue.maxConcurrentOperationCount = 2
      queue.addOperations(parts + [sum])
      return sum
    },
    DurableWorkflow(description: "group", attempts: 1) { simulation, journal, effects in
      let first = step("first", journal, effects)
      first.addCondition(
        BlockCondition("late") {
          await Task.yield()
          return true
        }
      )
      let group = GroupOperation(name: "group", maxConcurrentOperationCount: 1) {
        first
        step("second", journal, effects, after: [first])
        step("third", journal, effects)
      }
      let last = step("last", journal, effects)
      last.addDependency(group)
      queue(simulation).addOperations([group, last])
      return last
    },
  ]
}

@Suite(.heavy) struct `A restart after a crash` {
  /// Dies after so many steps, and returns what was recorded; nil if there were fewer steps.
  private static func die(
    after limit: Int,
    _ simulation: SimulatedEnvironment,
    _ workflow: DurableWorkflow,
    _ effects: Effects
  ) -> [InMemoryJournal.Record]? {
    let journal = InMemoryJournal()
    _ = workflow.make(simulation, journal, effects)
    var count = 0
    while count < limit {
      guard simulation.step() else { return nil }
      count += 1
    }
    return journal.records
  }

  @Test(arguments: DurableWorkflow.all)
  func `a restart after any step runs unrecorded operations at most once more`(
    workflow: DurableWorkflow
  ) async throws {
    let deaths = try await offPool {
      var deaths = 0
      for seed in UInt64(1)...UInt64(Effort.orders(8)) {
        let whole = SimulatedEnvironment(seed: seed)
        let wholeJournal = InMemoryJournal()
        let operation = workflow.make(whole, wholeJournal, Effects())
        whole.run()
        try expectOutcome(of: operation, is: .succeeded)
        let expected = Self.values(of: wholeJournal)
        var limit = 0
        while true {
          let effects = Effects()
          let simulation = SimulatedEnvironment(seed: seed)
          guard let records = Self.die(after: limit, simulation, workflow, effects) else { break }
          let before = effects.counts
          let restarted = SimulatedEnvironment(seed: seed &+ UInt64(limit) &* 1_000)
          let journal = InMemoryJournal(records)
          let again = workflow.make(restarted, journal, effects)
          restarted.run()
          try expectOutcome(of: again, is: .succeeded)
          try #require(Self.values(of: journal) == expected)
          for key in expected.keys {
            let repetitions = effects.count(key) - (before[key] ?? 0)
            let isRecorded = records.contains { $0.key == key }
            try #require(repetitions <= (isRecorded ? 0 : workflow.attempts), "\(key), \(limit)")
            try #require(isRecorded || repetitions >= 1, "\(key), \(limit)")
          }
          deaths += 1
          limit += 1
        }
      }
      return deaths
    }
    print("\(workflow): \(deaths) deaths")
    #expect(deaths > 25 * Effort.orders(8))
  }

  private static func values(of journal: InMemoryJournal) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: journal.records.map { ($0.key, $0.value as? Int ?? -1) })
  }

  @Test(arguments: DurableWorkflow.all)
  func `exploring restarts covers every crash of a durable workflow`(
    workflow: DurableWorkflow
  ) async throws {
    let report = try await offPool {
      try exploreRestarts(randomSchedules: Effort.orders(10)) { simulation, journal in
        workflow.make(simulation, journal, Effects())
      }
    }
    #expect(report.restartCount > 10 * Effort.orders(10))
    #expect(report.scheduleCount == Effort.orders(10))
    #expect("\(report)" == "\(report.restartCount) restarts in \(report.scheduleCount) schedules")
  }

  @Test(arguments: DurableWorkflow.all)
  func `a restart from any prefix of the journal runs the remaining operations`(
    workflow: DurableWorkflow
  ) throws {
    let journal = InMemoryJournal()
    let simulation = SimulatedEnvironment(seed: 7)
    _ = workflow.make(simulation, journal, Effects())
    simulation.run()
    for count in 0...journal.records.count {
      let effects = Effects()
      let rest = journal.truncated(after: count)
      let simulation = SimulatedEnvironment(seed: 8)
      let operation = workflow.make(simulation, rest, effects)
      simulation.run()
      try expectOutcome(of: operation, is: .succeeded)
      #expect(Set(effects.counts.keys) == Set(journal.keys.dropFirst(count)))
      #expect(Self.values(of: rest) == Self.values(of: journal))
    }
  }
}

@Suite struct `Exploring restarts finds` {
  private static func message(
    _ workflow: (SimulatedEnvironment, InMemoryJournal) throws -> AdvancedOperation
  ) throws -> String {
    do {
      try exploreRestarts(of: workflow)
      return "nothing"
    } catch let failure as ExpectationFailure {
      #expect(failure.seed != nil)
      #expect(failure.fileID.hasSuffix("RestartTests.swift"))
      return failure.message
    }
  }

  private static func run(_ operations: [AdvancedOperation], _ simulation: SimulatedEnvironment) {
    AdvancedOperationQueue(environment: simulation.environment).addOperations(operations)
  }

  @Test func `exploring restarts finds values that were kept in memory only`() throws {
    let message = try Self.message { simulation, journal in
      let memory = Locked(0)
      let first = ResultOperation {
        memory.withLock { $0 = 5 }
        return 1
      }.recorded(as: "first", in: journal)
      let second = first.then { $0 + memory.withLock { $0 } }.recorded(as: "second", in: journal)
      Self.run([first, second], simulation)
      return second
    }
    #expect(message.contains("with “first” recorded. The value of “second” was 6, and then 1."))
  }

  @Test func `exploring restarts finds two operations with one key`() throws {
    let message = try Self.message { simulation, journal in
      let first = ResultOperation { 1 }.recorded(as: "same", in: journal)
      let second = ResultOperation(name: "second") { 2 }.recorded(as: "same", in: journal)
      let sum = ResultOperation(name: "sum", after: first, second) { $0 + $1 }
      Self.run([first, second, sum], simulation)
      return sum
    }
    // Whether both are looked up before one of them is recorded depends on the schedule.
    #expect(message != "nothing")
  }

  @Test func `exploring restarts finds keys that change between runs`() throws {
    let lives = Locked(0)
    let message = try Self.message { simulation, journal in
      let life = lives.withLock { count in
        count += 1
        return count
      }
      let first = ResultOperation { 1 }.recorded(as: "first \(life)", in: journal)
      Self.run([first], simulation)
      return first
    }
    #expect(message.contains("and has in addition “first "))
  }

  @Test func `exploring restarts finds a record that disappeared`() throws {
    let message = try Self.message { simulation, journal in
      let first = ResultOperation { 1 }.recorded(as: "first", in: journal)
      let second = first.then { value in
        await Task.yield()
        journal.remove("first")
        return value
      }.recorded(as: "second", in: journal)
      Self.run([first, second], simulation)
      return second
    }
    #expect(message.contains("and has in addition “first”."))
  }

  @Test func `exploring restarts finds a workflow that doesn't end`() throws {
    let message = try Self.message { simulation, journal in
      let held = HeldOperation(name: "held")
      Self.run([held], simulation)
      return held
    }
    #expect(message.contains("The workflow ran without a crash. “held” has not ended"))
  }

  @Test func `exploring restarts finds an outcome that differs`() throws {
    let message = try Self.message { simulation, journal in
      let wasBegun = !journal.keys.isEmpty
      let first = ResultOperation { 1 }.recorded(as: "first", in: journal)
      let second = first.then(name: "second") { value in
        if wasBegun { throw Offline() }
        return value
      }
      Self.run([first, second], simulation)
      return second
    }
    #expect(message.contains("The outcome of “second” was “succeeded”, and then: failed"))
  }

  @Test func `exploring restarts finds a recorded operation that runs again`() throws {
    let message = try Self.message { simulation, journal in
      // The journal forgets what it had when it was opened.
      let first = ResultOperation { 1 }.recorded(as: "first", in: Forgetful(journal))
      let second = first.then { $0 }.recorded(as: "second", in: journal)
      Self.run([first, second], simulation)
      return second
    }
    #expect(message.contains("Then recorded operations executed again: “first”."))
  }

  private struct Forgetful: OperationJournal {
    let journal: InMemoryJournal
    init(_ journal: InMemoryJournal) { self.journal = journal }
    func value<Value: Codable & Sendable>(of type: Value.Type, for key: String) -> Value? { nil }
    func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws {
      if !journal.keys.contains(key) { try await journal.record(value, for: key) }
    }
  }
}

@Suite struct `A journal in memory` {
  private let journal = InMemoryJournal()

  @Test func `a journal in memory keeps values in order and unchanged`() async throws {
    try await journal.record([1, 2], for: "b")
    try await journal.record("text", for: "a")
    #expect(journal.keys == ["b", "a"])
    #expect(try await journal.value(of: [Int].self, for: "b") == [1, 2])
    #expect(try await journal.value(of: String.self, for: "a") == "text")
    #expect(try await journal.value(of: String.self, for: "c") == nil)
    #expect(journal.records[1].value as? String == "text")
  }

  @Test func `a journal in memory refuses a recorded key and another type`() async throws {
    try await journal.record(1, for: "a")
    await #expect(throws: InMemoryJournal.KeyRecordedTwice(key: "a")) {
      try await journal.record(2, for: "a")
    }
    let error = InMemoryJournal.WrongType(key: "a", recorded: "Int", expected: "String")
    await #expect(throws: error) { try await journal.value(of: String.self, for: "a") }
    #expect(journal.keys == ["a"])
    #expect(
      "\(error)" == "The record of “a” has the type Int, but the operation needs String."
    )
  }

  @Test func `a journal in memory can be truncated after any record and continued`() async throws {
    for number in 1...3 { try await journal.record(number, for: "\(number)") }
    for count in 0...4 {
      #expect(journal.truncated(after: count).keys == ["1", "2", "3"].prefix(count).map { $0 })
    }
    let cut = journal.truncated(after: 1)
    try await cut.record(5, for: "5")
    #expect(cut.keys == ["1", "5"])
    #expect(journal.keys == ["1", "2", "3"])
  }

  @Test func `a journal in memory fails exactly at the given records`() async throws {
    journal.failRecord(2, with: Offline())
    journal.failRecord(3, with: Offline(), isKept: true)
    try await journal.record(1, for: "a")
    await #expect(throws: Offline.self) { try await journal.record(1, for: "b") }
    await #expect(throws: Offline.self) { try await journal.record(1, for: "c") }
    try await journal.record(1, for: "b")
    #expect(journal.keys == ["a", "c", "b"])
    journal.failLookUp(of: "a", with: Offline())
    await #expect(throws: Offline.self) { try await journal.value(of: Int.self, for: "a") }
    #expect(try await journal.truncated(after: 1).value(of: Int.self, for: "a") == 1)
  }

  @Test func `a record can be removed from a journal in memory`() async throws {
    try await journal.record(1, for: "a")
    #expect(journal.remove("a"))
    #expect(!journal.remove("a"))
    try await journal.record(2, for: "a")
    #expect(try await journal.value(of: Int.self, for: "a") == 2)
  }
}
