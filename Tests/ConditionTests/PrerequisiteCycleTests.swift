import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// Prerequisites of conditions that could never end, because they wait for the operation.
@Suite(.watched) struct `A prerequisite that waits for its operation` {
  private func cycle(of operation: Operation) -> [String]? {
    (operation.cancellationReason as? OperationCycleError)?.path.map(\.name)
  }

  @Test(arguments: seeds)
  func `an operation that is its own prerequisite is cancelled with a cycle error`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work("work")
    work.addCondition(Asked { $0 })
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(cycle(of: work) == ["work", "work"])
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a prerequisite that depends on its operation completes a cycle`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work("work")
    let prerequisite = Work("prerequisite")
    work.addCondition(
      Asked { operation in
        prerequisite.addDependency(operation)
        return prerequisite
      }
    )
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(prerequisite.kind == .cancelled)
    #expect(cycle(of: work).map(Set.init) == ["work", "prerequisite"])
    #expect(cycle(of: work)?.count == 3)
  }

  @Test(arguments: seeds)
  func `a prerequisite in an alternative completes a cycle if it depends on its operation`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let work = Work("work")
    let prerequisite = Work("prerequisite")
    let alternative =
      Asked("a") { _ in Work("other") }
      || Asked("b") { operation in
        prerequisite.addDependency(operation)
        return prerequisite
      }
    work.addCondition(alternative)
    world.run(work)
    #expect(work.isFinished)
    #expect(prerequisite.isFinished)
    #expect((cycle(of: work) ?? cycle(of: prerequisite))?.contains("prerequisite") == true)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `an operation that is its own alternative prerequisite completes a cycle`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work("work")
    work.addCondition(Asked("a") { _ in Work("other") } || Asked("b") { $0 })
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(cycle(of: work) == ["work", "work"])
    #expect(world.queue.operationCount == 0)
  }

  private struct Plain: OperationCondition {
    let prerequisite: BlockOperation
    func dependency(for operation: AdvancedOperation) -> BlockOperation? { prerequisite }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      .satisfied
    }
  }

  @Test(arguments: seeds, [false, true])
  func `a plain prerequisite that depends on its operation completes a cycle`(
    seed: UInt64,
    isLater: Bool
  ) {
    let world = World(seed: seed)
    let gate = Work.open("gate")
    let work = Work("work")
    let prerequisite = BlockOperation {}
    prerequisite.name = "prerequisite"
    prerequisite.addDependency(gate)
    work.addCondition(Plain(prerequisite: prerequisite))
    if !isLater { prerequisite.addDependency(work) }
    world.run(gate, work)
    if isLater {
      #expect(work.state == .evaluatingConditions)
      prerequisite.addDependency(work)
    }
    gate.finish()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(prerequisite.isCancelled && prerequisite.isFinished)
    #expect(cycle(of: work).map(Set.init) == ["work", "prerequisite"])
  }

  @Test(arguments: seeds)
  func `a prerequisite that depends on its operation through a third completes a cycle`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let work = Work("work")
    let third = BlockOperation {}
    third.name = "third"
    let prerequisite = Work("prerequisite")
    third.addDependency(work)
    prerequisite.addDependency(third)
    work.addCondition(Asked { _ in prerequisite })
    world.run(work, third)
    for operation in [work, third, prerequisite] {
      #expect(cycle(of: operation).map(Set.init) == ["work", "third", "prerequisite"])
      #expect(operation.isFinished)
    }
  }

  @Test(arguments: seeds)
  func `a prerequisite completes a cycle when it gets the dependency during evaluation`(
    seed: UInt64
  ) {
    let world = World(seed: seed)
    let gate = Work.open("gate")
    let work = Work("work")
    let prerequisite = Work("prerequisite")
    prerequisite.addDependency(gate)
    work.addCondition(Asked { _ in prerequisite })
    world.run(gate, work)
    #expect(work.state == .evaluatingConditions)
    prerequisite.addDependency(work)
    gate.finish()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(prerequisite.kind == .cancelled)
    #expect(cycle(of: work).map(Set.init) == ["work", "prerequisite"])
  }

  @Test func `a prerequisite that depends on a manually started operation completes a cycle`() {
    let world = World()
    let work = Work("work")
    let prerequisite = Work("prerequisite")
    work.environment = world.simulation.environment
    work.addCondition(
      Asked { operation in
        prerequisite.addDependency(operation)
        return prerequisite
      }
    )
    work.start()
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(prerequisite.kind == .cancelled)
    #expect(cycle(of: work).map(Set.init) == ["work", "prerequisite"])
  }

  @Test func `a body that awaits a manually started operation can complete a slot cycle`() {
    let world = World(limit: 1)
    let work = Work("work")
    let prerequisite = Work("prerequisite")
    work.environment = world.simulation.environment
    work.addCondition(Asked { _ in prerequisite })
    let caught = Locked<[String]>([])
    let mayWait = Work.open("gate")
    let holder = ResultOperation(name: "holder") {
      try await mayWait.untilFinished()
      do {
        try await work.untilFinished()
      } catch let error as OperationCycleError {
        caught.withLock { $0 = error.path.map(\.name) }
      }
    }
    world.queue.addOperations([holder, prerequisite])
    world.makeQueue().addOperation(mayWait)
    work.start()
    world.simulation.run()
    #expect(work.state == .evaluatingConditions)
    mayWait.finish()
    world.simulation.run()
    #expect(caught.withLock { $0 } == ["holder", "work", "prerequisite", "holder"])
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `two operations that are each other's prerequisites complete a cycle`(seed: UInt64) {
    let world = World(seed: seed)
    let (first, second) = (Work("first"), Work("second"))
    first.addCondition(Asked { _ in second })
    second.addCondition(Asked { _ in first })
    world.run(first, second)
    for operation in [first, second] {
      #expect(operation.kind == .cancelled)
      #expect(cycle(of: operation).map(Set.init) == ["first", "second"])
    }
  }

  @Test
  func `two operations that are each other's prerequisites finish under every schedule`() throws {
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let (first, second) = (Work("first"), Work("second"))
      first.addCondition(Asked { _ in second })
      second.addCondition(Asked { _ in first })
      queue.addOperations([first, second])
      simulation.run()
      try #require(first.isFinished && second.isFinished)
      try #require(queue.operationCount == 0)
    }
    #expect(report.isComplete)
  }

  @Test(arguments: seeds)
  func `an operation whose prerequisite is its own group completes a cycle`(seed: UInt64) {
    let world = World(seed: seed)
    let group = GroupOperation(name: "group")
    let work = Work("work")
    work.addCondition(Asked { [unowned group] _ in group })
    _ = group.addOperation(work)
    world.run(group)
    #expect(work.kind == .cancelled)
    #expect(cycle(of: work).map(Set.init) == ["work", "group"])
    #expect(group.isFinished)
  }

  @Test(arguments: seeds)
  func `a prerequisite group whose child depends on the operation completes a cycle`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work("work")
    let child = Work("child")
    child.addDependency(work)
    let group = GroupOperation(name: "group") { child }
    work.addCondition(Asked { _ in group })
    world.run(work)
    #expect(work.isFinished && child.isFinished && group.isFinished)
    #expect((cycle(of: work) ?? cycle(of: child))?.contains("group") == true)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a prerequisite gets the only slot of its operation's queue`(seed: UInt64) {
    // No cycle: the operation holds no slot while its conditions are asked.
    let world = World(seed: seed, limit: 1)
    let work = Work("work")
    work.addCondition(Asked { _ in Work("prerequisite") })
    world.run(work)
    #expect(work.kind == .succeeded)
  }

  @Test func `the explanation names an open prerequisite`() throws {
    let world = World()
    let prerequisite = Work.open("prerequisite")
    world.run(prerequisite)
    let work = Work("work")
    work.addCondition(Asked { _ in prerequisite })
    world.run(work)
    #expect("\(work.explain())".contains("prerequisite"))
    prerequisite.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }
}

