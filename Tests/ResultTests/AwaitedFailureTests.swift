import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// A body awaits another operation and passes its failure on.
@Suite(.watched) struct `The failure of an operation that a body awaited` {
  private typealias Origin = OperationFailure.Origin

  /// Runs an operation whose body awaits another one, and returns it.
  private static func outer(
    of inner: ResultOperation<Int>,
    in world: World
  ) -> ResultOperation<Int> {
    let queue = world.queue
    let outer = ResultOperation(name: "outer") { try await queue.run(inner) }
    world.run(outer)
    return outer
  }

  @Test func `an awaited failure has its operation's name in texts and origins`() throws {
    let inner = ResultOperation(name: "inner", retry: .immediate.attempts(2)) {
      () async throws -> Int in throw Flaw(1)
    }
    let outer = Self.outer(of: inner, in: World())
    let failure = try #require(outer.outcome?.failure)
    #expect(
      text(outer) == """
        outer has finished: failed
          operation “inner”
            attempt 1: flaw 1
            attempt 2: flaw 1
        """
    )
    #expect(failure.summary() == "operation “inner”: attempt 1: flaw 1; attempt 2: flaw 1")
    #expect(failure.elements.map(\.origin) == [.body])
    #expect(!failure.isInherited)
    #expect(
      failure.rootCauses.map(\.origin)
        == (1...2).map { .operation("inner", .attempt($0, .body)) }
    )
    #expect(failure.first(Flaw.self) == Flaw(1))
  }

  @Test
  func `an awaited failure isn't a condition, skip or cancel of the awaiting operation`() throws {
    let world = World()
    let refused = ResultOperation(name: "refused") { 1 }
    refused.addCondition(BlockCondition("no") { false })
    let skipped = ResultOperation(name: "skipped") { () async throws -> Int in
      throw OperationSkipped(reason: "no need")
    }
    let cancelled = ResultOperation(name: "cancelled") { 1 }
    cancelled.cancel()
    let ends = [refused, skipped, cancelled].map { Self.outer(of: $0, in: world) }
    #expect(
      ends.map { "\($0.outcome?.failure?.description ?? "")" } == [
        "operation “refused”\n  condition “no”: The closure returned false.",
        "operation “skipped”\n  skipped: no need",
        "operation “cancelled”\n  cancelled without a reason",
      ]
    )
    #expect(ends.allSatisfy { $0.kind == .failed && $0.hasStarted })
    #expect(ends.map { $0.outcome?.failure?.skipReason } == [nil, nil, nil])
    #expect(ends.map { $0.outcome?.failure?.isCancellation } == [false, false, true])
    let causes = ends.flatMap { $0.outcome?.failure?.rootCauses ?? [] }
    #expect(
      causes.map(\.origin) == [
        .operation("refused", .condition("no")),
        .operation("skipped", .skipped(reason: "no need")),
        .operation("cancelled", .body),
      ]
    )
  }

  @Test
  func `an awaited failure is known behind conditions, dependencies and other operations`() throws {
    let world = World()
    let queue = world.queue
    let root = ResultOperation(name: "root") { () async throws -> Int in throw Flaw(1) }
    let middle = ResultOperation(name: "middle") { try await queue.run(root) }
    let next = middle.then(name: "next") { $0 }
    let guarded = Work("guarded")
    guarded.addCondition(BlockCondition("ok") { try await root.value > 0 })
    world.run(next, middle, guarded)
    #expect(
      next.outcome?.failure?.rootCauses.map(\.origin)
        == [.dependency("middle", .operation("root", .body))]
    )
    #expect(
      next.outcome?.failure?.description
        == "dependency “middle”\n  operation “root”\n    flaw 1"
    )
    #expect(
      guarded.outcome?.failure?.rootCauses.map(\.origin)
        == [.condition("ok", .operation("root", .body))]
    )
    #expect(
      guarded.outcome?.failure?.description == "condition “ok”\n  operation “root”\n    flaw 1"
    )
  }

  @Test func `an awaited failure names a dependency once after a recovery passed it on`() {
    let world = World()
    let download = ResultOperation(name: "download") { () async throws -> Int in throw Flaw(1) }
    let cached = download.recover(name: "cached") { throw $0 }
    world.run(download, cached)
    #expect(cached.outcome?.failure?.description == "dependency “download”\n  flaw 1")
    #expect(cached.outcome?.failure?.rootCauses.map(\.origin) == [.dependency("download", .body)])
  }

  @Test func `an awaited failure keeps its name when its elements are changed`() throws {
    let world = World()
    let inner = ResultOperation(name: "inner") { () async throws -> Int in throw Flaw(1) }
    world.run(inner)
    var failure = try #require(throws: OperationFailure.self) { try inner.result?.get() }
    failure.elements.append(.init(origin: .body, error: Flaw(2)))
    let changed = failure
    let outer = ResultOperation(name: "outer") { throw changed }
    world.run(outer)
    #expect(outer.outcome?.failure?.description == "operation “inner”\n  flaw 1\n  flaw 2")
  }

  @Test func `an awaited failure is printed once however often it was passed on`() throws {
    let world = World()
    let queue = world.queue
    let root = ResultOperation(name: "root", retry: .immediate.attempts(2)) {
      () async throws -> Int in throw Flaw(1)
    }
    let (a, b) = (root.then(name: "a") { $0 }, root.then(name: "b") { $0 })
    let both = ResultOperation(name: "both", after: a, b) { $0 + $1 }
    let outer = ResultOperation(name: "outer") { try await queue.run(both) }
    // Both inputs have failed before it looks at them.
    world.run(root, a, b)
    world.run(outer)
    #expect(
      outer.outcome?.failure?.description == """
        operation “both”
          dependency “a”
            dependency “root”
              attempt 1: flaw 1
              attempt 2: flaw 1
          dependency “b”
            dependency “root”: as above
        """
    )
    #expect(
      outer.outcome?.failure?.summary()
        == "operation “both”: dependency “a”: dependency “root”: attempt 1: flaw 1; "
        + "attempt 2: flaw 1; dependency “b”: dependency “root”: as above"
    )
  }

  @Test func `an awaited failure that is 100,000 levels deep is released without recursion`() {
    var failure = OperationFailure(elements: [.init(origin: .body, error: Flaw(1))])
    for _ in 1...100_000 {
      failure = OperationFailure(elements: [.init(origin: .body, error: failure)])
    }
    let deep = failure
    let world = World()
    let inner = ResultOperation(name: "inner") { () async throws -> Int in throw deep }
    let outer = Self.outer(of: inner, in: world)
    #expect(outer.outcome?.failure?.first(Flaw.self) == Flaw(1))
  }
}
