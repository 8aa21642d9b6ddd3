import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// What code finds out from a failure without walking through its elements.
@Suite struct `Decisions about a failure in code` {
  private typealias Origin = OperationFailure.Origin
  private typealias Group = GroupOperation

  private static func failing(_ name: String, _ flaw: Int = 1) -> ResultOperation<Int> {
    ResultOperation(name: name) { throw Flaw(flaw) }
  }

  private static func failure(
    _ elements: (Origin, any Error)...
  ) -> OperationFailure {
    OperationFailure(elements: elements.map { .init(origin: $0.0, error: $0.1) })
  }

  /// An operation that a failed dependency keeps from executing, by each of the ways there are.
  private static func dependents(of dependency: ResultOperation<Int>) -> [AdvancedOperation] {
    let conditions: [any OperationCondition] = [
      NoFailedDependencies(), DependencyRule.noneFailed, DependencyRule.allSucceeded,
      DependencyRule.anySucceeded, DependencyRule("never") { _ in .broken },
      NoFailedDependencies() && BlockCondition { true },
      NoFailedDependencies() || DependencyRule.noneFailed,
      SilentCondition(NoFailedDependencies()),
    ]
    let guarded = conditions.map { condition in
      let work = Work("work")
      work.addDependency(dependency)
      work.addCondition(condition)
      return work
    }
    return guarded + [dependency.then(name: "then") { $0 }]
  }

  @Test func `an origin has the name of the operation where the error began`() {
    let none: [Origin] = [
      .body, .cancel, .timeout, .skipped(reason: "late"), .condition("a"), .attempt(2, .body),
      .condition("a", .condition("b")),
    ]
    #expect(none.allSatisfy { $0.operation == nil })
    let named: [Origin] = [
      .dependency("x"), .dependency("y", .attempt(1, .dependency("x"))), .child("x", .body),
      .operation("x", .condition("a")), .child("z", .operation("x", .attempt(3, .timeout))),
      .condition("a", .dependency("x")),
    ]
    #expect(named.allSatisfy { $0.operation == "x" })
  }

  @Test func `an origin consists of a path and a cause`() {
    let origins: [(Origin, [Origin.Step], Origin.Cause)] = [
      (.body, [], .body),
      (.cancel, [], .cancel),
      (.timeout, [], .timeout),
      (.skipped(reason: "late"), [], .skipped(reason: "late")),
      (.condition("x"), [.condition("x")], .condition),
      (.condition("x", .body), [.condition("x")], .body),
      (.dependency("x"), [.dependency("x")], .dependency),
      (.dependency("x", .body), [.dependency("x")], .body),
      (.dependency("x", .condition("y")), [.dependency("x"), .condition("y")], .condition),
      (.child("x", .attempt(2, .timeout)), [.child("x"), .attempt(2)], .timeout),
      (.operation("x", .cancel), [.operation("x")], .cancel),
    ]
    for (origin, path, cause) in origins {
      #expect(origin.path == path)
      #expect(origin.cause == cause)
      var copy = Origin.body
      copy.path = path
      copy.cause = cause
      #expect(copy == origin)
    }
    #expect(Set(origins.map(\.0)).count == origins.count)
    // Neither the beginning of a path nor its end is all of it.
    #expect(Origin.child("x", .body) != .child("x", .child("x", .body)))
    #expect(Origin.child("x", .body) != .child("y", .body))
  }

  @Test func `a failure of children or attempts isn't inherited`() {
    func isInherited(_ origin: Origin) -> Bool {
      let element = OperationFailure.Element(origin: origin, error: Flaw(1), isInherited: true)
      return OperationFailure(elements: [element]).isInherited
    }
    #expect(isInherited(.dependency("x")))
    #expect(!isInherited(.child("x", .dependency("y"))))
    #expect(!isInherited(.attempt(1, .child("x", .dependency("y")))))
  }

  // MARK: The first error of a type

