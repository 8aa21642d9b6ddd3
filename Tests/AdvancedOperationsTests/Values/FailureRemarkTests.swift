import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// What descriptions say beside the errors, and what no property of a failure counts as an error.
@Suite struct `The text of a failure` {
  private static func failing(
    _ policy: RetryPolicy,
    _ flaw: Int = 1
  ) -> ResultOperation<Int> {
    ResultOperation(name: "work", retry: policy) { throw Flaw(flaw) }
  }

  // MARK: Time limits of retries

  @Test(arguments: seeds)
  func `a failure says that there was no time for another attempt`(seed: UInt64) throws {
    let world = World(seed: seed)
    let work = Self.failing(.constant(.seconds(10)).attempts(9).totalTimeout(.seconds(30)))
    world.run(work)
    let failure = try #require(work.outcome?.failure)
    #expect(
      failure.description == """
        attempt 1: flaw 1
        attempt 2: flaw 1
        attempt 3: flaw 1
        gave up after 3 attempts: total limit of 30 s
        """
    )
    #expect(
      failure.summary() == "attempt 1: flaw 1; attempt 2: flaw 1; attempt 3: flaw 1; "
        + "gave up after 3 attempts: total limit of 30 s"
    )
    #expect(work.flawNumbers == [1, 1, 1], "that is no error")
    #expect(!failure.isTimeout, "no attempt took too long")
    #expect(flaws(failure.rootCauses.map(\.error)) == [1, 1, 1])
  }

  @Test func `a failure doesn't blame the time limit if attempts were used up`() {
    let world = World()
    let work = Self.failing(.constant(.seconds(10)).attempts(3).totalTimeout(.seconds(21)))
    world.run(work)
    #expect(work.outcome?.failure?.description.contains("gave up") == false)
    #expect(world.simulation.now == .seconds(20))
  }

  @Test func `a failure lists the first and last of many attempts and counts others`() throws {
    let world = World()
    let work = ResultOperation<Int>(
      name: "work",
      retry: .constant(.seconds(1)).attempts(100).totalTimeout(.seconds(50))
    ) { throw Flaw(AdvancedOperation.current?.attempt ?? 0) }
    let group = GroupOperation(name: "group") { [work, work.then(name: "next") { $0 }] }
    world.run(group)
    let failure = try #require(group.outcome?.failure)
    let kept = Array(1...8) + Array(43...50)
    #expect(work.flawNumbers == kept)
    #expect(work.origins == kept.map { .attempt($0, .body) })
    var lines = ["child “work”"] + kept.map { "  attempt \($0): flaw \($0)" }
    lines.insert("  … 34 more attempts …", at: 9)
    lines += ["  gave up after 50 attempts: total limit of 50 s", "1 other did not run"]
    #expect(failure.description == lines.joined(separator: "\n"))
    #expect(
      failure.summary(limit: 1) == "child “work”: attempt 1: flaw 1; 15 more errors; "
        + "… 34 more attempts …; gave up after 50 attempts: total limit of 50 s; "
        + "1 other did not run"
    )
  }

  @Test(arguments: [16, 17, 18])
  func `a failure says nothing about attempts that aren't omitted`(attempts: Int) {
    let world = World()
    let work = Self.failing(.immediate.attempts(attempts))
    world.run(work)
    #expect(work.errors.count == 16)
    let text = work.outcome?.failure?.description ?? ""
    let line: String? =
      switch attempts {
      case 17: "… 1 more attempt …"
      case 18: "… 2 more attempts …"
      default: nil
      }
    #expect(text.split(separator: "\n").count == (line == nil ? 16 : 17))
    if let line { #expect(text.contains(line)) }
  }

  @Test func `a failure reports a single attempt before the total limit`() {
    let world = World()
    let work = Self.failing(.constant(.seconds(10)).attempts(9).totalTimeout(.seconds(10)))
    let next = work.then(name: "next") { $0 }
    world.run(work, next)
    #expect(
      next.outcome?.failure?.description == """
        dependency “work”
          attempt 1: flaw 1
          gave up after 1 attempt: total limit of 10 s
        """
    )
    #expect(
      next.outcome?.failure?.summary()
        == "dependency “work”: attempt 1: flaw 1; gave up after 1 attempt: total limit of 10 s"
    )
  }

  @Test func `a failure reports the attempt that the total limit cut short`() {
    let world = World()
    let clock = world.simulation.environment.clock
    let policy = RetryPolicy.immediate.attempts(9).totalTimeout(.seconds(25))
    let work = ResultOperation(retry: policy) { try await clock.sleep(for: .seconds(60)) }
    world.run(work)
    #expect(
      work.outcome?.failure?.description == """
        attempt 1
          timed out: The time limit of 25 s was exceeded.
        gave up after 1 attempt: total limit of 25 s
        """
    )
    #expect(work.outcome?.failure?.isTimeout == true)
  }

  @Test func `a failure reports the total limit while the operation waited for a slot`() {
    let world = World(limit: 1)
    let policy = RetryPolicy.constant(.seconds(10)).attempts(5).releasingSlot()
      .totalTimeout(.seconds(15))
    let work = world.flaky(failures: 1, policy)
    world.queue.addOperations([work, world.body("other", seconds: 60)])
    world.simulation.run()
    #expect(
      work.outcome?.failure?.description == """
        attempt 1: flaw 1
        timed out: The time limit of 15 s was exceeded.
        gave up after 1 attempt: total limit of 15 s
        """
    )
  }

  @Test func `a failure reports retries below their child and attempt`() {
    let world = World()
    let outer = RetryPolicy.constant(.seconds(50)).attempts(9).totalTimeout(.seconds(95))
    let work = RetryOperation(name: "outer", retry: outer) { attempt -> AdvancedOperation in
      let child = Self.failing(.constant(.seconds(20)).totalTimeout(.seconds(30)), attempt)
      return GroupOperation(name: "group") { child }
    }
    world.run(work)
    #expect(
      work.outcome?.failure?.description == """
        attempt 1
          child “work”
            attempt 1: flaw 1
            attempt 2: flaw 1
            gave up after 2 attempts: total limit of 30 s
        attempt 2
          child “work”
            attempt 1: flaw 2
            attempt 2: flaw 2
            gave up after 2 attempts: total limit of 30 s
        gave up after 2 attempts: total limit of 1 min 35 s
        """
    )
  }

  // MARK: Rollbacks

  @Test(arguments: seeds)
  func `a failure marks the errors of rollbacks`(seed: UInt64) throws {
    let world = World(seed: seed)
    let group = GroupOperation(name: "order")
    let reserve = Work("reserve") { [weak group] work in
      group?.onRollback { throw Flaw(7) }
      work.finish()
    }
    let pay = Work.failing("pay", 2)
    pay.addDependency(reserve)
    group.addOperation(reserve)
    group.addOperation(pay)
    let outer = GroupOperation(name: "outer") { group }
    world.run(outer)
    let failure = try #require(outer.outcome?.failure)
    #expect(
      failure.description == """
        child “order”
          child “pay”
            flaw 2
          rollback: flaw 7
        """
    )
    #expect(
      failure.summary() == "child “order”: child “pay”: flaw 2; child “order”: rollback: flaw 7"
    )
    #expect(group.origins == [.child("pay", .body), .body])
    #expect(group.outcome?.failure?.description.hasSuffix("\nrollback: flaw 7") == true)
  }

  @Test func `a failure marks rollback errors in attempts too`() {
    let world = World()
    let work = RetryOperation(name: "order", retry: .immediate.attempts(2)) { attempt in
      let group = GroupOperation(name: "group")
      group.addOperation(
        Work("reserve") { [weak group] work in
          group?.onRollback { throw Flaw(attempt) }
          work.finish(withError: Flaw(9))
        }
      )
      return group
    }
    world.run(work)
    #expect(
      work.outcome?.failure?.description == """
        attempt 1
          child “reserve”
            flaw 9
          rollback: flaw 1
        attempt 2
          child “reserve”
            flaw 9
          rollback: flaw 2
        """
    )
  }

  // MARK: Prerequisites

  @Test(arguments: [AdvancedOperation.ConditionPolicy.evaluateAll, .stopAtFirstFailure])
  func `a failure reports the outcome of an unsatisfied condition's prerequisite`(
    policy: AdvancedOperation.ConditionPolicy
  ) throws {
    let world = World()
    let work = Work("work")
    work.conditionPolicy = policy
    work.addCondition(Asked("fine") { _ in Work.failing("unneeded", 3) })
    work.addCondition(
      Asked("signed in", prerequisite: { _ in Work.failing("sign in", 4) }) { _ in .failed(Flaw(5))
      }
    )
    world.run(work)
    let failure = try #require(work.outcome?.failure)
    #expect(
      failure.description == """
        condition “signed in”: flaw 5
          its prerequisite “sign in”
            flaw 4
        """
    )
    #expect(
      failure.summary() == "condition “signed in”: flaw 5 (its prerequisite “sign in”: flaw 4)"
    )
    #expect(work.flawNumbers == [5], "the prerequisite's error is its own")
    #expect(flaws(failure.rootCauses.map(\.error)) == [5])
  }

  @Test func `a failure reports a cancelled prerequisite and no skipped one`() {
    for (kind, text) in [
      (Kind.cancelled, "\n  its prerequisite “help”\n    cancelled without a reason"),
      (.skipped, ""),
      (.succeeded, ""),
    ] {
      let world = World()
      let prerequisite = Work("help")
      if kind == .cancelled { prerequisite.cancel() }
      if kind == .skipped {
        prerequisite.addCondition(Immediate(always: .skipped(reason: "no need")))
      }
      let work = Work()
      work.addCondition(Asked("c", prerequisite: { _ in prerequisite }) { _ in .failed(Flaw(5)) })
      world.run(work)
      #expect(work.outcome?.failure?.description == "condition “c”: flaw 5" + text)
    }
  }
}
