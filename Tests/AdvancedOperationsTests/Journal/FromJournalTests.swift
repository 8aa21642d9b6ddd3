import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

/// Notes which operations it was called around.
private struct Around: OperationInterceptor {
  let log: Log<String>

  func intercept(_ attempt: OperationAttempt) async throws {
    log.add(attempt.operation.label)
    try await attempt.run()
  }
}

@Suite struct `A value that is in the journal` {
  private let bodies = Counter()
  private let journal = InMemoryJournal([.init(key: "build", value: 7)])

  private func build(name: String? = nil) -> ResultOperation<Int> {
    ResultOperation(name: name) { [bodies] in bodies.add() }.recorded(as: "build", in: journal)
  }

  private func expectRestored(_ operation: ResultOperation<Int>) {
    #expect((try? operation.result?.get()) == 7)
    #expect(operation.kind == .succeeded)
    #expect(operation.isFromJournal)
    #expect(bodies.count == 0)
  }

  @Test(arguments: seeds)
  func `a recorded value becomes the operation's result without running its body`(seed: UInt64) {
    let world = World(seed: seed)
    let build = build()
    world.run(build)
    expectRestored(build)
    #expect(journal.keys == ["build"])
  }

  @Test func `a recorded value finishes the operation without a start event`() {
    let world = World()
    let recorder = RecordingObserver()
    let states = Log<AdvancedOperation.State>()
    let build = build()
    build.addObserver(recorder)
    build.addObserver(BlockObserver(willFinish: { operation, _ in states.add(operation.state) }))
    build.onFinish { operation, _ in #expect(operation.isFromJournal) }
    world.run(build)
    expectRestored(build)
    #expect(recorder.kinds == [.enqueued, .willFinish, .finished])
    #expect(states.entries == [.finishing])
  }

  @Test func `a recorded value needs no interceptors, conditions or prerequisites`() {
    let world = World()
    let log = Log<String>()
    world.queue.addInterceptor(Around(log: log))
    let probe = ConditionProbe()
    let build = build()
    build.addCondition(probe)
    build.addCondition(
      Immediate { _ in
        log.add("asked")
        return .failed(Flaw(1))
      }
    )
    build.addCondition(
      Asked(prerequisite: { _ in
        log.add("help")
        return Work.failing()
      })
    )
    world.run(build)
    expectRestored(build)
    #expect(probe.evaluationCount == 0)
    #expect(log.entries == [])
  }

  @Test func `a recorded value needs no claims and no slot`() {
    let world = World(limit: 1)
    let holder = Work.claiming("holder", MutuallyExclusive("database"))
    let build = build()
    build.addClaim(MutuallyExclusive("database", whenBusy: .fail))
    world.run(holder, build)
    #expect(holder.isExecuting)
    expectRestored(build)
    holder.finish()
    world.simulation.run()
  }

  @Test func `a journal is read after all dependencies have finished`() {
    let world = World()
    let holder = HeldOperation()
    let build = build()
    build.addDependency(holder)
    world.run(holder, build)
    #expect(build.state == .pending)
    holder.release()
    world.simulation.run()
    expectRestored(build)
  }

  @Test(arguments: [true, false])
  func `a recorded value is used even if an input failed or was skipped`(fails: Bool) {
    let world = World()
    let input = ResultOperation<Int>(name: "input") {
      guard fails else { throw OperationSkipped(reason: "no") }
      throw Flaw(1)
    }
    let next = input.then { [bodies] in $0 + bodies.add() }.recorded(as: "build", in: journal)
    let unrecorded = input.then { [bodies] in $0 + bodies.add() }.recorded(as: "test", in: journal)
    world.run(input, next, unrecorded)
    expectRestored(next)
    #expect(unrecorded.kind == (fails ? .failed : .skipped))
    #expect(!unrecorded.isFromJournal)
    #expect(journal.keys == ["build"])
  }

  @Test func `dependents of an operation with a recorded value run`() {
    let world = World()
    let build = build()
    let test = build.then(name: "test") { $0 + 1 }
    world.run(build, test)
    #expect((try? test.result?.get()) == 8)
    #expect(!test.isFromJournal)
  }

  @Test func `a suspended queue doesn't read the journal`() {
    let world = World()
    world.queue.isSuspended = true
    let build = build()
    world.run(build)
    #expect(build.state == .pending)
    world.queue.isSuspended = false
    world.simulation.run()
    expectRestored(build)
  }

  @Test func `a manually started operation gets its recorded value`() {
    let world = World()
    let build = build()
    build.environment = world.simulation.environment
    build.addClaim(MutuallyExclusive("database"))
    build.start()
    #expect(build.state == .evaluatingConditions)
    world.simulation.run()
    expectRestored(build)
  }

  @Test func `a recorded value is used in a plain queue on real threads`() async throws {
    let queue = OperationQueue()
    let build = build()
    queue.addOperation(build)
    #expect(try await build.value == 7)
    expectRestored(build)
  }

  @Test func `a dependency rule doesn't fail an operation before its journal is read`() {
    let world = World()
    let (failing, holder) = (Work.failing(), HeldOperation())
    let build = build()
    let other = ResultOperation { 1 }.recorded(as: "other", in: journal)
    for operation in [build, other] {
      operation.addDependency(failing)
      operation.addDependency(holder)
      operation.addCondition(DependencyRule.noneFailed)
    }
    world.run(failing, holder, build, other)
    #expect(build.state == .pending)
    #expect(other.state == .pending)
    holder.release()
    world.simulation.run()
    expectRestored(build)
    #expect(other.kind == .failed)
  }

  @Test func `an operation that was cancelled before ignores its recorded value`() {
    let world = World()
    let build = build()
    build.cancel()
    world.run(build)
    #expect(build.kind == .cancelled)
    #expect(!build.isFromJournal)
  }

  @Test func `a recorded value doesn't count for a circuit breaker`() {
    let world = World()
    let breaker = CircuitBreaker(failures: 2)
    for isFailing in [true, false, true] {
      if isFailing {
        let work = Work.failing()
        work.addObserver(breaker)
        world.run(work)
      } else {
        let build = build()
        build.addObserver(breaker)
        world.run(build)
        expectRestored(build)
      }
    }
    #expect(breaker.state == .open)
  }

  @Test func `a recorded value may be nil or Void`() {
    let world = World()
    let journal = InMemoryJournal([
      .init(key: "none", value: Int?.none), .init(key: "some", value: Int?.some(3)),
      .init(key: "done", value: true),
    ])
    let none = ResultOperation<Int?> { 1 }.recorded(as: "none", in: journal)
    let some = ResultOperation<Int?> { nil }.recorded(as: "some", in: journal)
    let done = ResultOperation<Void> { throw Flaw(1) }.recorded(as: "done", in: journal)
    world.run(none, some, done)
    #expect(none.isFromJournal && some.isFromJournal && done.isFromJournal)
    #expect(try! none.result?.get() == .some(.none))
    #expect(try! some.result?.get() == 3)
    #expect(done.kind == .succeeded)
  }

  @Test func `a recorded value of another type is an error that names the key`() throws {
    let world = World()
    let build = ResultOperation { "text" }.recorded(as: "build", in: journal)
    world.run(build)
    #expect(build.kind == .failed)
    let error = try #require(build.errors.first as? OperationJournalError)
    #expect(error.key == "build")
    #expect(error.action == .lookUp)
    #expect(error.underlying is InMemoryJournal.WrongType)
    #expect("\(error)".contains("“build”"))
  }

  @Test func `a journal that can't be read fails the operation without running it`() throws {
    let world = World()
    journal.failLookUp(of: "build", with: Flaw(3))
    let probe = ConditionProbe()
    let build = build()
    build.addCondition(probe)
    let next = build.then { $0 }
    world.run(build, next)
    #expect(build.kind == .failed)
    #expect(next.outcome?.isInherited == true)
    #expect(bodies.count == 0)
    #expect(probe.evaluationCount == 0)
    let error = try #require(build.outcome?.failure?.first(OperationJournalError.self))
    #expect("\(error)" == "The journal failed to look up “build”: flaw 3")
  }

  @Test func `a recorded value's key is also the operation's default name`() {
    #expect(build().name == "build")
    #expect(build(name: "compile").name == "compile")
  }

  @Test func `a journal is read with the operation as the current one`() async throws {
    struct Looking: OperationJournal {
      let log: Log<String>
      func value<Value: Codable & Sendable>(
        of type: Value.Type,
        for key: String
      ) async throws -> Value? {
        log.add("\(AdvancedOperation.current?.label ?? "none") \(Context.word)")
        return nil
      }
      func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws {
        log.add("\(AdvancedOperation.current?.label ?? "none") \(Context.word) \(value)")
      }
    }
    let log = Log<String>()
    let queue = AdvancedOperationQueue()
    let build = Context.$word.withValue("red") {
      ResultOperation { 1 }.recorded(as: "build", in: Looking(log: log))
    }
    #expect(try await queue.run(build) == 1)
    #expect(log.entries == ["build red", "build red 1"])
  }
}

private enum Context {
  @TaskLocal static var word = "none"
}
