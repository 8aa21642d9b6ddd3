import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Recovering from a failure` {
  private static func failing(_ name: String = "failing", _ flaw: Int = 1) -> ResultOperation<Int> {
    ResultOperation(name: name) { throw Flaw(flaw) }
  }

  @Test func `a recovery returns the operation's value if it succeeds`() throws {
    let world = World()
    let called = Counter()
    let work = ResultOperation { 1 }
    let recovery = work.recover { _ in called.add() }
    world.run(work, recovery)
    #expect(try recovery.result?.get() == 1)
    #expect(called.count == 0)
  }

  @Test func `a recovery returns the value of its closure that receives the failure`() throws {
    let world = World()
    let seen = Log<[Int]>()
    let work = Self.failing()
    let recovery = work.recover(name: "recovery") { failure in
      seen.add(flaws(failure.elements.map(\.error)))
      return 2
    }
    let next = recovery.then { $0 + 1 }
    world.run(work, recovery, next)
    #expect(seen.entries == [[1]])
    #expect(try next.result?.get() == 3)
    #expect(recovery.errors.isEmpty)
  }

  @Test func `a recovery returns the value of the operation that its closure creates`() throws {
    let world = World(limit: 1)
    let work = Self.failing()
    let fallback = ResultOperation(name: "fallback") { 2 }
    fallback.addClaim(MutuallyExclusive("mirror"))
    let recovery = work.recover { _ in fallback }
    world.run(work, recovery)
    #expect(try recovery.result?.get() == 2)
    #expect(fallback.kind == .succeeded)
  }

  @Test func `a recovery runs after a timeout too`() throws {
    let world = World()
    let clock = world.simulation.environment.clock
    let work = ResultOperation(name: "slow") {
      try await clock.sleep(until: .seconds(3600))
      return 1
    }
    work.addObserver(TimeoutObserver(.seconds(10)))
    let recovery = work.recover { failure in
      failure.elements.contains { $0.error is OperationTimeout } ? 2 : 3
    }
    world.run(work, recovery)
    #expect(try recovery.result?.get() == 2)
  }

  @Test func `a recovery is skipped with its operation`() {
    let world = World()
    let work = ResultOperation { 1 }
    work.addCondition(Immediate(always: .skipped(reason: "no need")))
    let recovery = work.recover { _ in 2 }
    world.run(work, recovery)
    #expect(recovery.kind == .skipped)
  }

  @Test func `a failed recovery keeps both failures`() {
    let world = World()
    let work = Self.failing("work", 1)
    let throwing = work.recover { _ in throw Flaw(2) }
    let passingOn = work.recover { failure in throw failure }
    let making = work.recover { _ in Self.failing("fallback", 3) }
    world.run(work, throwing, passingOn, making)
    #expect(throwing.origins == [.dependency("work"), .body])
    #expect(throwing.errors.last as? Flaw == Flaw(2))
    #expect(passingOn.origins == [.dependency("work")])
    #expect(making.origins == [.dependency("work"), .child("fallback", .body)])
    #expect(making.errors.last as? Flaw == Flaw(3))
  }

  enum Place: CaseIterable, Sendable { case collecting, failingFast }

  @Test(arguments: Place.allCases)
  func `a group doesn't count a failure that was recovered from`(place: Place) throws {
    let world = World()
    let work = Self.failing()
    let recovery = work.recover { _ in 2 }
    let next = recovery.then { $0 + 1 }
    let slow = DelayOperation(.seconds(1))
    let policy: GroupOperation.ErrorPolicy = place == .collecting ? .collectAll : .failFast
    let group = GroupOperation(errorPolicy: policy) { [work, recovery, next, slow] }
    world.run(group)
    #expect(group.kind == .succeeded)
    #expect(group.errors.isEmpty)
    #expect(try next.result?.get() == 3)
    #expect(slow.kind == .succeeded)
  }

  @Test(arguments: Place.allCases)
  func `a group counts both failures of a recovery that failed`(place: Place) {
    let world = World()
    let work = Self.failing("work", 1)
    let recovery = work.recover(name: "recovery") { _ in throw Flaw(2) }
    let slow = DelayOperation(.seconds(1))
    let policy: GroupOperation.ErrorPolicy = place == .collecting ? .collectAll : .failFast
    let group = GroupOperation(errorPolicy: policy) { [work, recovery, slow] }
    world.run(group)
    #expect(group.flawNumbers == [1, 2])
    #expect(slow.kind == (place == .collecting ? .succeeded : .cancelled))
  }

  @Test func `a group without the recovery operation fails fast`() {
    let world = World()
    let work = Self.failing()
    let recovery = work.recover { _ in 2 }
    let slow = DelayOperation(.seconds(1))
    let group = GroupOperation(errorPolicy: .failFast) { [work, slow] }
    world.run(group)
    #expect(group.flawNumbers == [1])
    #expect(slow.kind == .cancelled)
    withExtendedLifetime(recovery) {}
  }

  @Test func `a group counts the failure if its recovery is cancelled`() {
    let world = World()
    let work = Self.failing()
    let recovery = work.recover { _ in 2 }
    recovery.cancel(withError: Flaw(5))
    let group = GroupOperation { [work, recovery] }
    world.run(group)
    #expect(group.flawNumbers.sorted() == [1, 5])
  }

  @Test func `a scope doesn't count a failure that was recovered from`() async throws {
    let value = try await withOperations { scope in
      let work = scope.add(Self.failing())
      return try await scope.add(work.recover { _ in 2 }).value
    }
    #expect(value == 2)
  }

  @Test func `a recovery returns a value or is cancelled at any time`() throws {
    try exploreSchedules(depthFirst: Effort.schedules(500), randomSchedules: Effort.drawn(200)) {
      simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let work = Self.failing()
      let recovery = work.recover { _ in ResultOperation { 2 } }
      let group = GroupOperation(errorPolicy: .failFast) { [work, recovery] }
      queue.addOperation(group)
      simulation.addStep("cancel") { recovery.cancel() }
      simulation.run()
      try #require(queue.operationCount == 0)
      switch recovery.kind {
      case .succeeded: try #require(group.kind == .succeeded)
      case .cancelled: try #require(group.kind == .failed)
      case .failed, .skipped, nil: throw Flaw(9)
      }
    }
  }

  /// Not only the failure that was to be recovered from is an `OperationFailure`.
  @Test func `a recovery keeps its failure next to an awaited operation's failure`() {
    let world = World()
    let queue = world.queue
    let download = ResultOperation(name: "download") { () -> Int in throw Flaw(1) }
    let feed = download.recover(name: "feed") { _ in
      try await queue.run(ResultOperation(name: "mirror") { () -> Int in throw Flaw(2) })
    }
    world.run(download, feed)
    let failure = feed.outcome?.failure
    #expect(failure?.rootCauses.compactMap { $0.error as? Flaw } == [Flaw(1), Flaw(2)])
    #expect(
      failure?.rootCauses.map(\.origin.description)
        == ["dependency “download”, body", "operation “mirror”, body"]
    )
    #expect(failure?.isInherited == false)
  }
}
