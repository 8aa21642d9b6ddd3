import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Why a queue doesn't continue` {
  @Test func `the explanation of a queue lists executing operations with their waiters`() {
    let world = World(limit: 2)
    world.queue.name = "main"
    world.queue.addObserver(TimelineRecorder())
    let backup = world.taking(10, "backup")
    backup.addClaim(MutuallyExclusive("db"))
    let tables = (1...5).map { Work("table \($0)") }
    for table in tables { table.addClaim(MutuallyExclusive("db")) }
    world.queue.addOperation(backup)
    world.simulation.advance(by: .zero)
    world.queue.addOperations(tables)
    world.simulation.advance(by: .milliseconds(3_200))
    #expect(
      "\(world.queue.explain())" == """
        queue “main” (limit 2): 6 operations, 1 executing
          backup has been executing for 3.2 s (5 wait: table 1, table 2, table 3, table 4 and 1 more)
        needed: backup has to finish \
        (its async body may be waiting for a timer, a stream, a continuation or a lock)
        """
    )
    world.simulation.run()
  }

  @Test(arguments: [2, 3, 5])
  func `the remedy of a common cause names its operations in a plural sentence`(count: Int) throws {
    let world = World()
    let missing = (1...count).map { Work("\($0)") }
    let ship = Work("ship")
    missing.forEach { ship.addDependency($0) }
    world.queue.addOperation(ship)
    world.simulation.run()
    let names = try #require([2: "1 and 2", 3: "1, 2 and 3", 5: "1, 2, 3, 4 and 1 more"][count])
    let remedies = world.queue.explain().rootCauses.map(\.remedy)
    #expect(remedies == ["\(names) have to be added to a queue"])
    ship.cancel()
    world.simulation.run()
  }

  @Test func `the explanation of a queue reports a common cause once`() {
    let world = World()
    world.queue.name = "main"
    world.queue.isSuspended = true
    let works = (1...6).map { Work("\($0)") }
    let last = Work("last")
    last.addDependency(works[5])
    world.queue.addOperations(works)
    let other = world.makeQueue()
    other.name = "other"
    other.addOperation(last)
    world.simulation.run()
    #expect(
      "\(world.queue.explain())" == """
        queue “main” (suspended): 6 operations, 0 executing
          6 operations (1, 2, 3, 4 and 2 more): each waits for queue “main” to be resumed
        needed: queue “main” has to be resumed
        """
    )
    #expect(
      "\(other.explain())" == """
        queue “other” (limit 1): 1 operation, 0 executing
          6 waits for queue “main” to be resumed (1 waits: last)
        needed: queue “main” has to be resumed
        """
    )
    world.queue.isSuspended = false
    world.simulation.run()
  }

  @Test func `the explanation of a queue names the other queue of an operation`() {
    let world = World()
    world.queue.name = "main"
    let other = world.makeQueue()
    other.name = "other"
    let slow = world.taking(10, "slow")
    let hint = "its async body may be waiting for a timer, a stream, a continuation or a lock"
    let group = GroupOperation(name: "group") { slow }
    let after = Work("after")
    after.addDependency(group)
    other.addOperation(group)
    world.queue.addOperation(after)
    world.simulation.advance(by: .seconds(5))
    #expect(
      "\(world.queue.explain())" == """
        queue “main”: 1 operation, 0 executing
          slow (in queue “other”) has been executing for 5 s (1 waits: after)
        needed: slow has to finish (\(hint))
        """
    )
    #expect(
      text(after) == """
        after waits for group
          group (in queue “other”) waits for its children slow
          slow (in queue “other”) has been executing for 5 s
        needed: slow has to finish (\(hint))
        """
    )
    #expect(
      text(group) == """
        group waits for its children slow
          slow has been executing for 5 s
        needed: slow has to finish (\(hint))
        """
    )
    #expect(after.explain().rootCauses.map(\.name) == ["slow"])
    other.name = nil
    #expect(text(after).contains("  slow (in another queue) has been executing for 5 s\n"))
    world.simulation.run()
  }

  @Test
  func `the explanation of a queue names the other queue of a plain operation`() async throws {
    let queue = AdvancedOperationQueue()
    let other = OperationQueue()
    other.name = "other"
    let (begun, gate) = (Latch(), Latch())
    let hold = BlockOperation {
      begun.open()
      gate.pass()
    }
    hold.name = "hold"
    let after = Work("after")
    after.addDependency(hold)
    other.addOperation(hold)
    queue.addOperation(after)
    await begun.opened()
    #expect(text(after).contains("\n  hold (in queue “other”) is executing\n"))
    gate.open()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `the explanation of an empty queue has no causes`() {
    let queue = AdvancedOperationQueue()
    queue.isSuspended = true
    #expect(
      "\(queue.explain())"
        == "queue “AdvancedOperationQueue” (suspended): 0 operations, 0 executing"
    )
    #expect(queue.explain().rootCauses.isEmpty)
  }

  @Test func `equal causes are explained once with all their operations`() throws {
    let world = World()
    world.queue.name = "main"
    let network = ConditionProbe(name: "network")
    let works = (1...100).map { Work("\($0)") }
    for work in works { work.addCondition(network) }
    let own = ConditionProbe(name: "signed in")
    works[7].addCondition(own)
    world.queue.addOperations(works)
    world.simulation.run()
    let explanation = world.queue.explain()
    #expect(
      "\(explanation)" == """
        queue “main”: 100 operations, 0 executing
          100 operations (1, 2, 3, 4 and 96 more): each waits for the answer of condition “network” \
        for 0 ns
          8 waits for the answer of condition “signed in” for 0 ns
        needed: condition “network” of 1, 2, 3, 4 and 96 more has to answer; \
        condition “signed in” of 8 has to answer
        """
    )
    for causes in [explanation.causes, explanation.rootCauses] {
      #expect(causes.map(\.requirement) == ["network", "signed in"])
      #expect(causes.map(\.operations) == [works, [works[7]]])
      #expect(causes.map(\.operation) == [works[0], works[7]])
    }
    own.answer(.satisfied)
    network.answer(.satisfied)
    world.simulation.run()
    #expect(works.allSatisfy { $0.outcome?.isSuccess == true })
  }

  @Test func `an operation with many dependencies lists their equal causes once`() {
    let world = World()
    let works = (1...5).map { number in
      ResultOperation(name: "\(number)", retry: .constant(.seconds(60)).attempts(2)) {
        throw Flaw(number % 2)
      }
    }
    let last = Work("last")
    last.addDependencies(works)
    world.queue.addOperations(works + [last])
    world.simulation.advance(by: .seconds(1))
    let causes = last.explain().rootCauses
    #expect(causes.map(\.kind) == [.retry, .retry])
    #expect(causes.map { $0.operations.map(\.label) } == [["1", "3", "5"], ["2", "4"]])
    #expect(causes.map { $0.error as? Flaw } == [Flaw(1), Flaw(0)])
    world.simulation.run()
  }

  @Test func `executing operations remain separate causes`() {
    let world = World()
    let works = [Work.open("a"), Work.open("b")]
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(world.queue.explain().rootCauses.map(\.operations) == [[works[0]], [works[1]]])
    world.queue.cancelAllOperations()
    world.simulation.run()
  }

  @Test func `requests that wait for a circuit have one common cause`() throws {
    let world = World()
    world.queue.name = "orders"
    let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(3_600))
    let failing = ResultOperation(name: "failing") { throw Flaw(1) }
    failing.addCondition(CircuitClosed(breaker))
    world.run(failing)
    for _ in 0..<3 {
      let call = RetryOperation(name: "calls", retry: .constant(.seconds(600))) { _ in
        let call = ResultOperation(name: "call") {}
        call.addCondition(CircuitClosed(breaker))
        return call
      }
      world.queue.addOperation(call)
      world.simulation.advance(by: .seconds(60))
    }
    let causes = world.queue.explain().rootCauses
    #expect(causes.map(\.operations.count) == [3])
    #expect(
      "\(world.queue.explain())" == """
        queue “orders”: 3 operations, 3 executing
          3 operations (calls): each waits: attempt 1 failed (condition “circuit closed”: The circuit is \
        open for another 1 h.); tries again in 7 min
        """
    )
    world.queue.cancelAllOperations()
    world.simulation.run()
  }

  @Test func `a limit of an explanation applies to all causes and counts others`() {
    let world = World()
    world.queue.name = "main"
    let probes = (1...5).map { ConditionProbe(name: "probe \($0)") }
    for (index, probe) in probes.enumerated() {
      for number in 0...index {
        let work = Work("\(index).\(number)")
        work.addCondition(probe)
        world.queue.addOperation(work)
      }
    }
    world.simulation.run()
    let explanation = world.queue.explain(limit: 2)
    #expect(
      "\(explanation)" == """
        queue “main”: 15 operations, 0 executing
          0.0 waits for the answer of condition “probe 1” for 0 ns
          2 operations (1.0, 1.1): each waits for the answer of condition “probe 2” for 0 ns
          … and 3 more causes
        needed: condition “probe 1” of 0.0 has to answer; condition “probe 2” of 1.0 and 1.1 has to answer
        """
    )
    let all = world.queue.explain()
    #expect(explanation.rootCauses == Array(all.rootCauses.prefix(2)))
    #expect(explanation.causes == Array(all.causes.prefix(2)))
    #expect(explanation.path == all.path)
    #expect("\(world.queue.explain(limit: 4))".contains("\n  … and 1 more cause\n"))
    #expect("\(world.queue.explain(limit: 5))" == "\(all)")
    for probe in probes { probe.answer(.satisfied) }
    world.simulation.run()
  }

  @Test(arguments: 1...3)
  func `a limited explanation keeps the causes that don't resolve themselves`(limit: Int) {
    let world = World()
    let executing = world.taking(10, "executing")
    let after = Work("after")
    let stray = Work("stray")
    after.addDependency(stray)
    world.queue.addOperations([executing, after])
    world.simulation.advance(by: .seconds(1))
    let names = world.queue.explain(limit: limit).rootCauses.map(\.name)
    #expect(names == Array(["stray", "executing"].prefix(limit)))
    world.queue.cancelAllOperations()
    world.simulation.run()
  }

  @Test func `a cycle is the first cause with any limit`() {
    let world = World()
    let (first, second) = (Work("first"), Work("second"))
    first.addDependency(second)
    second.addDependency(first)
    let after = Work("after")
    after.addDependency(first)
    world.queue.addOperations([world.taking(10, "executing"), after])
    world.simulation.advance(by: .seconds(1))
    for limit in 1...3 {
      let causes = world.queue.explain(limit: limit).rootCauses
      #expect(causes.first?.kind == .cycle, "\(limit)")
      #expect(causes.count == min(limit, 2), "\(limit)")
    }
    world.queue.cancelAllOperations()
    world.simulation.run()
  }

  @Test func `the explanation of a queue counts many causes`() {
    let world = World()
    for number in 0..<40 { world.queue.addOperation(Work.open("\(number)")) }
    world.simulation.run()
    let lines = "\(world.queue.explain())".split(separator: "\n")
    #expect(lines.count == 15)
    #expect(lines.contains("  … and 28 more causes"))
    world.queue.cancelAllOperations()
    world.simulation.run()
  }
}
