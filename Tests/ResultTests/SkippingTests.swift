import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import Testing

/// A body that finds nothing to do ends its operation as skipped.
@Suite struct `Skipping from a body` {
  private static let reason = "not modified"

  private static func download(_ world: World) -> ResultOperation<Int> {
    let clock = world.simulation.environment.clock
    return ResultOperation(name: "download") {
      try await clock.sleep(until: clock.now + .seconds(2))
      throw OperationSkipped(reason: reason)
    }
  }

  /// The reason of an operation that was skipped.
  private static func reason(of operation: AdvancedOperation) -> String? {
    if case .skipped(let reason) = operation.outcome { reason } else { nil }
  }

  @Test func `an async body may throw a skip that isn't an error`() {
    let world = World()
    let download = Self.download(world)
    world.run(download)
    #expect(Self.reason(of: download) == Self.reason)
    #expect(download.errors.isEmpty)
    guard case .failure(let failure) = download.result else {
      Issue.record("\(String(describing: download.result))")
      return
    }
    #expect(failure.elements.map(\.origin) == [.skipped(reason: Self.reason)])
  }

  @Test func `an execute override may skip or pass on a thrown skip`() {
    let world = World()
    let works = [
      Work { $0.skip(reason: Self.reason) },
      Work { $0.finish(withError: OperationSkipped(reason: Self.reason)) },
      Work { $0.finish(withErrors: [OperationSkipped(reason: Self.reason)]) },
    ]
    world.queue.addOperations(works)
    world.simulation.run()
    for work in works {
      #expect(Self.reason(of: work) == Self.reason)
      #expect(work.errors.isEmpty)
      #expect(work.hooks.entries == ["finished []"])
    }
  }