  @Test func `the first error of a type is found through inherited failures`() {
    let world = World()
    let download = Self.failing("download", 7)
    let dependents = Self.dependents(of: download)
    let last = dependents.map { dependent in
      let group = Group(name: "group") { dependent }
      let after = Work("after")
      after.addDependency(group)
      after.addCondition(NoFailedDependencies())
      world.run(group, after)
      return after
    }
    world.run(download)
    for (dependent, last) in zip(dependents, last) {
      #expect(dependent.outcome?.failure?.first(Flaw.self) == Flaw(7))
      #expect(last.outcome?.failure?.first(Flaw.self) == Flaw(7))
      #expect(last.outcome?.failure?.first(CancellationError.self) == nil)
    }
  }

  @Test func `the first error belongs to the first element at any depth`() {
    let deep = Self.failure((.attempt(1, .body), Flaw(1)), (.attempt(2, .body), Flaw(2)))
    let failure = OperationFailure(elements: [
      .init(origin: .dependency("a"), error: deep, isInherited: true),
      .init(origin: .body, error: Flaw(3)),
    ])
    #expect(failure.first(Flaw.self) == Flaw(1))
    #expect(failure.first(OperationFailure.self)?.elements.count == 2)
  }

  @Test func `an error is checked before the errors that it contains`() {
    let world = World()
    let download = Self.failing("download", 7)
    let work = Work("work")
    work.addDependency(download)
    work.addCondition(NoFailedDependencies())
    world.run(download, work)
    let failure = work.outcome?.failure
    #expect(failure?.first(OperationConditionError.self)?.condition == "no dependency failed")
    let broken = failure?.first(DependencyRule.Broken.self)
    #expect(broken?.dependencies == ["download failed"])
    #expect(failure?.first((any CustomStringConvertible).self) is OperationConditionError)
    #expect(OperationFailure(elements: []).first((any Error).self) == nil)
  }

  // MARK: Root causes

