import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@testable import AdvancedOperations

/// Attaches a limit of a minute, and notes when it cancels.
private func limited(
  _ operation: AdvancedOperation,
  _ cancelled: Log<Duration>
) {
  operation.addObserver(TimeoutObserver(withoutProgressFor: .seconds(60)))
  operation.onCancel { operation, _ in cancelled.add(operation.environment.clock.now) }
}

@Suite struct `A limit of the time without progress` {
  private static let hour = Duration.seconds(3600)

  /// Reports again and again, each time a number that depends on the count.
  private static func reporting(
    in world: World,
    each seconds: Int,
    for duration: Duration,
    _ number: @escaping @Sendable (Int64) -> Int64
  ) -> ResultOperation<Void> {
    let clock = world.simulation.environment.clock
    return ResultOperation(name: "reporting") {
      var count: Int64 = 0
      while clock.now < duration {
        AdvancedOperation.current?.updateProgress(completed: number(count), total: 1_000_000)
        count += 1
        try await clock.sleep(for: .seconds(seconds))
      }
    }
  }

  @Test func `a stall limit lets an operation run that reports progress each 59 seconds`() {
    let world = World()
    let work = Self.reporting(in: world, each: 59, for: Self.hour * 10) { $0 }
    limited(work, Log())
    world.run(work)
    #expect(work.kind == .succeeded)
    #expect(world.simulation.now >= Self.hour * 10)
  }

  @Test func `a stall limit cancels an operation that reports the same number each second`() {
    let (world, cancelled) = (World(), Log<Duration>())
    let work = Self.reporting(in: world, each: 1, for: Self.hour) { _ in 7 }
    limited(work, cancelled)
    world.run(work)
    #expect(cancelled.entries == [.seconds(60)])
    #expect(work.kind == .cancelled)
    let timeout = work.cancellationReason as? OperationTimeout
    #expect(timeout?.duration == .seconds(60) && timeout?.kind == .stallLimit)
    #expect(timeout?.description == "No progress was made for 1 min.")
    #expect(work.outcome?.failure?.isTimeout == true)
  }

  @Test func `a stall limit cancels an operation a minute after its last report`() {
    let (world, cancelled) = (World(), Log<Duration>())
    let work = Self.reporting(in: world, each: 10, for: Self.hour) { min($0, 30) }
    limited(work, cancelled)
    world.run(work)
    #expect(cancelled.entries == [.seconds(30 * 10 + 60)])
  }

  @Test func `a stall limit cancels an operation without reports a minute after its start`() {
    let (world, cancelled) = (World(limit: 1), Log<Duration>())
    let work = world.body("work", seconds: 3600)
    limited(work, cancelled)
    world.run(world.body("before", seconds: 600), work)
    #expect(cancelled.entries == [.seconds(660)])
  }

  @Test(arguments: [true, false])
  func `a stall limit doesn't measure delays between attempts, and begins again`(releases: Bool) {
    let (world, cancelled) = (World(limit: 1), Log<Duration>())
    let policy = RetryPolicy.constant(.seconds(600)).attempts(3)
    let clock = world.simulation.environment.clock
    let work = ResultOperation(name: "work", retry: releases ? policy.releasingSlot() : policy) {
      try await clock.sleep(for: .seconds(50))
      if AdvancedOperation.current?.attempt != 3 { throw Flaw(1) }
    }
    limited(work, cancelled)
    // With another operation that has the slot when the first delay is over.
    world.run(work, world.body("other", seconds: 1200))
    #expect(work.kind == .succeeded)
    #expect(cancelled.entries == [])
  }

  @Test func `a stall limit measures a later attempt from its beginning`() {
    let (world, cancelled) = (World(), Log<Duration>())
    let clock = world.simulation.environment.clock
    let work = ResultOperation(name: "work", retry: .constant(.seconds(600)).attempts(3)) {
      if AdvancedOperation.current?.attempt == 1 { throw Flaw(1) }
      try await clock.sleep(for: .seconds(3600))
    }
    limited(work, cancelled)
    world.run(work)
    #expect(cancelled.entries == [.seconds(660)])
  }

  @Test func `an attempt that reports the numbers of the attempt before has progressed`() {
    let (world, cancelled) = (World(), Log<Duration>())
    let clock = world.simulation.environment.clock
    let work = ResultOperation(name: "work", retry: .immediate.attempts(2)) {
      try await clock.sleep(for: .seconds(40))
      AdvancedOperation.current?.updateProgress(completed: 1, total: 10)
      if AdvancedOperation.current?.attempt == 1 { throw Flaw(1) }
      try await clock.sleep(for: .seconds(40))
    }
    limited(work, cancelled)
    world.run(work)
    #expect(work.kind == .succeeded)
    #expect(cancelled.entries == [])
  }

  @Test func `a stall limit doesn't measure the body's wait for its slot`() {
    let (world, cancelled) = (World(limit: 1), Log<Duration>())
    let clock = world.simulation.environment.clock
    let work = ResultOperation(name: "work") {
      try await releasingSlot { try await clock.sleep(for: .seconds(40)) }
      try await clock.sleep(for: .seconds(600))
    }
    limited(work, cancelled)
    world.run(work, world.body("other", seconds: 1000))
    #expect(cancelled.entries == [.seconds(1020)])
  }

