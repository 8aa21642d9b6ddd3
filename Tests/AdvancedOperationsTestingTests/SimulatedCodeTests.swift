import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

private struct Flaw: Error, Equatable {}

@Suite struct `Code in a simulation` {
  private let simulation = SimulatedEnvironment(seed: 3)

  private func queue() -> AdvancedOperationQueue {
    AdvancedOperationQueue(environment: simulation.environment)
  }

  @Test func `simulated code returns its value and throws its errors`() throws {
    #expect(try simulation.run { 42 } == 42)
    #expect(throws: Flaw.self) { try simulation.run { throw Flaw() } }
    try simulation.run {}
  }

  @Test func `simulated code awaits operations and sleeps in virtual time`() throws {
    let queue = queue()
    let environment = simulation.environment
    let value = try simulation.run {
      let slow = ResultOperation(name: "slow") {
        try await OperationClock.current.sleep(until: .seconds(60))
        return 1
      }
      queue.addOperation(slow)
      let value = try await slow.value
      try await environment.clock.sleep(until: .seconds(100))
      return value
    }
    #expect(value == 1)
    #expect(simulation.now == .seconds(100))
  }

  @Test func `simulated code returns before operations that it didn't await`() throws {
    let queue = queue()
    let held = HeldOperation(name: "held")
    let later = AdvancedOperation()
    later.addDependency(held)
    try simulation.run { queue.addOperations([held, later]) }
    #expect(!later.isFinished)
    held.release()
    simulation.run()
    #expect(later.isFinished)
  }

  @Test func `simulated code runs child tasks and actors in the simulation`() throws {
    actor Sum {
      var total = 0
      func add(_ number: Int) { total += number }
    }
    let environment = simulation.environment
    let total = try simulation.run {
      let sum = Sum()
      await withTaskGroup(of: Void.self) { group in
        for number in 1...10 {
          group.addTask {
            try? await environment.clock.sleep(until: .seconds(number))
            await sum.add(number)
          }
        }
      }
      return await sum.total
    }
    #expect(total == 55)
    #expect(simulation.now == .seconds(10))
  }

  @Test func `simulated code opens scopes in the simulation`() throws {
    let now = try simulation.run {
      try await withOperations { scope in
        let clock = scope.environment.clock
        return try await scope.add(
          ResultOperation {
            try await OperationClock.current.sleep(until: .seconds(7))
            return clock.now
          }
        ).value
      }
    }
    #expect(now == .seconds(7))
  }

  @Test func `simulated code behaves the same for equal seeds`() throws {
    func log(_ seed: UInt64) throws -> String {
      let simulation = SimulatedEnvironment(seed: seed)
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      try simulation.run {
        let operations = (0..<4).map { number in ResultOperation(name: "o\(number)") { number } }
        queue.addOperations(operations)
        for operation in operations { _ = try await operation.value }
      }
      return simulation.log
    }
    for seed in 1...20 as ClosedRange<UInt64> { #expect(try log(seed) == log(seed)) }
    #expect(Set(try (1...20).map { try log($0) }).count > 10)
  }

  @Test func `code that leaves the simulation is named with a remedy and cancelled`() throws {
    let isCancelled = Locked(false)
    let failure = #expect(throws: ExpectationFailure.self) {
      try simulation.run(line: 17) {
        do { try await Task.sleep(for: .seconds(86_400)) } catch {
          isCancelled.withLock { $0 = true }
        }
      }
    }
    #expect(failure?.message.contains("Task.sleep") == true)
    #expect(failure?.line == 17)
    #expect(failure?.fileID.hasSuffix("SimulatedCodeTests.swift") == true)
    #expect(failure?.seed == 3)
    // The cancelled sleep comes back to the simulation from a thread that it doesn't know.
    while simulation.pending.isEmpty {}
    simulation.run()
    #expect(isCancelled.withLock { $0 })
  }

  @Test func `code that awaits a stray operation names it`() throws {
    let queue = queue()
    let failure = #expect(throws: ExpectationFailure.self) {
      try simulation.run {
        let leaver = ResultOperation(name: "leaver") {
          try await Task.sleep(for: .seconds(86_400))
        }
        try await queue.run(leaver)
      }
    }
    #expect(failure?.message.contains("“leaver” is executing") == true)
  }

  @Test func `code that awaits an operation in no queue fails the run`() throws {
    let forgotten = ResultOperation { 1 }
    #expect(throws: ExpectationFailure.self) {
      try simulation.run { try await forgotten.value }
    }
  }

  @Test func `simulated code has the task-locals of the test`() throws {
    let name = try TaskLocalName.$current.withValue("outer") {
      try simulation.run { TaskLocalName.current }
    }
    #expect(name == "outer")
  }

  @Test func `code and conditions to run until can be used together`() throws {
    let queue = queue()
    let held = HeldOperation()
    queue.addOperation(held)
    try simulation.run(until: { held.isHeld })
    held.release()
    // Without a label as well.
    try simulation.run { held.isFinished }
    #expect(held.isFinished)
  }

  @Test func `a synchronous closure that returns an unused Bool is a condition`()
    throws
  {
    let queue = queue()
    let work = HeldOperation(name: "work")
    queue.addOperation(work)
    #expect(try simulation.run { work.isFinished } == false)
    let isFinished: Bool = try simulation.run { work.isFinished }
    #expect(!isFinished)
    #expect(
      try simulation.run {
        await Task.yield(); return work.isFinished
      } == false
    )
    work.release()
    try simulation.run { work.isFinished }
    #expect(work.isFinished)
  }
}

private enum TaskLocalName {
  @TaskLocal static var current = "none"
}
