import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A rule about dependencies` {
  /// Dependencies that go on until a test finishes them, and one that has a rule about them.
  private struct Fan {
    let world: World
    let parts: [Work]
    let work = Work("work")

    init(
      seed: UInt64 = 1,
      limit: Int = -1,
      count: Int = 3,
      _ conditions: any OperationCondition...
    ) {
      self.init(seed: seed, limit: limit, count: count, conditions)
    }

    init(
      seed: UInt64 = 1,
      limit: Int = -1,
      count: Int = 3,
      _ conditions: [any OperationCondition]
    ) {
      world = World(seed: seed, limit: limit)
      parts = (0..<count).map { Work.open("p\($0)") }
      for part in parts { work.addDependency(part) }
      for condition in conditions { work.addCondition(condition) }
      world.queue.addOperations(parts + [work])
      world.simulation.run()
    }

    func finish(_ number: Int, failing: Bool = false) {
      if failing { parts[number].finish(withError: Flaw(number)) } else { parts[number].finish() }
      world.simulation.run()
    }

    var broken: DependencyRule.Broken? {
      (work.errors.first as? OperationConditionError)?.underlying as? DependencyRule.Broken
    }
  }

  @Test(arguments: seeds)
  func `a rule that can't be kept any more ends the operation immediately`(seed: UInt64) {
    let fan = Fan(seed: seed, DependencyRule.allSucceeded)
    fan.finish(0)
    #expect(fan.work.state == .pending)
    fan.finish(1, failing: true)
    #expect(fan.work.kind == .failed)
    #expect(fan.work.state == .finished)
    #expect(!fan.work.didExecute)
    #expect(fan.parts[2].isExecuting)
    #expect(
      "\(fan.work.errors[0])" == "condition “all dependencies succeeded”: "
        + "Of the dependencies, p0 succeeded, p1 failed, p2 has not finished."
    )
    #expect("\(DependencyRule.Broken(dependencies: ["up failed"]))" == "Dependency up failed.")
    #expect(fan.work.outcome?.failure?.elements.map(\.isInherited) == [true])
    fan.finish(2)
    #expect(fan.world.queue.operationCount == 0)
  }

  @Test func `a rule that is already kept still waits for the other dependencies`() {
    let fan = Fan(DependencyRule.anySucceeded)
    fan.finish(1)
    #expect(fan.work.state == .pending)
    fan.finish(0, failing: true)
    fan.finish(2, failing: true)
    #expect(fan.work.kind == .succeeded)
  }

  @Test func `an operation that fails early lets its dependents continue`() {
    let fan = Fan(DependencyRule.noneCancelled)
    let next = Work("next")
    next.addDependency(fan.work)
    fan.world.run(next)
    fan.parts[0].cancel()
    fan.world.simulation.run()
    #expect(fan.work.kind == .failed)
    #expect(next.kind == .succeeded)
    fan.finish(1)
    fan.finish(2)
  }

  @Test func `a rule is checked early only if it decides the compound condition`() {
    let probe = ConditionProbe()
    let either = Fan(DependencyRule.allSucceeded || probe)
    either.finish(0, failing: true)
    #expect(either.work.state == .pending)
    #expect(probe.evaluationCount == 0)
    let both = Fan(DependencyRule.allSucceeded && probe)
    both.finish(0, failing: true)
    #expect(both.work.kind == .failed)
    let negated = Fan(!DependencyRule.anySucceeded)
    negated.finish(0)
    #expect(negated.work.kind == .failed)
    #expect(negated.work.outcome?.failure?.elements.map(\.isInherited) == [false])
    let silent = Fan(SilentCondition(DependencyRule.allSucceeded))
    silent.finish(0, failing: true)
    #expect(silent.work.kind == .failed)
    #expect(probe.evaluationCount == 0)
    probe.answer(.satisfied)
    for fan in [either, both, negated, silent] { fan.world.finishAll(fan.parts) }
    #expect(either.work.kind == .succeeded)
  }

  @Test func `a rule in compound conditions marks the failure it passes on as inherited`() {
    let never = Immediate("never", always: .failed(Flaw(1)))
    for (condition, isInherited): (any OperationCondition, Bool) in [
      (DependencyRule.allSucceeded && Immediate(), true),
      (Immediate() && DependencyRule.allSucceeded, true),
      (DependencyRule.allSucceeded || DependencyRule.noneFailed, true),
      (DependencyRule.allSucceeded || never, false),
    ] {
      let fan = Fan(count: 1, condition)
      fan.finish(0, failing: true)
      #expect(fan.work.outcome?.failure?.elements.map(\.isInherited) == [isInherited])
    }
  }

  @Test func `several broken rules each report an error`() {
    let fan = Fan(DependencyRule.allSucceeded, DependencyRule.noneFailed, Immediate("other"))
    fan.finish(0, failing: true)
    #expect(
      fan.work.origins
        == [.condition("all dependencies succeeded"), .condition("no dependency failed")]
    )
    fan.world.finishAll(fan.parts)
  }

  @Test func `a rule that stays undecided isn't satisfied`() {
    let fan = Fan(DependencyRule("undecided") { _ in .undecided })
    fan.world.finishAll(fan.parts)
    #expect(fan.work.kind == .failed)
    #expect(fan.broken?.isInherited == false)
    #expect(fan.broken?.dependencies == ["p0 succeeded", "p1 succeeded", "p2 succeeded"])
    #expect(
      fan.broken?.description
        == "The rule is undecided. Of the dependencies, p0 succeeded, p1 succeeded, p2 succeeded."
    )
  }

  @Test func `a rule for no dependencies is satisfied unless it needs one`() {
    let rules = [
      (DependencyRule.allSucceeded, Kind.succeeded), (.noneFailed, .succeeded),
      (.noneCancelled, .succeeded), (.anySucceeded, .failed), (.anyFailed, .failed),
      (.anyCancelled, .failed),
    ]
    for (rule, kind) in rules {
      let fan = Fan(count: 0, rule)
      #expect(fan.work.kind == kind)
      #expect(kind == .succeeded || fan.broken?.description == "There are no dependencies.")
    }
  }

  @Test func `a rule sees the outcome of each dependency including plain operations`() {
    let world = World()
    let seen = Log<[Kind?]>()
    let work = Work("work")
    let skipped = Work("skipped")
    skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
    let cancelled = BlockOperation {}
    cancelled.cancel()
    let plain = BlockOperation {}
    let open = Work.open("open")
    for dependency in [skipped, cancelled, plain, open] { work.addDependency(dependency) }
    work.addCondition(
      DependencyRule("looks") { outcomes in
        seen.add(outcomes.map { $0?.kind })
        return .undecided
      }
    )
    world.run(skipped, cancelled, plain, open, work)
    #expect(seen.entries.last == [.skipped, .cancelled, .succeeded, nil])
    open.finish(withError: Flaw(1))
    world.simulation.run()
    #expect(seen.entries.last == [.skipped, .cancelled, .succeeded, .failed])
    #expect(work.kind == .failed)
  }

  @Test func `a rule counts earlier finished dependencies and late ones`() {
    let world = World()
    let before = Work.failing("before")
    world.run(before)
    let open = Work.open("open")
    let work = Work("work")
    work.addDependency(before)
    work.addDependency(open)
    work.addCondition(DependencyRule.allSucceeded)
    world.run(open, work)
    #expect(work.kind == .failed)
    let other = Work("other")
    other.addDependency(open)
    other.addCondition(DependencyRule.allSucceeded)
    world.run(other)
    let late = Work.open("late")
    world.run(late)
    other.addDependency(late)
    late.finish(withError: Flaw(1))
    world.simulation.run()
    #expect(other.kind == .failed)
    #expect(open.isExecuting)
    open.finish()
    world.simulation.run()
  }

  @Test func `a rule isn't evaluated in a suspended queue`() {
    let asked = Counter()
    let world = World()
    let elsewhere = world.makeQueue(limit: -1)
    let parts = [Work.open("a"), Work.open("b")]
    elsewhere.addOperations(parts)
    let work = Work("work")
    for part in parts { work.addDependency(part) }
    work.addCondition(
      DependencyRule("rule") { outcomes in
        asked.add()
        return outcomes.contains { $0?.failure != nil } ? .broken : .undecided
      }
    )
    world.queue.isSuspended = true
    world.run(work)
    parts[0].finish(withError: Flaw(1))
    world.simulation.run()
    #expect(asked.count == 0)
    world.queue.isSuspended = false
    parts[1].finish()
    world.simulation.run()
    #expect(work.kind == .failed)
  }

  @Test func `a built-in rule costs nothing when a harmless dependency finishes`() {
    func steps(_ conditions: any OperationCondition..., failing: Bool) -> [Int] {
      let fan = Fan(count: 20, conditions)
      return fan.parts.dropLast().map { part in
        if failing { part.finish(withError: Flaw(0)) } else { part.finish() }
        var count = 0
        while fan.world.simulation.step() { count += 1 }
        return count
      }
    }
    for failing in [false, true] {
      let plain = steps(failing: failing)
      let unbroken: [DependencyRule] =
        failing
        ? [.anySucceeded, .anyFailed, .noneCancelled, .anyCancelled]
        : [.allSucceeded, .anySucceeded, .noneFailed, .anyFailed, .noneCancelled, .anyCancelled]
      for rule in unbroken { #expect(steps(rule, failing: failing) == plain, "\(rule.name)") }
      // One that only its closure knows is asked, once for each end.
      let asking = steps(DependencyRule("open") { _ in .undecided }, failing: failing)
      #expect(asking == plain.map { $0 + 1 })
    }
  }

  @Test func `a built-in rule broken in a suspended queue fails at the next end`() {
    let world = World()
    let parts = (0..<3).map { Work.open("p\($0)") }
    world.makeQueue(limit: -1).addOperations(parts)
    let work = Work("work")
    for part in parts { work.addDependency(part) }
    work.addCondition(DependencyRule.allSucceeded)
    world.queue.isSuspended = true
    world.run(work)
    parts[0].finish(withError: Flaw(0))
    world.simulation.run()
    #expect(work.state == .pending)
    world.queue.isSuspended = false
    parts[1].finish()
    world.simulation.run()
    #expect(work.kind == .failed)
    #expect(parts[2].isExecuting)
    parts[2].finish()
    world.simulation.run()
  }

  @Test(arguments: Effort.seeds(200))
  func `a rule survives cancels, ends and late dependencies in any order`(seed: UInt64) {
    var random = Random(seed)
    let world = World(seed: seed, limit: Int.random(in: 1...3, using: &random))
    let flags = (0..<5).map { _ in Int.random(in: 0..<3, using: &random) }
    let parts = flags.enumerated().map { number, flag in
      ResultOperation(name: "p\(number)") { if flag == 1 { throw Flaw(number) } }
    }
    let work = Work("work")
    for part in parts { work.addDependency(part) }
    work.addCondition(DependencyRule.noneFailed)
    let next = Work("next")
    next.addDependency(work)
    world.queue.addOperations([work, next] + parts)
    for (flag, part) in zip(flags, parts) where flag == 2 {
      world.simulation.advance(by: .zero)
      part.cancel()
    }
    if seed.isMultiple(of: 5) { work.cancel() }
    world.simulation.run()
    let fails = parts.contains { $0.kind == .failed }
    #expect(work.kind == (seed.isMultiple(of: 5) ? work.kind : (fails ? .failed : .succeeded)))
    #expect(work.isFinished && next.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  /// One dependency for each outcome, in a world that has come to rest.
  private static func ended(_ kinds: [Kind]) -> [Work] {
    let world = World()
    return kinds.map { kind in
      let work: Work
      switch kind {
      case .succeeded: work = Work("\(kind)")
      case .failed: work = .failing("\(kind)", 7)
      case .cancelled:
        work = Work("\(kind)")
        work.cancel(withError: Flaw(8))
      case .skipped:
        work = Work("\(kind)")
        work.addCondition(Immediate(always: .skipped(reason: "no need")))
      }
      world.run(work)
      return work
    }
  }

  private static let all: [Kind] = [.succeeded, .failed, .cancelled, .skipped]

  @Test(arguments: Self.all, Self.all)
  func `a built-in rule means what its name says and its error agrees`(
    first: Kind,
    second: Kind
  ) throws {
    let kinds = [first, second]
    let expectations: [(rule: DependencyRule, isKept: Bool, blamed: Set<Kind>)] = [
      (.allSucceeded, kinds == [.succeeded, .succeeded], [.failed, .cancelled]),
      (.anySucceeded, kinds.contains(.succeeded), [.failed, .cancelled]),
      (.noneFailed, !kinds.contains(.failed), [.failed]),
      (.anyFailed, kinds.contains(.failed), []),
      (.noneCancelled, !kinds.contains(.cancelled), [.cancelled]),
      (.anyCancelled, kinds.contains(.cancelled), []),
    ]
    for (rule, isKept, blamed) in expectations {
      let work = Work()
      for dependency in Self.ended(kinds) { work.addDependency(dependency) }
      let result = try #require(rule.immediateResult(for: work))
      #expect(result.isSatisfied == isKept, "\(rule.name)")
      guard let broken = result.errors.first as? DependencyRule.Broken else { continue }
      let verbs: [Kind: String] = [.cancelled: "was ", .skipped: "was "]
      #expect(broken.dependencies == kinds.map { "\($0) \(verbs[$0] ?? "")\($0)" })
      let reasons = kinds.filter { blamed.contains($0) }
      #expect(broken.failure.errors.map { $0 is OperationFailure } == reasons.map { _ in true })
      #expect(
        broken.failure.elements.map(\.origin) == reasons.map { .dependency("\($0)") },
        "\(rule.name)"
      )
      #expect(broken.isInherited == !reasons.isEmpty)
    }
  }

  @Test func `a rule keeps the reason why a plain dependency was cancelled`() {
    let plain = BlockOperation {}
    plain.name = "plain"
    let world = World()
    world.queue.isSuspended = true
    world.queue.addOperation(plain)
    world.queue.cancelAllOperations(withError: Flaw(3))
    world.queue.isSuspended = false
    world.simulation.run()
    let work = Work()
    work.addDependency(plain)
    let broken =
      DependencyRule.noneCancelled.immediateResult(for: work)?.errors.first
      as? DependencyRule.Broken
    #expect(broken?.failure.elements.map(\.origin) == [.dependency("plain")])
    #expect(flaws((broken?.failure.errors.first as? OperationFailure)?.errors ?? []) == [3])
  }

  @Test func `a rule is evaluated after a removed dependency that only its queue retains`() {
    let world = World()
    let work = Work("work")
    work.addCondition(DependencyRule("nothing is decided") { _ in .undecided })
    do {
      let part = BlockOperation {}
      work.addDependency(part)
      world.queue.addOperations([part, work])
      work.removeDependency(part)
    }
    world.simulation.run()
    #expect(world.queue.operationCount == 0)
    #expect(work.kind == .failed)
  }
}