/// Prerequisites that somebody else is going to run.
@Suite struct `A prerequisite that is a child of a group` {
  private func failure(of operation: AdvancedOperation) -> OperationPrerequisiteError? {
    let error = operation.errors.first as? OperationConditionError
    return error?.underlying as? OperationPrerequisiteError
  }

  @Test func `a prerequisite whose group hasn't started fails the condition`() {
    let world = World()
    let child = Work("child")
    let group = GroupOperation(name: "group") { child }
    let work = Work("work")
    work.addCondition(Asked("ready") { _ in child })
    world.run(work)
    #expect(work.kind == .failed)
    #expect(failure(of: work) == OperationPrerequisiteError(prerequisite: "child", group: "group"))
    // The group isn't disturbed by that.
    world.run(group)
    #expect(group.kind == .succeeded)
    #expect(child.kind == .succeeded)
  }

  @Test func `a prerequisite in a compound condition fails it if its group hasn't started`() {
    let world = World()
    let child = Work("child")
    let group = GroupOperation(name: "group") { child }
    let work = Work("work")
    work.addCondition(Asked("a") { _ in Work("other") } && Asked("b") { _ in child })
    world.run(work)
    #expect(failure(of: work) == OperationPrerequisiteError(prerequisite: "child", group: "group"))
    world.run(group)
    #expect(group.kind == .succeeded)
  }

