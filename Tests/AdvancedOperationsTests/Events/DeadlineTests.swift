import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite struct `A deadline` {
  private static func timeout(_ operation: AdvancedOperation) -> OperationTimeout? {
    operation.outcome?.failure?.first(OperationTimeout.self)
  }

  // MARK: Expiry

  @Test(arguments: seeds)
  func `an executing operation is cancelled at its deadline`(seed: UInt64) {
    let world = World(seed: seed)
    let work = world.taking(60, "work")
    world.simulation.advance(by: .seconds(5))
    work.deadline = .seconds(15)
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(world.simulation.now == .seconds(15))
    #expect(Self.timeout(work) == OperationTimeout(duration: .seconds(10), kind: .deadline))
    #expect(Self.timeout(work)?.description == "The deadline passed after 10 s.")
    #expect(work.outcome?.failure?.isTimeout == true)
  }

  @Test(arguments: seeds)
  func `the wait for a slot counts`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let rest = Changing<Duration?>(nil)
    let clock = world.simulation.environment.clock
    let work = ResultOperation {
      rest.value = AdvancedOperation.current?.deadline.map { $0 - clock.now }
      try await clock.sleep(for: .seconds(60))
    }
    work.deadline = .seconds(10)
    world.run(world.taking(4, "holder"), work)
    #expect(rest.value == .seconds(6))
    #expect(world.simulation.now == .seconds(10))
  }

  @Test(arguments: seeds)
  func `an operation whose deadline has passed never executes`(seed: UInt64) {
    let world = World(seed: seed)
    world.simulation.advance(by: .seconds(13))
    for (deadline, text) in [(10, "3 s before"), (13, "when")] {
      let work = Work()
      work.deadline = .seconds(deadline)
      world.run(work)
      #expect(!work.hasStarted && work.kind == .cancelled)
      #expect(
        Self.timeout(work)?.description
          == "The deadline had passed \(text) the operation was added."
      )
    }
  }

  @Test func `an operation that waits leaves at its deadline`() {
    let world = World(limit: 1)
    let work = Work()
    work.deadline = .seconds(10)
    let dependent = Work()
    dependent.addDependency(work)
    world.queue.addOperation(world.taking(30, "holder"))
    world.queue.addOperations([work, dependent])
    world.simulation.advance(by: .seconds(10))
    #expect(work.isFinished && !work.hasStarted)
    #expect(dependent.deadline == nil)
    world.simulation.run()
    #expect(dependent.kind == .succeeded)
  }

  @Test func `an operation that may start after a late timer doesn't execute`() throws {
    let clock = LateClock()
    let queue = AdvancedOperationQueue(
      environment: OperationEnvironment(clock: OperationClock(source: clock))
    )
    queue.isSuspended = true
    let work = Work()
    work.deadline = .seconds(10)
    queue.addOperation(work)
    clock.time.value = .seconds(11)
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    #expect(!work.hasStarted && work.kind == .cancelled)
  }

  @Test(arguments: seeds, [false, true])
  func `an operation that gets a past deadline before its start doesn't execute`(
    seed: UInt64,
    manually: Bool
  ) {
    let world = World(seed: seed)
    world.simulation.advance(by: .seconds(5))
    let work = Work()
    if manually {
      work.environment = world.simulation.environment
      work.deadline = .seconds(2)
      work.start()
    } else {
      world.queue.isSuspended = true
      world.queue.addOperation(work)
      work.deadline = .seconds(2)
      world.queue.isSuspended = false
    }
    world.simulation.run()
    #expect(!work.hasStarted && work.kind == .cancelled)
  }

  // MARK: Changes

  @Test func `a later deadline replaces an earlier one`() {
    let world = World()
    let work = world.taking(30, "work")
    work.deadline = .seconds(10)
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(5))
    work.deadline = .seconds(20)
    #expect(work.deadline == .seconds(20))
    world.simulation.advance(by: .seconds(10))
    #expect(!work.isFinished)
    world.simulation.run()
    #expect(world.simulation.now == .seconds(20))
    #expect(work.kind == .cancelled)
  }

  @Test func `a removed deadline doesn't cancel the operation`() {
    let world = World()
    let work = world.taking(30, "work")
    work.deadline = .seconds(10)
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(5))
    work.deadline = nil
    #expect(work.deadline == nil)
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test func `an end at the deadline has one outcome in every order`() throws {
    var kinds: Set<OperationOutcome.Kind> = []
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let clock = simulation.environment.clock
      let work = ResultOperation(name: "work") {
        try await clock.sleep(for: .seconds(10))
        return 1
      }
      work.deadline = .seconds(10)
      let ends = Counter()
      work.onFinish { _, _ in ends.add() }
      queue.addOperation(work)
      simulation.addStep("another deadline", atAnyTime: true) { work.deadline = .seconds(20) }
      simulation.run()
      try #require(ends.count == 1)
      let kind = try #require(work.outcome?.kind)
      kinds.insert(kind)
      if kind == .cancelled { try #require(work.cancellationReason is OperationTimeout) }
    }
    #expect(report.scheduleCount > 10)
    #expect(kinds == [.succeeded, .cancelled])
  }

  // MARK: Inheritance

  // The attempts take from 20 to 24, from 27 to 31, and from 34 to 38 s. The next would begin at 41 s, after the
  // earliest of the deadlines, which is that of the inner group.
  @Test(arguments: seeds)
  func `an attempt that couldn't begin before the deadline isn't waited for`(seed: UInt64) {
    let world = World(seed: seed)
    let begins = Log<Duration>()
    let clock = world.simulation.environment.clock
    let inner = ResultOperation(name: "inner", retry: .constant(.seconds(3))) {
      begins.add(clock.now)
      try await clock.sleep(for: .seconds(4))
      throw Flaw(1)
    }
    inner.deadline = .seconds(65)
    let delay = DelayOperation(.seconds(20))
    inner.addDependency(delay)
    let middle = GroupOperation(name: "middle") {
      delay
      inner
    }
    middle.deadline = .seconds(40)
    let outer = GroupOperation(name: "outer") { middle }
    outer.deadline = .seconds(60)
    #expect(inner.deadline == .seconds(40))
    world.run(outer)
    #expect(begins.entries == [.seconds(20), .seconds(27), .seconds(34)])
    #expect(world.simulation.now == .seconds(38))
    #expect(inner.flawNumbers == [1, 1, 1])
    let text = "gave up after 3 attempts: no other attempt can begin before the deadline"
    #expect(inner.outcome?.failure?.description.hasSuffix(text) == true)
  }

  @Test func `a hold beyond the deadline ends the operation at once`() {
    let world = World()
    let work = ResultOperation(
      retry: .immediate.retryAfter(holding: "api") { _ in .seconds(60) }
    ) { throw Flaw(1) }
    work.deadline = .seconds(30)
    world.run(work)
    #expect(world.simulation.now == .zero)
    #expect(work.kind == .failed)
  }

  @Test func `a produced operation has the deadline of its producer`() throws {
    let world = World()
    let (produced, later) = (world.taking(60, "produced"), world.taking(60, "later"))
    later.deadline = .seconds(5)
    let producer = ResultOperation {
      try AdvancedOperation.current?.produce(produced)
      try AdvancedOperation.current?.produce(later)
    }
    producer.deadline = .seconds(10)
    world.run(producer)
    #expect(producer.kind == .succeeded)
    #expect((produced.kind, later.kind) == (.cancelled, .cancelled))
    #expect(produced.deadline == .seconds(10) && later.deadline == .seconds(5))
    #expect(world.simulation.now == .seconds(10))
  }

  @Test func `a produced operation keeps the limit of its producer whatever its own deadline is`() {
    let world = World()
    let produced = world.taking(60, "produced")
    let producer = ResultOperation {
      try AdvancedOperation.current?.produce(produced)
      produced.deadline = .seconds(50)
      produced.deadline = nil
    }
    producer.deadline = .seconds(4)
    world.run(producer)
    #expect(produced.kind == .cancelled)
    #expect(world.simulation.now == .seconds(4))
  }

  /// The ways in which a body runs another operation.
  enum Way: CaseIterable, Sendable { case call, scope, sequence }

  @Test(arguments: Way.allCases, [true, false])
  func `operations that a body runs follow changes of its deadline`(way: Way, joins: Bool) throws {
    let world = World()
    let queue = world.queue
    let seen = Log<Duration?>()
    let outer = ResultOperation(name: "outer") { () -> Int in
      let inner = ResultOperation(name: "inner", retry: .constant(.seconds(2)).attempts(3)) {
        try await OperationClock.current.sleep(for: .seconds(2))
        seen.add(AdvancedOperation.current?.deadline)
        if AdvancedOperation.current?.attempt == 1 { throw Flaw(1) }
        return 1
      }
      switch way {
      case .call: return try await queue.run(inner)
      case .scope: return try await withOperations { try await $0.add(inner).value }
      case .sequence:
        let one = AsyncStream { continuation in
          continuation.yield(1)
          continuation.finish()
        }
        return try await one.mapOperations(maxConcurrentOperationCount: 1) { _ in inner }
          .reduce(0, +)
      }
    }
    let first = Call(world) { try await queue.run(outer, deadline: .seconds(3)) }
    let second = joins ? Call(world, after: .seconds(1)) { try await queue.run(outer) } : nil
    world.simulation.run()
    #expect(first.end.value == .seconds(joins ? 3 : 2))
    #expect(try second?.result.value?.get() ?? 1 == 1)
    #expect(seen.entries == (joins ? [nil, nil] : [.seconds(3)]))
  }

  @Test(arguments: seeds)
  func `a deadline doesn't cut off rollbacks`(seed: UInt64) {
    let world = World(seed: seed)
    let deadlines = Log<Duration?>()
    let paid = ResultOperation(name: "pay") { 1 }
    let refund = world.taking(20, "refund")
    let queue = world.queue
    paid.onRollback {
      deadlines.add(AdvancedOperation.current?.deadline)
      try await queue.run(refund)
      try await withOperations { scope in
        let look = ResultOperation { deadlines.add(AdvancedOperation.current?.deadline) }
        try await scope.add(look).value
      }
    }
    let group = GroupOperation(name: "order") {
      paid
      world.taking(60, "ship")
    }
    group.deadline = .seconds(10)
    world.run(group)
    #expect(refund.kind == .succeeded)
    #expect(refund.deadline == nil && deadlines.entries == [nil, nil])
    #expect(world.simulation.now == .seconds(30))
    #expect(group.outcome?.failure?.isTimeout == true)
  }

  @Test func `shared work has no deadline of its callers`() throws {
    let world = World()
    let shared = SharedOperations<Int, Int>("load", queue: world.queue) { [world] key in
      let clock = world.simulation.environment.clock
      return ResultOperation(name: "load") {
        try await clock.sleep(for: .seconds(20))
        return AdvancedOperation.current?.deadline == nil ? key : 0
      }
    }
    let hasty = ResultOperation { try await shared.value(for: 7) }
    hasty.deadline = .seconds(10)
    let patient = ResultOperation { try await shared.value(for: 7) }
    world.run(hasty, patient)
    #expect(hasty.kind == .cancelled)
    #expect(try patient.result?.get() == 7)
  }

  // MARK: Calls

  @Test(arguments: seeds)
  func `a call ends at its deadline and cancels what it has added`(seed: UInt64) throws {
    let world = World(seed: seed)
    let first = world.taking(6, "first")
    let work = first.then(name: "work") {
      try await OperationClock.current.sleep(for: .seconds(60))
    }
    let queue = world.queue
    let call = Call(world) {
      try await queue.run(work, deadline: .seconds(10))
      return 1
    }
    world.simulation.advance(by: .seconds(5))
    #expect(first.deadline == .seconds(10) && work.deadline == .seconds(10))
    world.simulation.run()
    guard case .failure(let failure as OperationFailure) = call.result.value else {
      Issue.record("\(String(describing: call.result.value))")
      return
    }
    #expect(failure.isTimeout)
    #expect(failure.first(OperationTimeout.self)?.kind == .deadline)
    #expect(call.end.value == .seconds(10))
    #expect(first.kind == .succeeded && work.kind == .cancelled)
    #expect(work.outcome?.failure?.isTimeout == true)
    guard case .timeout? = work.outcome?.failure?.cancellation else {
      Issue.record("\(String(describing: work.outcome))")
      return
    }
  }

  @Test func `an operation of several calls is cancelled after the last one`() throws {
    let world = World()
    let work = world.taking(60, "work")
    let queue = world.queue
    let calls = [10, 20].map { seconds in
      Call(world) {
        try await queue.run(work, deadline: .seconds(seconds))
        return seconds
      }
    }
    world.simulation.advance(by: .seconds(15))
    #expect(calls.map(\.end.value) == [.seconds(10), nil])
    #expect(work.deadline == nil && !work.isCancelled)
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(world.simulation.now == .seconds(20))
  }

  @Test func `a call doesn't cancel an operation that the program has added`() {
    let world = World()
    let work = world.taking(60, "work")
    let queue = world.queue
    queue.addOperation(work)
    let call = Call(world) {
      try await queue.run(work, deadline: .seconds(10))
      return 1
    }
    world.simulation.run()
    #expect(call.end.value == .seconds(10))
    #expect(work.kind == .succeeded && work.deadline == nil)
  }

  @Test func `operations of a call whose deadline has passed never execute`() {
    let world = World()
    world.simulation.advance(by: .seconds(13))
    let (first, second) = (Work(), Work())
    second.addDependency(first)
    let queue = world.queue
    let call = Call(world) {
      try await queue.run(second, deadline: .seconds(10))
      return 1
    }
    world.simulation.run()
    #expect(!first.hasStarted && !second.hasStarted)
    #expect(first.isFinished && second.isFinished)
    guard case .failure(let error as OperationFailure) = call.result.value else {
      Issue.record("\(String(describing: call.result.value))")
      return
    }
    #expect(error.first(OperationTimeout.self)?.duration == .seconds(-3))
  }

  @Test func `a call for a finished operation returns its value after the deadline`() throws {
    let world = World()
    let work = ResultOperation { 7 }
    world.run(work)
    world.simulation.advance(by: .seconds(5))
    let queue = world.queue
    #expect(try world.simulation.run { try await queue.run(work, deadline: .seconds(1)) } == 7)
  }

  @Test func `a call in a body has the deadline of the body's operation`() {
    let world = World()
    let deadlines = Log<Duration?>()
    let queue = world.queue
    let outer = ResultOperation {
      for deadline in [nil, .seconds(5), .seconds(60)] as [Duration?] {
        let look = ResultOperation { deadlines.add(AdvancedOperation.current?.deadline) }
        try await queue.run(look, deadline: deadline)
      }
    }
    outer.deadline = .seconds(10)
    world.run(outer)
    #expect(deadlines.entries == [.seconds(10), .seconds(5), .seconds(10)])
  }

  @Test func `joins and deadlines of calls agree in every order`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let clock = simulation.environment.clock
      let work = ResultOperation(name: "work") {
        try await clock.sleep(for: .seconds(30))
        return 1
      }
      let hasty = Call(simulation) { try await queue.run(work, deadline: .seconds(10)) }
      let patient = Call(simulation) { try await queue.run(work) }
      simulation.run()
      try #require(hasty.end.value == .seconds(10))
      try #require(try patient.result.value?.get() == 1)
      try #require(work.deadline == nil)
    }
    #expect(report.scheduleCount > 5)
  }

  // MARK: Scopes

  @Test(arguments: seeds)
  func `a scope cancels its operations at its deadline`(seed: UInt64) throws {
    let world = World(seed: seed)
    let work = world.taking(60, "work")
    let inner = Changing<Duration?>(nil)
    #expect {
      try world.simulation.run {
        try await withOperations(deadline: .seconds(10)) { scope in
          scope.add(GroupOperation(name: "group") { work })
          inner.value = work.deadline
        }
      }
    } throws: { error in
      let failure = error as? OperationFailure
      return failure?.isTimeout == true
        && failure?.first(OperationTimeout.self)?.duration == .seconds(10)
    }
    #expect(inner.value == .seconds(10))
    #expect(work.kind == .cancelled)
    #expect(world.simulation.now == .seconds(10))
  }

  @Test func `a value that is awaited in a scope throws the timeout at the deadline`() throws {
    let world = World()
    let work = world.taking(60, "work")
    #expect {
      try world.simulation.run {
        try await withOperations(deadline: .seconds(10)) { try await $0.add(work).value }
      }
    } throws: { error in
      (error as? OperationFailure)?.isTimeout == true
    }
  }

  @Test func `a scope whose deadline has passed doesn't call its closure`() throws {
    let world = World()
    world.simulation.advance(by: .seconds(10))
    let calls = Counter()
    #expect(throws: OperationFailure.self) {
      try world.simulation.run {
        try await withOperations(deadline: .seconds(10)) { _ in
          calls.add()
          return
        }
      }
    }
    #expect(calls.count == 0)
  }

  @Test func `a scope that ends in time leaves no timer`() throws {
    let world = World()
    let work = world.taking(5, "work")
    try world.simulation.run {
      try await withOperations(deadline: .seconds(60)) { scope in
        scope.add(work)
        return
      }
    }
    world.simulation.run()
    #expect(work.kind == .succeeded)
    #expect(world.simulation.now == .seconds(5))
  }

  @Test func `a scope in a body has the deadline of the body's operation`() throws {
    let world = World()
    let deadlines = Log<Duration?>()
    let outer = ResultOperation {
      for deadline in [nil, .seconds(5), .seconds(60)] as [Duration?] {
        try await withOperations(deadline: deadline) { scope in
          let look = ResultOperation { deadlines.add(AdvancedOperation.current?.deadline) }
          try await scope.add(look).value
        }
      }
    }
    outer.deadline = .seconds(10)
    world.run(outer)
    #expect(deadlines.entries == [.seconds(10), .seconds(5), .seconds(10)])
  }
}

/// A clock whose timers never fire.
private final class LateClock: OperationClock.Source {
  let time = Changing(Duration.zero)
  let identity = ClockIdentity()

  var now: Duration { time.value }
  func sleep(until deadline: Duration) async throws {}
  func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer { OperationTimer(action) }
}