  @Test func `finishing with a nil error succeeds`() {
    let world = World()
    let work = Work { $0.finish(withError: nil) }
    world.run(work)
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `dependents that need the value are skipped and others run`(seed: UInt64) {
    let world = World(seed: seed)
    let download = Self.download(world)
    let ran = Counter()
    let parse = download.then(name: "parse") { _ in ran.add() }
    let store = parse.then(name: "store") { _ in ran.add() }
    let (later, careful, strict) = (Work("later"), Work("careful"), Work("strict"))
    for operation in [later, careful, strict] { operation.addDependency(download) }
    careful.addCondition(NoFailedDependencies())
    careful.addCondition(NoCancelledDependencies())
    careful.addCondition(DependencyRule.noneFailed)
    strict.addCondition(DependencyRule.allSucceeded)
    world.run(download, parse, store, later, careful, strict)
    #expect([parse, store].map { Self.reason(of: $0) } == [Self.reason, Self.reason])
    #expect(ran.count == 0)
    #expect([later, careful].map(\.kind) == [.succeeded, .succeeded])
    #expect(strict.kind == .failed)
  }

  @Test func `observers, events, log and timeline report a skip from a body`() async {
    let world = World()
    let download = Self.download(world)
    let lines = Log<String>()
    let timeline = TimelineRecorder()
    let recorder = RecordingObserver()
    download.addObserver(LogObserver { lines.add($0) })
    download.addObserver(timeline)
    download.addObserver(recorder)
    let events = download.events
    world.run(download)
    #expect(lines.entries.last == "download: skipped after 2 s: not modified")
    let span = timeline.timeline.spans[0]
    #expect(span.outcome?.isSkipped == true)
    #expect(timeline.timeline.plan.durations == [.seconds(2)])
    var last: OperationEvent?
    for await event in events {
      if case .willFinish(let outcome) = event { #expect(outcome.isSkipped) }
      last = event
    }
    guard case .finished(.skipped(let reason)) = last else {
      Issue.record("\(String(describing: last))")
      return
    }
    #expect(reason == Self.reason)
  }

  @Test func `a group counts a skipped child as finished without an error`() {
    let world = World()
    let download = Self.download(world)
    let undone = Counter()
    let group = GroupOperation(name: "group", errorPolicy: .failFast) {
      download
      download.then(name: "parse") { _ in }
      Work("other")
    }
    group.onRollback { undone.add() }
    world.run(group)
    #expect(group.kind == .succeeded)
    #expect(group.progress == OperationProgress(completedUnitCount: 3, totalUnitCount: 3))
    #expect(undone.count == 0)
  }

  @Test func `a rollback with nothing to undo adds no error`() {
    let world = World()
    let group = GroupOperation(name: "group") { Work.failing("failing") }
    group.onRollback { throw OperationSkipped(reason: "nothing was stored") }
    world.run(group)
    #expect(group.origins == [.child("failing", .body)])
  }

  @Test func `a scope has no error from a skipped operation`() async throws {
    try await withOperations { scope in
      scope.add(ResultOperation { throw OperationSkipped(reason: Self.reason) })
    }
  }

  @Test func `a skip isn't a failed attempt and drops earlier errors`() {
    let world = World()
    let asked = Counter()
    let attempts = Counter()
    let policy = RetryPolicy { _, _ in
      asked.add()
      return .seconds(1)
    }
    let work = ResultOperation(name: "work", retry: policy) {
      if attempts.add() < 3 { throw Flaw(1) }
      throw OperationSkipped(reason: Self.reason)
    }
    world.run(work)
    #expect(Self.reason(of: work) == Self.reason)
    #expect(work.errors.isEmpty)
    #expect(attempts.count == 3 && asked.count == 2)
  }

  @Test func `a skip isn't a failed attempt or round of a creating operation`() {
    let world = World()
    let retried = RetryOperation(retry: .constant(.seconds(1)).attempts(3)) { _ in
      Work { $0.skip(reason: Self.reason) }
    }
    let rounds = Counter()
    let repeated = RepeatOperation(times: 3) { _ in
      rounds.add()
      return Work { $0.skip(reason: Self.reason) }
    }
    world.run(retried, repeated)
    #expect(([retried, repeated] as [AdvancedOperation]).map(\.errors.isEmpty) == [true, true])
    #expect(rounds.count == 3)
  }

  @Test(arguments: seeds)
  func `a cancel overrides a skip and keeps its reason as the only error`(seed: UInt64) {
    let world = World(seed: seed)
    let body = ResultOperation(name: "body") {
      AdvancedOperation.current?.cancel(withError: Flaw(1))
      throw OperationSkipped(reason: Self.reason)
    }
    let open = Work("open", policy: .whenFinishIsCalled) { work in
      work.cancel(withError: Flaw(1))
      work.skip(reason: Self.reason)
    }
    let pending = Work("pending")
    pending.cancel()
    pending.skip(reason: Self.reason)
    world.run(body, open, pending)
    #expect([body, open, pending].map(\.kind) == [.cancelled, .cancelled, .cancelled])
    #expect([body, open, pending].map(\.flawNumbers) == [[1], [1], []])
  }

  @Test func `errors override a skip`() {
    let world = World()
    let work = Work { $0.finish(withErrors: [OperationSkipped(reason: Self.reason), Flaw(1)]) }
    world.run(work)
    #expect(work.kind == .failed)
    #expect(work.flawNumbers == [1])
  }

  @Test func `the first of a skip and a finish applies`() {
    let world = World()
    let skipped = Work { work in
      work.skip(reason: Self.reason)
      work.finish(withError: Flaw(1))
    }
    let finished = Work { work in
      work.finish()
      work.skip(reason: Self.reason)
    }
    world.run(skipped, finished)
    #expect(Self.reason(of: skipped) == Self.reason)
    #expect(finished.kind == .succeeded)
    finished.skip(reason: Self.reason)
    #expect(finished.kind == .succeeded)
  }

  @Test func `another operation's skip that a body doesn't catch is a failure`() {
    let world = World()
    let skipped = ResultOperation<Int>(name: "skipped") {
      throw OperationSkipped(reason: Self.reason)
    }
    let needs = ResultOperation(name: "needs") { try await skipped.value }
    let catches = ResultOperation(name: "catches") {
      do { return try await skipped.value } catch let failure as OperationFailure {
        throw OperationSkipped(reason: failure.skipReason ?? "")
      }
    }
    world.run(skipped, needs, catches)
    #expect(needs.kind == .failed)
    #expect(Self.reason(of: catches) == Self.reason)
  }

  @Test func `a probe that is skipped by its body closes the circuit`() {
    let world = World()
    let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(10))
    let failing = Work.failing("failing")
    let probe = Work("probe") { $0.skip(reason: Self.reason) }
    for work in [failing, probe] {
      work.addObserver(breaker)
      work.addCondition(CircuitClosed(breaker))
    }
    world.run(failing)
    world.simulation.advance(by: .seconds(10))
    world.run(probe)
    #expect(Self.reason(of: probe) == Self.reason)
    #expect(breaker.state == .closed)
  }

  @Test(arguments: seeds)
  func `a skip from outside ends the operation while its body runs`(seed: UInt64) {
    let world = World(seed: seed)
    let clock = world.simulation.environment.clock
    let work = ResultOperation(name: "work") {
      try await clock.sleep(until: clock.now + .seconds(60))
      return 7
    }
    let next = work.then(name: "next") { $0 }
    world.queue.addOperations([work, next])
    world.simulation.advance(by: .seconds(1))
    work.skip(reason: Self.reason)
    world.simulation.run()
    #expect([work, next].map { Self.reason(of: $0) } == [Self.reason, Self.reason])
    #expect(throws: OperationFailure.self) { try work.result?.get() }
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `an observer of the start may skip the operation before it executes`(seed: UInt64) {
    let world = World(seed: seed)
    let work = Work("work")
    work.onStart { $0.skip(reason: Self.reason) }
    world.run(work)
    #expect(Self.reason(of: work) == Self.reason)
    #expect(!work.didExecute)
  }

  @Test func `a skipped group undoes its children's work`() {
    let world = World()
    let undone = Counter()
    let child = Work("child")
    let group = GroupOperation(name: "group") { child }
    child.onStart { _ in group.skip(reason: Self.reason) }
    group.onRollback { undone.add() }
    world.run(group)
    #expect(Self.reason(of: group) == Self.reason)
    #expect(undone.count == 1)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a skip from a scope's closure skips the operation and cancels the scope`() {
    let world = World()
    let inside = world.taking(60, "inside")
    let work = ResultOperation(name: "work") {
      try await withOperations(environment: world.simulation.environment) { scope in
        scope.add(inside)
        throw OperationSkipped(reason: Self.reason)
      }
    }
    world.run(work)
    #expect(Self.reason(of: work) == Self.reason)
    #expect(inside.kind == .cancelled)
  }
}
