import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Whatever life an operation had, nothing of it is left afterwards.
@Suite(.watched) struct `Operations of any history are released` {
  /// Runs a scene in a world of its own, and expects that nothing that it made is alive afterwards.
  private static func expectNothingLeft(
    seed: UInt64 = 1,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ scene: (World, LiveCount) -> Void
  ) {
    let live = LiveCount()
    let world = World(seed: seed)
    scene(world, live)
    world.simulation.run()
    #expect(live.alive == 0, sourceLocation: sourceLocation)
    #expect(live.made > 0, sourceLocation: sourceLocation)
    #expect(world.queue.operationCount == 0, sourceLocation: sourceLocation)
  }

  private static func observed(_ work: AdvancedOperation, _ live: LiveCount) {
    let token = live.token()
    work.addObserver(
      BlockObserver(
        didStart: { _ in token.touch() },
        didFinish: { [unowned work] _, _ in
          token.touch()
          _ = work.state
        }
      )
    )
    work.addObserver(TimeoutObserver(.seconds(1_000), of: .all))
    work.addObserver(TimeoutObserver(.seconds(1_000)))
  }

  /// A condition that owns something, and its operation as clients tend to.
  private static func owning(
    _ live: LiveCount,
    _ result: OperationConditionResult = .satisfied
  ) -> Asked {
    let token = live.token()
    return Asked { operation in
      token.touch()
      _ = operation.state
      return result
    }
  }

  @Test func `a cancelled cycle is released`() {
    Self.expectNothingLeft { world, live in
      let cycle = (0..<4).map { _ in Work(token: live.token()) }
      for index in cycle.indices { cycle[index].addDependency(cycle[(index + 1) % 4]) }
      cycle[0].addDependency(cycle[2])
      world.queue.addOperations(cycle)
    }
  }

  @Test func `a cycle of a result operation and its successor is released`() {
    Self.expectNothingLeft { world, live in
      let token = live.token()
      let first = ResultOperation { token.touch() }
      let second = first.then { token.touch() }
      first.addDependency(second)
      world.queue.addOperations([first, second])
    }
  }

  @Test func `a cycle of a child that waits for its group is released`() {
    Self.expectNothingLeft { world, live in
      let (child, between) = (Work(token: live.token()), Work(token: live.token()))
      let group = GroupOperation { child }
      group.addDependency(between)
      between.addDependency(child)
      child.addDependency(group)
      world.queue.addOperations([group, between])
    }
  }

  @Test func `an operation that never ran is released`() {
    Self.expectNothingLeft { _, live in
      let work = Work(token: live.token())
      work.addCondition(Self.owning(live))
      Self.observed(work, live)
      let cancelled = Work(token: live.token())
      Self.observed(cancelled, live)
      cancelled.cancel()
    }
  }

  @Test func `an observer that retains its own observation is released`() {
    Self.expectNothingLeft { world, live in
      for isRun in [false, true] {
        let work = Work(token: live.token())
        let token = live.token()
        let own = Changing<OperationObservation?>(nil)
        own.value = work.onFinish { _, _ in
          token.touch()
          own.value?.remove()
        }
        if isRun { world.run(work) }
      }
    }
  }

  @Test(arguments: seeds)
  func `operations of every outcome are released`(seed: UInt64) {
    Self.expectNothingLeft(seed: seed) { world, live in
      for result in [
        OperationConditionResult.satisfied, .failed(Flaw(1)), .skipped(reason: "no need"),
      ] {
        for cancels in [false, true] {
          let work = Work(token: live.token())
          work.addCondition(Self.owning(live, result))
          work.addClaim(MutuallyExclusive("a"))
          Self.observed(work, live)
          world.queue.addOperation(work)
          if cancels { work.cancel() }
        }
      }
    }
  }

  @Test func `an operation that its observer and condition retain is released`() {
    Self.expectNothingLeft { world, live in
      let work = Work(token: live.token())
      work.onFinish { _, _ in _ = work.state }
      work.addCondition(
        Asked { _ in
          _ = work.state
          return .satisfied
        }
      )
      world.queue.addOperation(work)
    }
  }

  @Test func `an operation that its async body retains is released`() {
    Self.expectNothingLeft { world, live in
      let token = live.token()
      let box = Changing<AdvancedOperation?>(nil)
      let work = ResultOperation {
        token.touch()
        return box.value?.name
      }
      box.value = work
      world.queue.addOperation(work)
      work.onFinish { _, _ in box.value = nil }
    }
  }

