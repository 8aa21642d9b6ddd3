import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

private struct Offline: Error {}

@Suite struct `Operations by name` {
  private let simulation = SimulatedEnvironment(seed: 3)
  private let queue: AdvancedOperationQueue

  init() { queue = AdvancedOperationQueue(environment: simulation.environment) }

  /// A retry whose first two attempts fail.
  private func makeRetry() -> RetryOperation<Int> {
    RetryOperation(name: "fetch", retry: .constant(.seconds(1)).attempts(3)) { attempt in
      ResultOperation(name: "attempt") {
        if attempt < 3 { throw Offline() }
        return attempt
      }
    }
  }

  private func failure(_ body: () throws -> Void) throws -> ExpectationFailure {
    do { try body() } catch let failure as ExpectationFailure {
      #expect(failure.seed == 3 && failure.fileID.hasSuffix("FoundOperationTests.swift"))
      return failure
    }
    throw Offline()
  }

  @Test func `a child of a group is found by name and type`() throws {
    let group = GroupOperation(name: "group") {
      ResultOperation(name: "part 1") { 1 }
      ResultOperation(name: "part 2") { "two" }
    }
    queue.addOperation(group)
    try simulation.run(until: { group.isExecuting })
    simulation.keepsOperations = true
    simulation.run()
    let second = try simulation.operation(named: "part 2", as: ResultOperation<String>.self)
    #expect(try expectValue(of: second) == "two")
    #expect(try simulation.operation(named: "group") === group)
  }

  @Test func `the executing attempt is found by name and can be cancelled`() throws {
    let clock = simulation.environment.clock
    let fetch = RetryOperation(name: "fetch", retry: .immediate.attempts(2)) { attempt in
      ResultOperation(name: "attempt \(attempt)") {
        try await clock.sleep(for: .seconds(1))
        return attempt
      }
    }
    queue.addOperation(fetch)
    simulation.run(until: .milliseconds(500))
    let first = try simulation.operation(named: "attempt 1", as: ResultOperation<Int>.self)
    first.cancel()
    simulation.run()
    #expect(try expectValue(of: fetch) == 2)
  }

  @Test func `attempts are found in order if the simulation keeps operations`() throws {
    simulation.keepsOperations = true
    queue.addOperation(makeRetry())
    simulation.run()
    let attempts = try simulation.operations(named: "attempt", as: ResultOperation<Int>.self)
    #expect(attempts.map { $0.outcome?.kind.rawValue } == ["failed", "failed", "succeeded"])
    let second = try simulation.operation(named: "attempt #2")
    #expect(second === attempts[1])
  }

  @Test func `a lookup of released attempts says how to keep them`() throws {
    queue.addOperation(makeRetry())
    simulation.run()
    let message = try failure { _ = try simulation.operations(named: "attempt") }.message
    #expect(message.hasPrefix("There is no operation “attempt”."), "\(message)")
    #expect(message.contains("“attempt #3”"), "\(message)")
    #expect(message.contains("set keepsOperations of the simulation to true before the run"))
  }

  @Test func `a lookup of several operations with one name is ambiguous`() throws {
    let operations = (1...2).map { number in ResultOperation(name: "work") { number } }
    queue.addOperations(operations)
    let line = #line + 1
    let failure = try failure { _ = try simulation.operation(named: "work") }
    #expect(failure.line == line)
    #expect(
      failure.message.hasPrefix(
        "2 operations are called “work”; in the log they are “work”, “work #2”. Call "
      ),
      "\(failure.message)"
    )
    #expect(try simulation.operations(named: "work") == operations)
  }

  @Test func `the type distinguishes operations of equal names`() throws {
    let number = ResultOperation(name: "work") { 1 }
    let text = ResultOperation(name: "work") { "one" }
    queue.addOperations([number, text])
    #expect(try simulation.operation(named: "work", as: ResultOperation<String>.self) === text)
    let message = try failure {
      _ = try simulation.operation(named: "work", as: GroupOperation.self)
    }.message
    #expect(message.hasPrefix("“work” isn't of the type GroupOperation, but of the type ResultO"))
  }

  @Test func `a plain operation is found when it has started`() throws {
    let block = BlockOperation {}
    block.name = "block"
    queue.addOperation(block)
    simulation.run()
    #expect(try simulation.operation(named: "block", as: BlockOperation.self) === block)
  }

  @Test func `a lookup of an unknown name lists the known names`() throws {
    let none = try failure { _ = try simulation.operation(named: "fetch") }.message
    #expect(none.contains("the simulation has had none. Add operations to a queue"), "\(none)")
    let operations = (1...12).map { number in ResultOperation(name: "\(number)") {} }
    queue.addOperations(operations)
    let message = try failure { _ = try simulation.operation(named: "fetch") }.message
    #expect(
      message
        == "There is no operation “fetch”. The simulation has “1”, “2”, “3”, “4”, “5”, “6”, “7”, "
        + "“8”, “9”, “10” and 2 more."
    )
    withExtendedLifetime(operations) {}
  }

  @Test func `a simulation that keeps operations releases them with itself`() {
    weak var kept: ResultOperation<Int>?
    func runOne(in simulation: SimulatedEnvironment) {
      let operation = ResultOperation { 1 }
      kept = operation
      AdvancedOperationQueue(environment: simulation.environment).addOperation(operation)
      simulation.run()
    }
    do {
      let simulation = SimulatedEnvironment(seed: 1)
      simulation.keepsOperations = true
      runOne(in: simulation)
      #expect(kept != nil)
      simulation.keepsOperations = false
      #expect(kept == nil)
      simulation.keepsOperations = true
      runOne(in: simulation)
      #expect(kept != nil)
    }
    #expect(kept == nil)
  }
}
