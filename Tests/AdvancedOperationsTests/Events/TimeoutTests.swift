import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `A timeout` {
  /// An operation that spends 10 s in each phase: waiting for a dependency, being asked, waiting
  /// for a slot, executing.
  private static func slow(_ world: World) -> AdvancedOperation {
    let sleep: @Sendable (AdvancedOperation) async -> Void = { operation in
      let clock = operation.environment.clock
      try? await clock.sleep(until: clock.now + .seconds(10))
    }
    let dependency = ResultOperation(name: "dependency") {
      if let operation = AdvancedOperation.current { await sleep(operation) }
    }
    let work = ResultOperation(name: "work") {
      if let operation = AdvancedOperation.current { await sleep(operation) }
    }
    work.addDependency(dependency)
    work.addCondition(
      Asked { operation in
        await sleep(operation)
        return .satisfied
      }
    )
    let holder = ResultOperation(name: "holder") {
      for _ in 0..<3 {
        if let operation = AdvancedOperation.current { await sleep(operation) }
      }
    }
    let other = world.makeQueue()
    other.addOperation(dependency)
    world.queue.addOperation(holder)
    world.queue.addOperation(work)
    return work
  }

  /// How long each phase of that operation takes: 10 s waiting and 10 s being asked and 10 s
  /// waiting for the slot, then 10 s of work.
  private static let durations: [(TimeoutObserver.Phase, Int)] = [
    (.waiting, 30), (.evaluating, 10), (.executing, 10), (.all, 40),
  ]

  @Test(arguments: durations.indices)
  func `a timeout that is longer than its phase does nothing`(index: Int) {
    let (phase, seconds) = Self.durations[index]
    let world = World(limit: 1)
    let work = Self.slow(world)
    work.addObserver(TimeoutObserver(.seconds(seconds + 1), of: phase))
    world.simulation.run()
    #expect(work.kind == .succeeded)
    #expect(world.simulation.now == .seconds(40))
  }

  @Test(arguments: durations.indices)
  func `a timeout that is shorter than its phase cancels the operation on time`(index: Int) throws {
    let (phase, seconds) = Self.durations[index]
    let begin: Int =
      switch phase {
      case .waiting, .all: 0
      case .evaluating: 10
      case .executing: 30
      }
    let world = World(limit: 1)
    let work = Self.slow(world)
    let duration = Duration.seconds(seconds - 1)
    work.addObserver(TimeoutObserver(duration, of: phase))
    let when = Changing<Duration?>(nil)
    work.onCancel { operation, _ in when.value = operation.environment.clock.now }
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(when.value == .seconds(begin) + duration)
    #expect(work.errors.first as? OperationTimeout == OperationTimeout(duration: duration))
    #expect(work.cancellationReason is OperationTimeout)
    #expect(work.origins.first == .timeout)
  }

  @Test func `a timeout without a phase applies to executing`() {
    let world = World(limit: 1)
    let work = Self.slow(world)
    work.addObserver(TimeoutObserver(.seconds(9)))
    world.simulation.run()
    #expect(work.kind == .cancelled)
    #expect(work.errors.first is OperationTimeout)
  }

  @Test func `a timeout that is attached during its phase counts from that moment`() {
    let world = World()
    let work = Work.open(policy: .whenFinishIsCalled)
    world.run(work)
    world.simulation.advance(by: .seconds(100))
    work.addObserver(TimeoutObserver(.seconds(5)))
    world.simulation.advance(by: .seconds(4))
    #expect(!work.isCancelled)
    world.simulation.advance(by: .seconds(1))
    #expect(work.isCancelled)
    work.finish()
  }

  @Test(arguments: [TimeoutObserver.Phase.all, .waiting])
  func `a late timeout for the whole operation counts from the enqueueing`(
    phase: TimeoutObserver.Phase
  ) {
    let world = World()
    let before = Work.open("before")
    let work = Work.open("work")
    work.addDependency(before)
    world.queue.addOperations([before, work])
    world.simulation.advance(by: .seconds(20))
    work.addObserver(TimeoutObserver(.seconds(30), of: phase))
    world.simulation.advance(by: .milliseconds(9_999))
    #expect(!work.isCancelled)
    world.simulation.advance(by: .milliseconds(1))
    #expect(work.cancellationReason as? OperationTimeout == .init(duration: .seconds(30)))
    before.finish()
  }

  @Test func `a timeout that has already passed cancels the operation immediately`() {
    let world = World()
    let (queued, byHand) = (Work.open("queued"), Work.open("by hand"))
    world.queue.addOperation(queued)
    byHand.environment = world.simulation.environment
    world.simulation.advance(by: .seconds(10))
    byHand.start()
    world.simulation.advance(by: .seconds(20))
    for work in [queued, byHand] { work.addObserver(TimeoutObserver(.seconds(25), of: .all)) }
    world.simulation.advance(by: .zero)
    #expect(queued.kind == .cancelled)
    #expect(!byHand.isCancelled)
    world.simulation.advance(by: .seconds(5))
    #expect(byHand.kind == .cancelled)
  }

  @Test func `a timeout that is attached after its phase does nothing`() {
    let world = World()
    let work = Work.open()
    world.run(work)
    work.addObserver(TimeoutObserver(.seconds(5), of: .waiting))
    world.simulation.advance(by: .seconds(100))
    #expect(!work.isCancelled)
    work.finish()
    work.addObserver(TimeoutObserver(.seconds(5)))
    world.simulation.advance(by: .seconds(100))
    #expect(work.kind == .succeeded)
  }

  @Test func `a removed timeout does nothing whether it was running or not`() {
    let world = World()
    let work = Work.open()
    let running = work.addObserver(TimeoutObserver(.seconds(5), of: .all))
    let coming = work.addObserver(TimeoutObserver(.seconds(5), of: .executing))
    world.queue.isSuspended = true
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(4))
    running.remove()
    coming.remove()
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(work.isExecuting)
    #expect(!work.isCancelled)
    #expect(world.simulation.now == .seconds(4), "no timer is left")
    work.finish()
    world.simulation.run()
  }

  @Test func `a timeout of a manually started operation counts from the start`() {
    let world = World()
    for phase in [TimeoutObserver.Phase.all, .executing] {
      let work = Work.open()
      work.environment = world.simulation.environment
      work.addObserver(TimeoutObserver(.seconds(5), of: phase))
      world.simulation.advance(by: .seconds(100))
      #expect(!work.isCancelled)
      work.start()
      world.simulation.advance(by: .seconds(4))
      #expect(!work.isCancelled)
      world.simulation.advance(by: .seconds(1))
      #expect(work.kind == .cancelled)
    }
  }

  @Test func `a timeout releases an operation that has finished`() {
    let world = World()
    weak var weakly: Work?
    do {
      let work = Work()
      for phase in TimeoutObserver.Phase.allCases {
        work.addObserver(TimeoutObserver(.seconds(86_400), of: phase))
      }
      weakly = work
      world.run(work)
    }
    #expect(weakly == nil)
    #expect(world.simulation.now == .zero, "nobody waits for a timer")
  }

  @Test func `a timeout observer can serve many operations`() {
    let world = World()
    let timeout = TimeoutObserver(.seconds(5))
    let works = (0..<3).map { _ in Work.open() }
    for work in works { work.addObserver(timeout) }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .cancelled })
  }

  @Test(.watched) func `a very long timeout never passes`() async throws {
    let queue = AdvancedOperationQueue()
    let (entered, leave) = (Latch(), Latch())
    let longest: [Duration] = [
      .seconds(Int64.max), .nanoseconds(Int64.max), .milliseconds(9_223_372_036_999),
    ]
    let work = Work { work in
      entered.open()
      leave.pass()
      work.finish()
    }
    for duration in longest { work.addObserver(TimeoutObserver(duration)) }
    // Later than the timers, were they due at once.
    let after = Work.open()
    after.addObserver(TimeoutObserver(.milliseconds(20)))
    queue.addOperations([work, after])
    await entered.opened()
    try await after.untilFinished()
    #expect(!work.isCancelled)
    leave.open()
    try await work.untilFinished()
    #expect(work.kind == .succeeded)
  }
}