  @Test func `root causes have complete paths`() {
    let world = World()
    let retry = RetryPolicy.constant(.seconds(1)).attempts(2)
    let download = ResultOperation(name: "download", retry: retry) { () async throws -> Int in
      throw Flaw(1)
    }
    let parse = download.then(name: "parse") { $0 }
    let inside = parse.then(name: "inside") { $0 }
    let group = Group(name: "group") { inside }
    let after = Work("after")
    after.addDependency(group)
    after.addCondition(NoFailedDependencies())
    world.run(download, parse, group, after)
    let path: (Int) -> Origin = { attempt in
      .condition(
        "no dependency failed",
        .dependency(
          "group",
          .child(
            "inside",
            .dependency("parse", .dependency("download", .attempt(attempt, .body)))
          )
        )
      )
    }
    let causes = after.outcome?.failure?.rootCauses ?? []
    #expect(causes.map(\.origin) == [path(1), path(2)])
    #expect(flaws(causes.map(\.error)) == [1, 1])
    #expect(
      "\(path(2))"
        == "condition “no dependency failed”, dependency “group”, child “inside”, "
        + "dependency “parse”, dependency “download”, attempt 2, body"
    )
  }

  @Test func `a failure that several dependencies inherited is one root cause`() {
    let world = World()
    let download = Self.failing("download")
    let (a, b) = (download.then(name: "a") { $0 }, download.then(name: "b") { $0 })
    let sum = ResultOperation(name: "sum", after: a, b) { $0 + $1 }
    world.run(download, a, b, sum)
    let causes = sum.outcome?.failure?.rootCauses ?? []
    #expect(causes.map(\.origin) == [.dependency("a", .dependency("download", .body))])
  }

  @Test func `the failed parts of a compound condition are separate root causes`() {
    let world = World()
    let work = Work("work")
    work.addCondition(
      Immediate("a", always: .failed(Flaw(1))) || Immediate("b", always: .failed(Flaw(2)))
    )
    world.run(work)
    let causes = work.outcome?.failure?.rootCauses ?? []
    #expect(
      causes.map(\.origin) == [
        .condition("a or b", .condition("a")), .condition("a or b", .condition("b")),
      ]
    )
    #expect(flaws(causes.map(\.error)) == [1, 2])
  }

  @Test func `a dependency that was cancelled without a reason is a root cause`() {
    let world = World()
    let download = Self.failing("download")
    download.cancel()
    let parse = download.then(name: "parse") { $0 }
    world.run(download, parse)
    let causes = parse.outcome?.failure?.rootCauses ?? []
    #expect(causes.map(\.origin) == [.dependency("download")])
    #expect(causes.map { "\($0.error)" } == ["cancelled without a reason"])
  }

  // MARK: Cancelled

  private static func word(_ failure: OperationFailure?) -> String {
    switch failure?.cancellation {
    case nil: "none"
    case .withoutReason: "withoutReason"
    case .reason(let error): "reason: \(error)"
    case .timeout(let timeout): "timeout: \(timeout)"
    case .parent(let reason): "parent: \(reason.map { "\($0)" } ?? "-")"
    }
  }

  @Test func `a failure says whether and what cancelled the operation`() {
    let world = World()
    let plain = world.taking(60, "plain")
    let reasoned = world.taking(60, "reasoned")
    let limited = world.taking(60, "limited")
    limited.addObserver(TimeoutObserver(.seconds(30)))
    let child = world.taking(60, "child")
    let parent = Group(name: "parent") { child }
    let answering = Work("answering", policy: .whenFinishIsCalled) { _ in }
    let failing = Work.failing("failing")
    let unprovoked = ResultOperation(name: "unprovoked") { throw CancellationError() }
    world.run(failing, unprovoked)
    world.queue.addOperations([plain, reasoned, limited, parent, answering])
    world.simulation.advance(by: .seconds(1))
    plain.cancel()
    reasoned.cancel(withError: Flaw(1))
    reasoned.cancel(withError: Flaw(2))
    parent.cancel(withError: Flaw(3))
    answering.cancel()
    answering.finish(withError: Flaw(4))
    world.simulation.run()
    let words: [(AdvancedOperation, String)] = [
      (plain, "withoutReason"), (reasoned, "reason: flaw 1"),
      (limited, "timeout: The time limit of 30 s was exceeded."), (parent, "reason: flaw 3"),
      (child, "parent: flaw 3"), (answering, "withoutReason"), (failing, "none"),
      (unprovoked, "none"),
    ]
    for (operation, word) in words {
      let failure = operation.outcome?.failure
      #expect(Self.word(failure) == word, "\(operation)")
      #expect(failure?.isCancellation == (word != "none"))
      #expect(failure?.isTimeout == (operation === limited))
    }
  }

  @Test func `an operation that failed only because of cancels reports that`() {
    let world = World()
    let download = ResultOperation(name: "download") { 1 }
    download.cancel(withError: Flaw(1))
    let dependents = Self.dependents(of: download)
    let strict = Work("strict")
    strict.addDependency(download)
    strict.addCondition(NoCancelledDependencies())
    let parse = download.then(name: "parse") { $0 }
    let group = Group(name: "group") { parse }
    let (failing, both) = (Self.failing("failing"), Work("both"))
    world.run(failing)
    for dependency in [download, failing] { both.addDependency(dependency) }
    both.addCondition(DependencyRule.allSucceeded)
    world.queue.addOperations(dependents)
    world.run(download, strict, group, both)
    for dependent in dependents + [strict, group] where dependent.kind == .failed {
      #expect(Self.word(dependent.outcome?.failure) == "reason: flaw 1")
    }
    #expect(dependents.contains { $0.kind == .failed })
    #expect(Self.word(both.outcome?.failure) == "none")
  }

  @Test func `a group with only a cancelled child failed because of a cancel`() {
    let world = World()
    let children = [Work("plain"), Work("reasoned"), Work("failing")]
    let groups = children.map { child in Group(name: "group") { child } }
    let mixed = Group(name: "mixed") {
      let cancelled = Work("cancelled")
      cancelled.cancel()
      return [cancelled, Work.failing("failing")]
    }
    children[0].cancel()
    children[1].cancel(withError: Flaw(1))
    world.queue.addOperations(groups)
    world.run(mixed)
    #expect(
      groups.prefix(2).map { Self.word($0.outcome?.failure) } == [
        "withoutReason", "reason: flaw 1",
      ]
    )
    #expect(Self.word(mixed.outcome?.failure) == "none")
  }

  // MARK: Timed out

  @Test func `a timeout is found wherever it was exceeded`() {
    let world = World()
    let slow = world.taking(60, "slow")
    slow.addObserver(TimeoutObserver(.seconds(30)))
    let after = Work("after")
    after.addDependency(slow)
    after.addCondition(NoCancelledDependencies())
    let group = Group(name: "group") { slow }
    let limited = world.taking(60, "limited")
    let outer = Group(name: "outer") { limited }
    outer.addObserver(TimeoutObserver(.seconds(30)))
    world.run(group, after, outer)
    for operation in [slow, after, group, outer, limited] as [AdvancedOperation] {
      #expect(operation.outcome?.failure?.isTimeout == true, "\(operation)")
      #expect(operation.outcome?.failure?.isCancellation == true, "\(operation)")
    }
  }

  @Test(arguments: [(slow: 1, isTimeout: false), (2, true)])
  func `the last of several attempts decides the kind of failure`(slow: Int, isTimeout: Bool) {
    let world = World()
    let clock = world.simulation.environment.clock
    let attempts = Counter()
    let policy = RetryPolicy.constant(.seconds(1)).attempts(2).attemptTimeout(.seconds(5))
    let work = ResultOperation(name: "work", retry: policy) {
      if attempts.add() == slow { try await clock.sleep(until: clock.now + .seconds(60)) }
      throw Flaw(1)
    }
    let made = Counter()
    let outer = RetryOperation(name: "outer", retry: policy) { _ in
      made.add() == slow ? world.taking(60, "slow") : Work.failing("failing")
    }
    world.run(work, outer)
    for operation in [work, outer] as [AdvancedOperation] {
      #expect(operation.outcome?.failure?.isTimeout == isTimeout)
      #expect(operation.outcome?.failure?.isCancellation == false)
    }
  }

  @Test func `a later cancel overrides an attempt's timeout`() {
    let world = World()
    let policy = RetryPolicy.constant(.seconds(60)).attempts(2).attemptTimeout(.seconds(5))
    let work = RetryOperation(name: "work", retry: policy) { _ in world.taking(30, "send") }
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(10))
    work.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(work.outcome?.failure?.isTimeout == false)
    #expect(Self.word(work.outcome?.failure) == "reason: flaw 1")
  }

  // MARK: Skipped

  @Test func `a missing value of a skipped operation has the skip's reason`() {
    let world = World()
    let download = ResultOperation<Int>(name: "download") {
      throw OperationSkipped(reason: "not modified")
    }
    let parse = download.then(name: "parse") { $0 }
    world.run(download, parse)
    for result in [download.result, parse.result] {
      guard case .failure(let failure) = result else {
        Issue.record("\(String(describing: result))")
        return
      }
      #expect(failure.skipReason == "not modified")
      #expect(!failure.isCancellation && !failure.isTimeout)
      #expect(failure.first(OperationSkipped.self)?.reason == "not modified")
    }
    #expect(Self.failure((.body, Flaw(1))).skipReason == nil)
  }

  // MARK: For logs

  @Test func `a failure in an array of errors is one line`() {
    let world = World()
    let download = Self.failing("download", 7)
    let work = Work("work")
    work.addDependency(download)
    work.addCondition(NoFailedDependencies())
    let parse = download.then(name: "parse") { $0 }
    let either = Work("either")
    either.addCondition(
      Immediate("a", always: .failed(Flaw(1))) || Immediate("b", always: .failed(Flaw(2)))
    )
    world.run(download, work, parse, either)
    #expect("\(parse.errors)" == "[flaw 7]")
    #expect(parse.outcome?.failure?.summary() == "dependency “download”: flaw 7")
    #expect(
      work.outcome?.failure?.summary()
        == "condition “no dependency failed”: dependency “download”: flaw 7"
    )
    #expect(
      work.outcome?.failure?.description == """
        condition “no dependency failed”: Dependency download failed.
          dependency “download”
            flaw 7
        """
    )
    #expect(!"\(either.errors)".contains("\n"))
    for operation in [work, parse, either] {
      let failure = operation.outcome?.failure
      #expect(failure?.debugDescription == failure?.summary())
    }
  }
}
