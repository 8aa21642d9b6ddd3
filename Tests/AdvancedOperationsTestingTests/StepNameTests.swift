import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `Names of steps` {
  /// The steps of a log, without times and places.
  private static func steps(_ log: String) -> [String] {
    log.split(separator: "\n").compactMap { line in
      line.firstRange(of: "] step: ").map { range in
        line[range.upperBound...].split(separator: " (").first.map(String.init) ?? ""
      }
    }
  }

  @Test(arguments: UInt64(1)...10)
  func `steps of a yielding body have the name of its task`(seed: UInt64) {
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let counts = [("alpha", 1), ("beta", 2)]
    for (name, count) in counts {
      queue.addOperation(
        ResultOperation(name: name) { for _ in 0..<count { await Task.yield() } }
      )
    }
    simulation.run()
    let parts = Self.steps(simulation.log).filter { $0.hasPrefix("task of") }
    #expect(Set(parts) == ["task of alpha", "task of beta"])
    // The beginning; for each yield the yield itself, and what comes after it.
    for (name, count) in counts {
      #expect(parts.filter { $0 == "task of \(name)" }.count == 1 + 2 * count)
    }
    for (name, _) in counts {
      let after = simulation.log.split(separator: "\(name): finished").last
      #expect(after?.contains("task of \(name)") == false)
    }
  }

  @Test(arguments: UInt64(1)...10)
  func `step names distinguish tasks that share an actor`(seed: UInt64) throws {
    actor Count {
      var number = 0
      func add() { number += 1 }
    }
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let count = Count()
    let total = try simulation.run {
      let operations = ["d1", "d2"].map { name in
        ResultOperation(name: name) { for _ in 0..<3 { await count.add() } }
      }
      queue.addOperations(operations)
      await count.add()
      for operation in operations { try await operation.value }
      return await count.number
    }
    #expect(total == 7)
    let names = Set(Self.steps(simulation.log).filter { !$0.contains("queue") })
    let tasks = ["code", "d1", "d2"]
    #expect(names.isSuperset(of: tasks.map { "task of \($0)" }))
    #expect(
      names.isSubset(
        of: tasks.flatMap { ["task of \($0)", "actor turn of \($0)", "start \($0)"] }
      ),
      "\(names)"
    )
  }

  @Test func `a second task of an operation has a number in its name`() {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.addOperation(
      ResultOperation(name: "work") {
        async let part: Void = Task.yield()
        await part
      }
    )
    simulation.run()
    let steps = Self.steps(simulation.log)
    #expect(steps.contains("task of work") && steps.contains("task of work #2"))
    #expect(!steps.contains { $0.contains("#3") })
  }
}
