import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

private enum Context {
  @TaskLocal static var path: [String] = []
}

/// Opens a context around bodies, as a tracing span would be.
private struct Span: OperationInterceptor {
  let name: String
  let log: Log<String>

  func intercept(_ attempt: OperationAttempt) async throws {
    let operation = attempt.operation
    #expect(AdvancedOperation.current === operation)
    #expect(operation.state == .executing)
    log.add("\(name) begins \(operation.name ?? "") \(attempt.number)")
    try await Context.$path.withValue(Context.path + [name]) { try await attempt.run() }
    log.add("\(name) ends")
  }
}

/// Runs a closure as an interceptor.
private struct Around: OperationInterceptor {
  let intercept: @Sendable (OperationAttempt) async throws -> Void

  func intercept(_ attempt: OperationAttempt) async throws {
    try await intercept(attempt)
  }
}

@Suite struct `Interceptors` {
  private let log = Log<String>()

  @Test func `interceptors run around a body in its task in attach order`() throws {
    let world = World()
    world.queue.addInterceptor(Span(name: "outer", log: log))
    world.queue.addInterceptor(Span(name: "inner", log: log))
    let operation = ResultOperation(name: "body") { Context.path }
    #expect(
      try world.simulation.run { try await world.queue.run(operation) } == ["outer", "inner"]
    )
    #expect(
      log.entries == [
        "outer begins body 1", "inner begins body 1", "inner ends", "outer ends",
      ]
    )
  }

  @Test(.watched)
  func `an interceptor runs around a body and its suspensions on real threads`() async throws {
    let queue = AdvancedOperationQueue()
    queue.addInterceptor(Span(name: "span", log: log))
    let operation = ResultOperation(name: "body") {
      await Task.yield()
      async let child = Context.path
      return await child
    }
    #expect(try await queue.run(operation) == ["span"])
    #expect(log.entries == ["span begins body 1", "span ends"])
  }

  @Test(arguments: [nil, Duration.seconds(5)])
  func `an interceptor runs around each attempt`(limit: Duration?) throws {
    let world = World()
    world.queue.addInterceptor(Span(name: "span", log: log))
    let count = Counter()
    var policy = RetryPolicy.constant(.seconds(1)).attempts(3)
    if let limit { policy = policy.attemptTimeout(limit) }
    let operation = ResultOperation(name: "body", retry: policy) {
      count.add()
      if count.count < 3 { throw Flaw(count.count) }
      return Context.path
    }
    #expect(try world.simulation.run { try await world.queue.run(operation) } == ["span"])
    #expect(
      log.entries == [
        "span begins body 1", "span begins body 2", "span begins body 3", "span ends",
      ]
    )
  }

  @Test func `interceptors run around children, attempts, prerequisites and scopes`() throws {
    let world = World()
    world.queue.addInterceptor(Span(name: "span", log: log))
    let prerequisite = ResultOperation(name: "prerequisite") {}
    let scoping = ResultOperation(name: "scoping") {
      try await withOperations { scope in scope.add(ResultOperation(name: "scoped") {}) }
    }
    scoping.addCondition(Asked(prerequisite: { _ in prerequisite }))
    let group = GroupOperation { ResultOperation(name: "child") {} }
    let retrying = RetryOperation(name: "retrying", retry: .immediate.attempts(2)) { _ in
      ResultOperation(name: "attempt") {}
    }
    world.run(scoping, group, retrying)
    let begun = log.entries.filter { $0.contains("begins") }.map { $0.split(separator: " ")[2] }
    #expect(Set(begun) == ["prerequisite", "scoping", "scoped", "child", "attempt"])
    #expect(begun.count == 5)
  }

  @Test func `interceptors don't run around execute or unexecuted operations`() {
    let world = World()
    world.queue.addInterceptor(Span(name: "span", log: log))
    let refused = ResultOperation {}
    refused.addCondition(Immediate(always: .failed(Flaw(1))))
    let cancelled = ResultOperation {}
    cancelled.cancel()
    world.run(Work(), refused, cancelled, BlockOperation {})
    #expect(log.entries.isEmpty)
  }

  @Test func `interceptors apply to operations that are added while they are attached`() {
    let world = World()
    let observation = world.queue.addInterceptor(Span(name: "span", log: log))
    let before = ResultOperation(name: "before") {}
    before.addDependency(DelayOperation(.zero))
    world.queue.isSuspended = true
    world.queue.addOperation(ResultOperation(name: "first") {})
    observation.remove()
    world.queue.addOperation(ResultOperation(name: "second") {})
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(log.entries == ["span begins first 1", "span ends"])
  }

  @Test func `an interceptor may throw although the body has succeeded`() {
    let world = World()
    world.queue.addInterceptor(
      Around { attempt in
        try await attempt.run()
        throw Flaw(7)
      }
    )
    let operation = ResultOperation { 1 }
    world.run(operation)
    #expect(operation.kind == .failed)
    #expect(operation.flawNumbers == [7])
    #expect(operation.origins == [.body])
  }

  @Test func `an interceptor may replace the error of a body and can't remove it`() {
    let world = World()
    let replacing = world.queue.addInterceptor(
      Around { attempt in do { try await attempt.run() } catch { throw Flaw(2) } }
    )
    let replaced = ResultOperation<Int> { throw Flaw(1) }
    world.run(replaced)
    #expect(replaced.flawNumbers == [2])
    replacing.remove()
    world.queue.addInterceptor(Around { attempt in try? await attempt.run() })
    let kept = ResultOperation<Int> { throw Flaw(1) }
    world.run(kept)
    #expect(kept.flawNumbers == [1])
  }

  @Test func `an interceptor that doesn't call the body fails the operation and is named`() throws {
    let world = World()
    world.queue.addInterceptor(Around { _ in })
    let count = Counter()
    let operation = ResultOperation { count.add() }
    world.run(operation)
    #expect(operation.kind == .failed)
    #expect("\(try #require(operation.errors.first))".contains("Around"))
    #expect(count.count == 0)
  }

  @Test func `an interceptor that calls the body twice traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = AdvancedOperationQueue()
      queue.addInterceptor(
        Around { attempt in
          try await attempt.run()
          try await attempt.run()
        }
      )
      _ = try await queue.run(ResultOperation(name: "twice") { 1 })
    }
    try expectMessage(
      "An OperationInterceptor ran the body of operation “twice” twice in one attempt.",
      in: result
    )
  }

  @Test func `an interceptor that returns while the body runs traps`() async throws {
    struct Leaving: OperationInterceptor {
      let begun = AsyncStream<Void>.makeStream()

      func intercept(_ attempt: OperationAttempt) async throws {
        Task { try await attempt.run() }
        for await _ in begun.stream { break }
      }
    }
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = AdvancedOperationQueue()
      let leaving = Leaving()
      queue.addInterceptor(leaving)
      let body = ResultOperation(name: "left") {
        leaving.begun.continuation.yield()
        for await _ in AsyncStream<Void>.makeStream().stream {}
      }
      try await queue.run(body)
    }
    try expectMessage(
      "An OperationInterceptor returned while the body of operation “left” was running.",
      in: result
    )
  }

  @Test func `an interceptor that runs the body after returning traps`() async throws {
    final class Keeping: OperationInterceptor {
      let kept = Locked<OperationAttempt?>(nil)
      func intercept(_ attempt: OperationAttempt) async throws {
        kept.withLock { $0 = attempt }
      }
    }
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = AdvancedOperationQueue()
      let keeping = Keeping()
      queue.addInterceptor(keeping)
      _ = try? await queue.run(ResultOperation(name: "kept") { 1 })
      try await keeping.kept.withLock { $0 }?.run()
    }
    try expectMessage(
      "An OperationInterceptor ran the body of operation “kept” after the interceptor had returned.",
      in: result
    )
  }

  @Test func `an interceptor may run the body in a child task`() throws {
    let world = World()
    let clock = world.simulation.environment.clock
    world.queue.addInterceptor(
      Around { attempt in
        try await withThrowingTaskGroup { group in
          group.addTask { try await attempt.run() }
          group.addTask {
            try await clock.sleep(for: .seconds(5))
            throw Flaw(5)
          }
          try await group.next()
          group.cancelAll()
        }
      }
    )
    let quick = ResultOperation { AdvancedOperation.current?.name }
    quick.name = "quick"
    let slow = ResultOperation(name: "slow") { try await clock.sleep(for: .seconds(60)) }
    world.run(quick, slow)
    #expect(try quick.result?.get() == "quick")
    #expect(slow.flawNumbers == [5])
  }

  @Test(.heavy) func `interceptors end with a cancel at every moment`() throws {
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let log = Log<String>()
      queue.addInterceptor(
        Around { attempt in
          log.add("begins")
          defer { log.add("ends") }
          try await attempt.run()
        }
      )
      let operation = ResultOperation(name: "body") {
        try await OperationClock.current.sleep(for: .seconds(1))
        return 1
      }
      queue.addOperation(operation)
      simulation.addStep("cancel") { operation.cancel() }
      simulation.run()
      try #require(operation.isFinished)
      try #require(log.entries.isEmpty || log.entries == ["begins", "ends"])
    }
    #expect(report.isComplete)
  }
}
