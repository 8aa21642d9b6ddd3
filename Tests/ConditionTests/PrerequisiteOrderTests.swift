import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// Prerequisites of conditions that are evaluated one after the other.
@Suite struct `Prerequisites with stopAtFirstFailure` {
  /// A condition with a prerequisite that writes down what is done, and in which order.
  private static func helped(
    _ name: String,
    _ log: Log<String>,
    _ result: OperationConditionResult = .satisfied
  ) -> Asked {
    Asked(
      name,
      prerequisite: { _ in
        log.add("\(name) made")
        return Work("\(name)'s prerequisite") { work in
          log.add("\(name) helped")
          work.finish()
        }
      },
      answer: { _ in
        log.add("\(name) asked")
        return result
      }
    )
  }

  private static func work(_ conditions: [any OperationCondition]) -> Work {
    let work = Work("work")
    work.conditionPolicy = .stopAtFirstFailure
    for condition in conditions { work.addCondition(condition) }
    return work
  }

  @Test(arguments: seeds, [false, true])
  func `prerequisites are created and run in the order of their conditions`(
    seed: UInt64,
    byHand: Bool
  ) {
    let world = World(seed: seed)
    let log = Log<String>()
    let work = Self.work([
      Self.helped("a", log), Immediate(), Self.helped("b", log), Self.helped("c", log),
    ])
    if byHand {
      work.environment = world.simulation.environment
      work.start()
      world.simulation.run()
    } else {
      world.run(work)
    }
    #expect(
      log.entries == ["a", "b", "c"].flatMap { ["\($0) made", "\($0) helped", "\($0) asked"] }
    )
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: [OperationConditionResult.failed(Flaw(1)), .skipped(reason: "no need")])
  func `prerequisites aren't created after the first unsatisfied condition`(
    result: OperationConditionResult
  ) {
    let world = World()
    let log = Log<String>()
    let conditions: [any OperationCondition] = [
      Immediate(always: result), Asked { _ in result },
      Asked(prerequisite: { _ in Work("prerequisite") }, answer: { _ in result }),
    ]
    for condition in conditions {
      let work = Self.work([condition, Self.helped("behind", log)])
      world.run(work)
      #expect(work.kind == (result.errors.isEmpty ? .skipped : .failed))
    }
    #expect(log.entries.isEmpty)
  }

  @Test func `prerequisites are created immediately with evaluateAll`() {
    let world = World()
    let log = Log<String>()
    let work = Work("work")
    work.addCondition(Immediate(always: .failed(Flaw(1))))
    work.addCondition(Self.helped("a", log))
    world.run(work)
    #expect(log.entries == ["a made", "a helped", "a asked"])
    #expect(work.kind == .failed)
  }

  @Test(arguments: seeds)
  func `a prerequisite has earlier conditions evaluated again at the start`(seed: UInt64) {
    let world = World(seed: seed)
    let answer = Changing(OperationConditionResult.satisfied)
    let prerequisite = Work("prerequisite") { work in
      answer.value = .skipped(reason: "the prerequisite did it")
      work.finish()
    }
    let work = Self.work([
      Immediate { _ in answer.value }, Asked(prerequisite: { _ in prerequisite }),
    ])
    world.run(work)
    #expect(prerequisite.kind == .succeeded)
    #expect(work.kind == .skipped)
  }

  @Test(arguments: seeds)
  func `a running prerequisite is cancelled with the operation and later ones aren't created`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let log = Log<String>()
    let prerequisite = Work.open("prerequisite")
    let work = Self.work([
      Asked { _ in .satisfied }, Asked(prerequisite: { _ in prerequisite }),
      Self.helped("late", log),
    ])
    world.run(work)
    #expect(prerequisite.isExecuting)
    work.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(prerequisite.kind == .cancelled)
    #expect(work.kind == .cancelled)
    #expect(log.entries.isEmpty)
  }

  @Test func `prerequisites aren't created for an operation cancelled during evaluation`() {
    let world = World()
    let log = Log<String>()
    let probe = ConditionProbe()
    let work = Self.work([probe, Self.helped("late", log)])
    world.run(work)
    work.cancel()
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(log.entries.isEmpty)
  }

  @Test(arguments: [false, true])
  func `a later prerequisite that is the operation itself completes a cycle`(isBehindTask: Bool) {
    let world = World()
    let first: any OperationCondition = isBehindTask ? Asked { _ in .satisfied } : Immediate()
    let work = Self.work([first, Asked(prerequisite: { $0 })])
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(work.errors.first is OperationCycleError)
  }

  @Test(arguments: [false, true])
  func `a later prerequisite whose group hasn't started fails its condition`(isBehindTask: Bool) {
    let world = World()
    let child = Work("child")
    let group = GroupOperation(name: "group") { child }
    let first: any OperationCondition = isBehindTask ? Asked { _ in .satisfied } : Immediate()
    let work = Self.work([first, Asked("helped", prerequisite: { _ in child })])
    world.run(work)
    let error = work.errors.first as? OperationConditionError
    #expect(error?.underlying is OperationPrerequisiteError)
    withExtendedLifetime(group) {}
  }

  @Test(arguments: seeds, [AdvancedOperation.ConditionPolicy.evaluateAll, .stopAtFirstFailure])
  func `closures that create prerequisites see their operation as the current one`(
    seed: UInt64,
    policy: AdvancedOperation.ConditionPolicy
  ) {
    let world = World(seed: seed)
    let log = Log<Bool>()
    let condition = Asked(prerequisite: { operation in
      log.add(AdvancedOperation.current === operation)
      return nil
    })
    let work = Work("work")
    work.conditionPolicy = policy
    work.addCondition(condition)
    work.addCondition(Asked { _ in .satisfied })
    work.addCondition(condition)
    world.run(work)
    #expect(log.entries == [true, true])
  }
}