  @Test func `a condition waits for a prerequisite that its group already executes`() {
    let world = World()
    let child = Work.open("child")
    let group = GroupOperation(name: "group") { child }
    world.run(group)
    let work = Work("work")
    work.addCondition(Asked("ready") { _ in child })
    world.run(work)
    #expect(work.state == .evaluatingConditions)
    child.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
    #expect(group.kind == .succeeded)
  }
}

/// Code of conditions that waits for what waits for their operation.
@Suite(.watched) struct `A condition that waits for a dependent of its operation` {
  @Test(arguments: seeds)
  func `a condition that awaits a dependent's value gets an error with the path`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work("work")
    let dependent = ResultOperation(name: "dependent") { 1 }
    dependent.addDependency(work)
    work.addCondition(
      Asked { _ in
        do { return try await dependent.value == 1 ? .satisfied : .skipped(reason: "") } catch {
          return .failed(error)
        }
      }
    )
    world.run(work, dependent)
    let failure = work.errors.first as? OperationConditionError
    let cycle = failure?.underlying as? OperationCycleError
    #expect(cycle?.path == ["work", "dependent", "work"])
    #expect(dependent.outcome?.isSuccess == true)
  }

  @Test func `one of several concurrent conditions gets the cycle error too`() {
    let world = World()
    let work = Work("work")
    let dependent = Work("dependent")
    dependent.addDependency(work)
    let waits = Asked { _ in
      do {
        try await dependent.untilFinished()
        return .satisfied
      } catch { return .failed(error) }
    }
    work.addCondition(waits)
    work.addCondition(Asked("other") { _ in .satisfied })
    world.run(work, dependent)
    let failure = work.errors.first as? OperationConditionError
    #expect(
      (failure?.underlying as? OperationCycleError)?.path == ["work", "dependent", "work"]
    )
  }

  @Test func `an operation that completes the cycle later is cancelled instead of the condition`() {
    let world = World()
    let work = Work("work")
    let other = Work.open("other")
    let between = BlockOperation {}
    between.name = "between"
    between.addDependency(other)
    work.addCondition(
      Asked { _ in
        do {
          try await between.untilFinished()
          return .satisfied
        } catch { return .failed(error) }
      }
    )
    world.run(other, between, work)
    #expect(work.state == .evaluatingConditions)
    between.addDependency(work)
    other.finish()
    world.simulation.run()
    #expect(between.isFinished)
    #expect(
      (between.cancellationReason as? OperationCycleError).map { Set($0.path) }
        == ["between", "work"]
    )
    #expect(work.kind == .succeeded)
  }

  @Test func `a condition gets the cycle error on real threads with one slot`() async throws {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = 1
    let work = Work("work")
    let dependent = ResultOperation(name: "dependent") { 1 }
    dependent.addDependency(work)
    work.addCondition(
      Asked { _ in
        do {
          _ = try await dependent.value
          return .satisfied
        } catch { return .failed(error) }
      }
    )
    queue.addOperations([work, dependent])
    try await queue.untilAllOperationsAreFinished()
    let failure = work.errors.first as? OperationConditionError
    #expect(
      (failure?.underlying as? OperationCycleError)?.path == ["work", "dependent", "work"]
    )
  }

  @Test func `the explanation names the operation that a condition awaits`() {
    let world = World()
    let other = Work.open("other")
    let work = Work("work")
    work.addCondition(
      Asked { _ in
        try? await other.untilFinished()
        return .satisfied
      }
    )
    world.run(other, work)
    #expect("\(work.explain())".contains("has code that waits for other"))
    other.finish()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }
}

/// What code of a condition finds as the current operation.
@Suite struct `The current operation in a condition` {
  @Test func `every kind of condition sees its operation as the current one`() {
    let world = World()
    let seen = Log<String>()
    let note: @Sendable (String) -> Void = { kind in
      seen.add("\(kind): \(AdvancedOperation.current?.name ?? "none")")
    }
    let work = Work("work")
    work.addCondition(
      Immediate { _ in
        note("immediate")
        return .satisfied
      }
    )
    for number in 1...2 {
      work.addCondition(
        Asked { _ in
          note("asked")
          await Task.yield()
          note("asked \(number)")
          return .satisfied
        }
      )
    }
    world.run(work)
    #expect(
      Set(seen.entries)
        == ["immediate: work", "asked: work", "asked 1: work", "asked 2: work"]
    )
  }
}