  @Test(arguments: seeds)
  func `results and operations that need them are released`(seed: UInt64) {
    Self.expectNothingLeft(seed: seed) { world, live in
      let token = live.token()
      let first = ResultOperation { token }
      let second = first.then { token in
        token.touch()
        return token
      }
      let failing = ResultOperation { () async throws -> Token in
        token.touch()
        throw Flaw(1)
      }
      let third = ResultOperation(after: second, failing) { $0 === $1 }
      world.queue.addOperations([first, second, failing, third])
    }
  }

  @Test func `a chain of results that never ran is released`() {
    Self.expectNothingLeft { _, live in
      let token = live.token()
      var last = ResultOperation { token }
      for _ in 0..<100 { last = last.then { $0 } }
    }
  }

  @Test(arguments: seeds)
  func `retries are released even if they are cancelled between attempts`(seed: UInt64) {
    Self.expectNothingLeft(seed: seed) { world, live in
      let token = live.token()
      let works = (0..<2).map { _ in
        ResultOperation(retry: .constant(.seconds(10)).attempts(4)) {
          token.touch()
          throw Flaw(1)
        }
      }
      for work in works { Self.observed(work, live) }
      world.queue.addOperations(works)
      world.simulation.advance(by: .seconds(15))
      works[0].cancel()
    }
  }

  @Test(arguments: seeds)
  func `groups that ran, failed or were cancelled are released`(seed: UInt64) {
    Self.expectNothingLeft(seed: seed) { world, live in
      for number in 0..<4 {
        let group = GroupOperation(errorPolicy: number == 1 ? .failFast : .collectAll) {
          Work(token: live.token())
          Work(token: live.token()) { work in
            if number == 1 { work.finish(withError: Flaw(1)) } else { work.finish() }
          }
          GroupOperation { Work(token: live.token()) }
          BlockOperation {}
        }
        let token = live.token()
        group.mapChildErrors { [unowned group] _, error in
          token.touch()
          _ = group.state
          return error
        }
        group.onRollback { token.touch() }
        Self.observed(group, live)
        if number == 2 { group.cancel() }
        world.queue.addOperation(group)
        if number == 3 { group.cancel() }
      }
    }
  }

  @Test func `a group that never ran is released`() {
    Self.expectNothingLeft { _, live in
      let group = GroupOperation {
        Work(token: live.token())
        GroupOperation { Work(token: live.token()) }
        BlockOperation {}
      }
      Self.observed(group, live)
    }
  }

  @Test(arguments: seeds)
  func `prerequisites and operations that wait for claims are released`(seed: UInt64) {
    Self.expectNothingLeft(seed: seed) { world, live in
      for number in 0..<6 {
        let work = Work(token: live.token())
        let token = live.token()
        work.addCondition(
          Asked(prerequisite: { _ in
            token.touch()
            return Work(token: token)
          })
        )
        work.addClaim(MutuallyExclusive("a"))
        world.queue.addOperation(work)
        if number.isMultiple(of: 3) { work.cancel() }
      }
    }
  }

  @Test func `manually started operations are released`() {
    Self.expectNothingLeft { world, live in
      for cancels in [false, true] {
        let work = Work(token: live.token())
        work.environment = world.simulation.environment
        work.addCondition(Self.owning(live))
        work.addClaim(MutuallyExclusive("a"))
        Self.observed(work, live)
        work.start()
        if cancels { work.cancel() }
      }
    }
  }

  @Test func `cancelled waits for values are released`() async throws {
    let live = LiveCount()
    let queue = AdvancedOperationQueue()
    do {
      let gate = Latch()
      let token = live.token()
      let work = ResultOperation {
        await gate.opened()
        return token
      }
      queue.addOperation(work)
      let waits = (0..<50).map { _ in Task { try await work.value } }
      for wait in waits { wait.cancel() }
      for wait in waits { _ = await wait.result }
      gate.open()
      _ = try await work.value
    }
    try await queue.untilAllOperationsAreFinished()
    await live.none()
  }

  @Test func `a thousand operations on threads are released`() async throws {
    let live = LiveCount()
    let queue = AdvancedOperationQueue(
      environment: OperationEnvironment(claimDomain: ClaimDomain())
    )
    for number in 0..<1_000 {
      let work = Work(token: live.token())
      work.addCondition(Self.owning(live))
      if number.isMultiple(of: 3) { work.addClaim(MutuallyExclusive("a")) }
      Self.observed(work, live)
      queue.addOperation(work)
      if number.isMultiple(of: 5) { work.cancel() }
      if number.isMultiple(of: 7) {
        queue.addOperation(GroupOperation { Work(token: live.token()) })
      }
    }
    try await queue.untilAllOperationsAreFinished()
    await live.none()
    #expect(live.alive == 0)
  }
}
