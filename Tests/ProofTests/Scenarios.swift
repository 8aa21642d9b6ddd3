import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

private struct Flaw: Error {}

/// A small workflow with all that can come in between, and what has to be so at its end.
struct Scenario: Sendable, CustomStringConvertible {
  let description: String
  let run: @Sendable (SimulatedEnvironment, Witness) throws -> Void

  init(
    _ description: String,
    _ run: @escaping @Sendable (SimulatedEnvironment, Witness) throws -> Void
  ) {
    self.description = description
    self.run = run
  }

  private static func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
    if !isTrue { throw Witness.Violation(description: text()) }
  }

  /// A condition that is asked at once.
  private struct Checked: ImmediateCondition {
    func check(_ operation: AdvancedOperation) -> OperationConditionResult { .satisfied }
  }

  private static func queue(
    _ simulation: SimulatedEnvironment,
    limit: Int = -1
  ) -> AdvancedOperationQueue {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = limit
    return queue
  }

  private static func busy(
    _ rules: [WhenBusy],
    _ simulation: SimulatedEnvironment,
    _ witness: Witness
  ) throws {
    let queue = queue(simulation)
    let all = rules.map { rule in
      let operation = Watched("\(rule)", witness, isExclusive: true)
      operation.addClaim(MutuallyExclusive("one", whenBusy: rule))
      return operation
    }
    witness.watch(all)
    queue.addOperations(all)
    simulation.run()
    try witness.check(queue)
  }

  static let all: [Scenario] =
    [1, 2].flatMap { limit in
      [
        Scenario("a diamond of dependencies, limit \(limit)") { simulation, witness in
          let queue = queue(simulation, limit: limit)
          let all = ["top", "left", "right", "bottom"].map { Watched($0, witness) }
          all[1].addDependency(all[0])
          all[2].addDependency(all[0])
          all[3].addDependency(all[1])
          all[3].addDependency(all[2])
          witness.watch(all)
          queue.addOperations(all)
          simulation.run()
          try witness.check(queue)
          try expect(all.allSatisfy(witness.ran), "somebody didn't run")
        },
        Scenario("a cancel between two, limit \(limit)") { simulation, witness in
          let queue = queue(simulation, limit: limit)
          let (first, second) = (Watched("first", witness), Watched("second", witness))
          second.addDependency(first)
          second.addCondition(NoCancelledDependencies())
          witness.watch([first, second])
          queue.addOperations([first, second])
          simulation.addStep("cancel") { first.cancel(withError: Flaw()) }
          simulation.run()
          try witness.check(queue)
          try expect(
            (first.outcome?.isSuccess == true) == (second.outcome?.isSuccess == true),
            "\(first), \(second)"
          )
          try expect(witness.ran(second) == !first.isCancelled, "\(first), \(second)")
        },
        Scenario("one enters, two wait, one of them is cancelled, limit \(limit)") {
          simulation,
          witness in
          let queue = queue(simulation, limit: limit)
          let all = ["a", "b", "c"].map { Watched($0, witness, isExclusive: true) }
          for operation in all { operation.addClaim(MutuallyExclusive("one")) }
          witness.watch(all)
          queue.addOperations(all)
          simulation.addStep("cancel") { all[1].cancel() }
          simulation.run()
          try witness.check(queue)
          try expect(witness.ran(all[0]) && witness.ran(all[2]), "somebody didn't run")
        },
        Scenario("two wait that are asked at once, limit \(limit)") { simulation, witness in
          let queue = queue(simulation, limit: limit)
          let all = ["a", "b"].map { Watched($0, witness, isExclusive: true) }
          for operation in all {
            operation.addClaim(MutuallyExclusive("one"))
            operation.addCondition(Checked())
          }
          witness.watch(all)
          queue.addOperations(all)
          simulation.run()
          try witness.check(queue)
          try expect(all.allSatisfy(witness.ran), "somebody didn't run")
        },
        Scenario("claims in either order, limit \(limit)") { simulation, witness in
          let queues = [queue(simulation, limit: limit), queue(simulation)]
          let all = ["a", "b"].map { Watched($0, witness, isExclusive: true) }
          all[0].addClaim(MutuallyExclusive("one"))
          all[0].addClaim(MutuallyExclusive("two"))
          all[1].addClaim(MutuallyExclusive("two"))
          all[1].addClaim(MutuallyExclusive("one"))
          witness.watch(all)
          for (operation, queue) in zip(all, queues) { queue.addOperation(operation) }
          simulation.run()
          try witness.check(queues[0], queues[1])
          try expect(all.allSatisfy(witness.ran), "somebody didn't run")
        },
        Scenario("suspended and resumed, limit \(limit)") { simulation, witness in
          let queue = queue(simulation, limit: limit)
          let all = ["a", "b"].map { Watched($0, witness) }
          witness.watch(all)
          simulation.addStep("suspend") { queue.isSuspended = true }
          queue.addOperations(all)
          simulation.addStep("cancel") { all[1].cancel() }
          simulation.run()
          try expect(
            all.allSatisfy { $0.isFinished } || queue.isSuspended,
            "somebody waits for nothing"
          )
          queue.isSuspended = false
          simulation.run()
          try witness.check(queue)
        },
        Scenario("a condition that takes its time, limit \(limit)") { simulation, witness in
          let queue = queue(simulation, limit: limit)
          let all = ["a", "b"].map { Watched($0, witness) }
          all[0].addCondition(
            BlockCondition("late") {
              await Task.yield()
              return true
            }
          )
          all[1].addDependency(all[0])
          witness.watch(all)
          queue.addOperations(all)
          simulation.addStep("cancel") { all[0].cancel() }
          simulation.run()
          try witness.check(queue)
          try expect(witness.ran(all[1]), "the second didn't run")
          try expect(witness.ran(all[0]) || all[0].isCancelled, "the first didn't run")
        },
        Scenario("all are cancelled, limit \(limit)") { simulation, witness in
          let queue = queue(simulation, limit: limit)
          let all = ["a", "b", "c"].map { Watched($0, witness) }
          all[1].addDependency(all[0])
          witness.watch(all)
          queue.addOperations(all)
          simulation.addStep("cancel") { queue.cancelAllOperations() }
          simulation.run()
          try witness.check(queue)
          try expect(
            !all[0].isCancelled || all[1].isCancelled || all[0].outcome?.isSuccess == true,
            "a dependent slipped through"
          )
        },
      ]
    } + [
      Scenario("a group with a child that comes late") { simulation, witness in
        let queue = queue(simulation, limit: 1)
        let late = Watched("late", witness)
        let group = GroupOperation(name: "group", maxConcurrentOperationCount: 1) {
          Watched("child", witness)
        }
        witness.watch([group])
        queue.addOperation(group)
        let wasInTime = Locked(false)
        simulation.addStep("add") {
          let isInTime = group.addOperation(late)
          wasInTime.withLock { $0 = isInTime }
        }
        simulation.run()
        try witness.check(queue)
        try expect(witness.ran(late) == wasInTime.withLock { $0 }, "a child was lost")
        try expect(late.isFinished == wasInTime.withLock { $0 }, "the group left its child")
      },
      Scenario("a group that is cancelled, and its late child") { simulation, witness in
        let queue = queue(simulation)
        let children = ["a", "b"].map { Watched($0, witness) }
        let group = GroupOperation(name: "group") { children[0] }
        witness.watch([group])
        queue.addOperation(group)
        let wasInTime = Locked(false)
        simulation.addStep("add") {
          let isInTime = group.addOperation(children[1])
          wasInTime.withLock { $0 = isInTime }
        }
        simulation.addStep("cancel") { group.cancel() }
        simulation.run()
        try witness.check(queue)
        try expect(children[0].isFinished, "the group left its child")
        let isInTime = wasInTime.withLock { $0 }
        try expect(children[1].isFinished || !isInTime, "a child was lost")
        // The cancelled group has turned it away.
        try expect(!witness.ran(children[1]) || isInTime, "a child ran that was turned away")
      },
      Scenario("busy is a failure, or a cancel of the holder") { simulation, witness in
        try busy([.wait, .fail, .cancelHolder], simulation, witness)
      },
      Scenario("busy is a skip, or a cancel of the holder") { simulation, witness in
        try busy([.wait, .skip, .cancelHolder], simulation, witness)
      },
      Scenario("a result for the next, and a cancel") { simulation, witness in
        let queue = queue(simulation)
        let first = ResultOperation(name: "first") { 1 }
        let second = first.then(name: "second") { $0 + 1 }
        witness.watch([first, second])
        queue.addOperations([first, second])
        simulation.addStep("cancel") { first.cancel() }
        simulation.run()
        try witness.check(queue)
        switch second.result {
        case .success(let value): try expect(value == 2 && !first.isCancelled, "\(first)")
        case .failure: try expect(first.isCancelled, "\(first), \(second)")
        case nil: try expect(false, "no result")
        }
      },
      Scenario("finish and cancel from elsewhere") { simulation, witness in
        let queue = queue(simulation)
        let operation = Watched("operation", witness) { operation in
          simulation.addStep("finish") { operation.finish() }
          simulation.addStep("finish again") { operation.finish(withError: Flaw()) }
          simulation.addStep("cancel") { operation.cancel() }
        }
        let next = Watched("next", witness)
        next.addDependency(operation)
        witness.watch([operation, next])
        queue.addOperations([operation, next])
        simulation.run()
        try witness.check(queue)
        try expect(witness.ran(next), "the dependent didn't run")
        try expect(operation.errors.count <= 1, "\(operation.errors)")
      },
      Scenario("a dependency that comes late") { simulation, witness in
        let queue = queue(simulation)
        let all = ["a", "b"].map { Watched($0, witness) }
        witness.watch(all)
        queue.addOperation(all[0])
        simulation.addStep("add") {
          all[0].addDependency(all[1])
          queue.addOperation(all[1])
        }
        simulation.run()
        try witness.check(queue)
      },
      Scenario("a cycle that is closed while it waits") { simulation, witness in
        let queue = queue(simulation)
        let all = ["a", "b", "c"].map { Watched($0, witness) }
        all[0].addDependency(all[2])
        all[1].addDependency(all[0])
        witness.watch(all)
        queue.addOperations([all[0], all[1]])
        simulation.addStep("close") { all[2].addDependency(all[1]) }
        simulation.addStep("add") { queue.addOperation(all[2]) }
        simulation.run()
        try witness.check(queue)
      },
      Scenario("a barrier between two, and a completion block") { simulation, witness in
        let queue = queue(simulation)
        let (before, after) = (Watched("before", witness), Watched("after", witness))
        witness.watch([before, after])
        before.completionBlock = {}
        queue.addOperation(before)
        queue.addBarrierBlock {
          if !before.isFinished { witness.complain("the barrier was passed") }
          if witness.ran(after) { witness.complain("the barrier came late") }
        }
        queue.addOperation(after)
        simulation.addStep("cancel") { before.cancel() }
        simulation.run()
        try witness.check(queue)
      },
      Scenario("two that hold nothing between their attempts, and a cancel") {
        simulation,
        witness in
        let queue = queue(simulation, limit: 1)
        let all = ["a", "b"].map { name in
          ResultOperation(name: name, retry: .immediate.attempts(2).releasingSlot()) {
            witness.enter()
            defer { witness.leave() }
            await Task.yield()
            if AdvancedOperation.current?.attempt == 1 { throw Flaw() }
          }
        }
        for operation in all { operation.addClaim(MutuallyExclusive("one")) }
        witness.watch(all)
        queue.addOperations(all)
        simulation.addStep("cancel") { all[0].cancel() }
        simulation.run()
        try witness.check(queue)
        try expect(all[1].outcome?.isSuccess == true, "the second didn't go on")
        try expect(all[0].isCancelled || all[0].outcome?.isSuccess == true, "nor did the first")
      },
      Scenario("a timeout and an end at the same time") { simulation, witness in
        let queue = queue(simulation)
        let sleeper = ResultOperation(name: "sleeper") {
          try await simulation.environment.clock.sleep(until: .seconds(1))
        }
        sleeper.addObserver(TimeoutObserver(.seconds(1)))
        let next = Watched("next", witness)
        next.addDependency(sleeper)
        witness.watch([sleeper, next])
        queue.addOperations([sleeper, next])
        simulation.run()
        try witness.check(queue)
        try expect(witness.ran(next), "the dependent didn't run")
      },
    ]
}
