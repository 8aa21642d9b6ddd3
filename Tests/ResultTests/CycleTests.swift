import AdvancedOperations
import AdvancedTestSupport
import Testing

/// Waits in bodies that could never end.
@Suite(.watched) struct `A body that waits for a dependent of its operation` {
  @Test func `a body that awaits its own value fails with a cycle error`() async throws {
    let queue = AdvancedOperationQueue()
    let own = Locked<ResultOperation<Int>?>(nil)
    let operation = ResultOperation<Int>(name: "fetch") {
      try await own.withLock { $0 }?.value ?? 0
    }
    own.withLock { $0 = operation }
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    own.withLock { $0 = nil }
    let failure = try #require(operation.outcome?.failure)
    let cycle = try #require(failure.elements.first?.error as? OperationCycleError)
    #expect(cycle.path == ["fetch", "fetch"])
  }

  @Test
  func `a body that awaits an operation of its serial queue fails with a cycle`() async throws {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = 1
    let inner = ResultOperation(name: "inner") { 1 }
    let outer = ResultOperation(name: "outer") {
      queue.addOperation(inner)
      return try await inner.value
    }
    queue.addOperation(outer)
    try await queue.untilAllOperationsAreFinished()
    let cycle = try #require(
      outer.outcome?.failure?.elements.first?.error as? OperationCycleError
    )
    #expect(cycle.path == ["outer", "inner", "outer"])
    #expect(inner.outcome?.isSuccess == true)
  }

  @Test func `a child that awaits its own group fails with a cycle error`()
    async throws
  {
    let queue = AdvancedOperationQueue()
    let group = GroupOperation(name: "group")
    let after = AdvancedOperation()
    after.name = "after"
    after.addDependency(group)
    let child = ResultOperation(name: "child") { [unowned group] in
      try await group.untilFinished()
    }
    let other = ResultOperation(name: "other") { try await after.untilFinished() }
    _ = group.addOperation(child)
    _ = group.addOperation(other)
    queue.addOperations([group, after])
    try await queue.untilAllOperationsAreFinished()
    let cycle = try #require(
      child.outcome?.failure?.elements.first?.error as? OperationCycleError
    )
    #expect(cycle.path == ["child", "group", "child"])
    let longer = try #require(
      other.outcome?.failure?.elements.first?.error as? OperationCycleError
    )
    #expect(longer.path == ["other", "after", "group", "other"])
  }

  @Test func `a body that awaits a child of a waiting group fails with a cycle`() async throws {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = 1
    let child = ResultOperation(name: "child") { 1 }
    let group = GroupOperation(name: "group") { child }
    let waits = ResultOperation(name: "waits") {
      queue.addOperation(group)
      return try await child.value
    }
    queue.addOperation(waits)
    try await queue.untilAllOperationsAreFinished()
    let cycle = try #require(
      waits.outcome?.failure?.elements.first?.error as? OperationCycleError
    )
    #expect(cycle.path == ["waits", "child", "group", "waits"])
    #expect(group.outcome?.isSuccess == true)
  }

  @Test func `awaiting an executing operation or a group child isn't a cycle`() async throws {
    let queue = AdvancedOperationQueue()
    let other = ResultOperation(name: "other") { 1 }
    let body = ResultOperation(name: "body") {
      queue.addOperation(other)
      return try await other.value + 1
    }
    let group = GroupOperation(name: "group") { body }
    queue.addOperation(group)
    #expect(try await body.value == 2)
    try await group.untilFinished()
    #expect(group.outcome?.isSuccess == true)
  }

  @Test func `an async body sees its queue as the current one`() async throws {
    let queue = AdvancedOperationQueue()
    let operation = ResultOperation { OperationQueue.current === queue }
    queue.addOperation(operation)
    #expect(try await operation.value)
  }
}
