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

  func intercept(
    _ operation: AdvancedOperation,
    attempt: Int,
    body: @Sendable () async throws -> Void
  ) async throws {
    #expect(AdvancedOperation.current === operation)
    #expect(operation.state == .executing)
    log.add("\(name) begins \(operation.name ?? "") \(attempt)")
    try await Context.$path.withValue(Context.path + [name]) { try await body() }
    log.add("\(name) ends")
  }
}

/// Runs a closure as an interceptor.
private struct Around: OperationInterceptor {
  let intercept: @Sendable (@Sendable () async throws -> Void) async throws -> Void

  func intercept(
    _ operation: AdvancedOperation,
    attempt: Int,
    body: @Sendable () async throws -> Void
  ) async throws { try await intercept(body) }
}

@Suite struct `Interceptors` {
  private let log = Log<String>()

  @Test func `run around a body in its task, the first outermost`() throws {
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

  @Test(.watched) func `run around a body on real threads, and what it suspends for`() async throws
  {
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
  func `run around each attempt`(limit: Duration?) throws {
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

  @Test func `run around children, attempts of others, helpers and scopes`() throws {
    let world = World()
    world.queue.addInterceptor(Span(name: "span", log: log))
    let helper = ResultOperation(name: "helper") {}
    let scoping = ResultOperation(name: "scoping") {
      try await withOperations { scope in scope.add(ResultOperation(name: "scoped") {}) }
    }
    scoping.addCondition(Asked(helper: { _ in helper }))
    let group = GroupOperation { ResultOperation(name: "child") {} }
    let retrying = RetryOperation(name: "retrying", retry: .immediate.attempts(2)) { _ in
      ResultOperation(name: "attempt") {}
    }
    world.run(scoping, group, retrying)
    let begun = log.entries.filter { $0.contains("begins") }.map { $0.split(separator: " ")[2] }
    #expect(Set(begun) == ["helper", "scoping", "scoped", "child", "attempt"])
    #expect(begun.count == 5)
  }

  @Test func `don't run around overrides of execute, or what doesn't execute`() {
    let world = World()
    world.queue.addInterceptor(Span(name: "span", log: log))
    let refused = ResultOperation {}
    refused.addCondition(Immediate(always: .failed(Flaw(1))))
    let cancelled = ResultOperation {}
    cancelled.cancel()
    world.run(Work(), refused, cancelled, BlockOperation {})
    #expect(log.entries.isEmpty)
  }

  @Test func `count for what is added while they are attached`() {
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

  @Test func `throw instead of a body that has succeeded`() {
    let world = World()
    world.queue.addInterceptor(
      Around { body in
        try await body()
        throw Flaw(7)
      }
    )
    let operation = ResultOperation { 1 }
    world.run(operation)
    #expect(operation.kind == .failed)
    #expect(operation.flawNumbers == [7])
    #expect(operation.origins == [.body])
  }

  @Test func `may replace the error of a body, and can't take it away`() {
    let world = World()
    let replacing = world.queue.addInterceptor(
      Around { body in do { try await body() } catch { throw Flaw(2) } }
    )
    let replaced = ResultOperation<Int> { throw Flaw(1) }
    world.run(replaced)
    #expect(replaced.flawNumbers == [2])
    replacing.remove()
    world.queue.addInterceptor(Around { body in try? await body() })
    let kept = ResultOperation<Int> { throw Flaw(1) }
    world.run(kept)
    #expect(kept.flawNumbers == [1])
  }

  @Test func `that don't call the body fail the operation, and are named`() throws {
    let world = World()
    world.queue.addInterceptor(Around { _ in })
    let count = Counter()
    let operation = ResultOperation { count.add() }
    world.run(operation)
    #expect(operation.kind == .failed)
    #expect("\(try #require(operation.errors.first))".contains("Around"))
    #expect(count.count == 0)
  }

  @Test func `that call the body twice trap`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = AdvancedOperationQueue()
      queue.addInterceptor(
        Around { body in
          try await body()
          try await body()
        }
      )
      _ = try await queue.run(ResultOperation(name: "twice") { 1 })
    }
    try expectMessage(
      "An OperationInterceptor called the body of operation “twice” twice in one attempt.",
      in: result
    )
  }

  @Test func `without the method trap`() async throws {
    struct Nothing: OperationInterceptor {}
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = AdvancedOperationQueue()
      queue.addInterceptor(Nothing())
      _ = try await queue.run(ResultOperation { 1 })
    }
    try expectMessage("Nothing is an OperationInterceptor without the method", in: result)
  }

  @Test(.heavy) func `end with a cancel, at every moment`() throws {
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let log = Log<String>()
      queue.addInterceptor(
        Around { body in
          log.add("begins")
          defer { log.add("ends") }
          try await body()
        }
      )
      let operation = ResultOperation(name: "body") {
        try await AdvancedOperation.current?.environment.clock.sleep(for: .seconds(1))
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