  @Test func `a stall limit begins again at the end and at the progress of a child`() {
    let (world, cancelled) = (World(), Log<Duration>())
    let clock = world.simulation.environment.clock
    let group = GroupOperation(name: "group", maxConcurrentOperationCount: 1) {
      world.body("first", seconds: 50)
      world.body("second", seconds: 50)
      ResultOperation(name: "third") {
        for number in 1...3 {
          try await clock.sleep(for: .seconds(50))
          AdvancedOperation.current?.updateProgress(completed: Int64(number), total: 5)
        }
        try await clock.sleep(for: .seconds(3600))
      }
    }
    limited(group, cancelled)
    world.run(group)
    #expect(cancelled.entries == [.seconds(5 * 50 + 60)])
  }

  @Test func `a stall limit begins again at each round`() {
    let (world, cancelled) = (World(), Log<Duration>())
    let `repeat` = RepeatOperation(name: "repeat", times: 5, pause: .seconds(600)) { _ in
      world.body("round", seconds: 50)
    }
    limited(`repeat`, cancelled)
    let retry = RetryOperation(retry: .immediate.attempts(3)) { attempt in
      attempt == 3 ? world.body("good", seconds: 50) : world.failing(after: 50)
    }
    limited(retry, cancelled)
    world.run(`repeat`, retry)
    #expect(`repeat`.kind == .succeeded && retry.kind == .succeeded)
    #expect(cancelled.entries == [])
  }

  @Test func `a stall limit doesn't measure rollbacks`() {
    let (world, cancelled) = (World(), Log<Duration>())
    let clock = world.simulation.environment.clock
    let done = world.body("done", seconds: 1)
    done.onRollback { try await clock.sleep(for: .seconds(600)) }
    let failing = world.failing(after: 1)
    failing.addDependency(done)
    let group = GroupOperation(name: "group") {
      done
      failing
    }
    limited(group, cancelled)
    world.run(group)
    #expect(group.kind == .failed)
    #expect(cancelled.entries == [])
    #expect(world.simulation.now == .seconds(602))
  }

  @Test func `a stall limit counts from its attachment until its removal`() {
    let (world, cancelled) = (World(), Log<Duration>())
    let work = world.body("work", seconds: 3600)
    let removed = work.addObserver(TimeoutObserver(withoutProgressFor: .seconds(60)))
    world.queue.addOperation(work)
    world.simulation.run(until: .seconds(30))
    removed.remove()
    world.simulation.run(until: .seconds(100))
    work.addObserver(TimeoutObserver(withoutProgressFor: .seconds(90)))
    work.onCancel { operation, _ in cancelled.add(operation.environment.clock.now) }
    world.simulation.run()
    #expect(cancelled.entries.count == 1)
    #expect(work.kind == .cancelled)
  }

  @Test func `the explanation names the time without progress`() {
    let world = World()
    let work = Self.reporting(in: world, each: 10, for: Self.hour) { min($0, 6) }
    work.addObserver(TimeoutObserver(withoutProgressFor: .seconds(600)))
    world.queue.addOperation(work)
    world.simulation.run(until: .seconds(300))
    let line = text(work).split(separator: "\n").first
    #expect(line == "reporting has been executing for 5 min, without progress for 4 min")
  }
}

@Suite struct `The time without progress as a value` {
  private let limit = TimeLimit(
    timeout: TimeoutObserver(withoutProgressFor: .seconds(60)),
    observation: AdvancedOperation().addObserver(TimeoutObserver(.seconds(1)))
  )

  @Test func `a stall timer is set again after progress, and cancels without progress`() {
    var watch = StallWatch(at: .zero, isPaused: false)
    watch.progressed(at: .seconds(30))
    #expect(watch.idleTime(at: .seconds(45)) == .seconds(15))
    var action = watch.timerCame(of: limit, dueAt: .seconds(60), at: .seconds(60))
    #expect(action == .again)
    action = watch.timerCame(of: limit, dueAt: .seconds(90), at: .seconds(90))
    #expect(action == .cancel)
  }

  @Test func `only other numbers are progress`() {
    var watch = StallWatch(at: .zero, isPaused: false)
    let numbers: [Int64] = [0, 0, 1, 1, 0]
    let isProgress = numbers.map {
      watch.says(OperationProgress(completedUnitCount: $0, totalUnitCount: 2))
    }
    #expect(isProgress == [true, false, true, false, true])
  }

  @Test func `a stall limit subtracts waits, and sets a timer again that fires in one`() {
    var watch = StallWatch(at: .zero, isPaused: false)
    watch.paused(at: .seconds(10))
    watch.paused(at: .seconds(20))
    let action = watch.timerCame(of: limit, dueAt: .seconds(60), at: .seconds(60))
    #expect(action == .none)
    #expect(watch.idleTime(at: .seconds(60)) == nil)
    let early = watch.resumed(at: .seconds(100))
    #expect(early.isEmpty)
    let due = watch.resumed(at: .seconds(110))
    #expect(due.count == 1)
    #expect(watch.idleTime(at: .seconds(120)) == .seconds(20))
  }

  @Test func `a timer that is later than its limit, because the machine slept, begins again`() {
    var watch = StallWatch(at: .zero, isPaused: false)
    var action = watch.timerCame(of: limit, dueAt: .seconds(60), at: .seconds(7200))
    #expect(action == .again)
    action = watch.timerCame(of: limit, dueAt: .seconds(7260), at: .seconds(7261))
    #expect(action == .cancel)
  }
}

extension World {
  fileprivate func failing(after seconds: Int) -> ResultOperation<Void> {
    let clock = simulation.environment.clock
    return ResultOperation(name: "failing") {
      try await clock.sleep(for: .seconds(seconds))
      throw Flaw(1)
    }
  }
}
