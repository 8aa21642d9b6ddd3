import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import TestSupport
import Testing

/// What programs are given as a duration comes from configuration: it may be anything.
@Suite struct `A duration as long as can be` {
  static let durations: [Duration] = [
    .seconds(Int64.max), .seconds(1e20), .longest, Duration(attoseconds: .max),
  ]
  static let others: [Duration] = [
    .zero, .seconds(-1), .seconds(Int64.min + 1), .seconds(-1e20), Duration(attoseconds: .min),
  ]

  private struct Flaw: Error {}

  /// A workflow of everything that takes a duration, each of them given the same one.
  private static func operations(_ duration: Duration) -> [AdvancedOperation] {
    @Sendable func work(_ name: String, fails: Bool = false) -> AdvancedOperation {
      let work = ResultOperation(name: name) { if fails { throw Flaw() } }
      // One each: a circuit that one of them opened would refuse the others.
      let breaker = CircuitBreaker(failures: 1, cooldown: max(duration, .zero))
      for phase in TimeoutObserver.Phase.allCases {
        work.addObserver(TimeoutObserver(duration, of: phase))
      }
      work.addObserver(breaker)
      work.addObserver(LogObserver { _ in })
      work.addCondition(CircuitClosed(breaker))
      return work
    }
    let policies: [RetryPolicy] = [
      .constant(duration).attempts(3), .linear(duration).attempts(3),
      .exponential(duration).attempts(3),
      .exponential(duration, cap: duration).jittered().attempts(200),
      RetryPolicy { count, _ in count < 3 ? duration : nil },
    ]
    let limited = policies + policies.map { $0.totalTimeout(duration).attemptTimeout(duration) }
    return [work("succeeding"), work("failing", fails: true), DelayOperation(duration)]
      + limited.map { policy in ResultOperation(name: "retried", retry: policy) { throw Flaw() } }
      + limited.map { policy in RetryOperation(retry: policy) { _ in work("attempt", fails: true) }
      }
      + [RepeatOperation(times: 3, every: duration) { _ in work("round") }]
  }

  @Test(arguments: Effort.some(durations + others, every: 3))
  func `very long durations don't trap in virtual time`(
    duration: Duration
  ) throws {
    for first in [Duration.zero, .seconds(1), .longest - .seconds(1)] {
      let world = World()
      let recorder = TimelineRecorder()
      world.queue.addObserver(recorder)
      world.simulation.advance(by: first)
      let operations = Self.operations(duration)
      world.queue.addOperations(operations)
      try world.simulation.run(until: { operations.contains { $0.isExecuting } })
      for operation in operations { _ = "\(operation.explain())" }
      _ = "\(world.queue.explain())"
      world.simulation.run()
      if duration.clamped == .longest {
        #expect(operations[0].isFinished && !operations[2].isFinished)
        world.queue.cancelAllOperations()
        world.simulation.run()
      }
      #expect(operations.allSatisfy { $0.isFinished })
      // Time never moves to its end, whatever waits until then.
      #expect(world.simulation.now < .longest)
      // Whatever ran, the files are small.
      #expect(recorder.timeline.svg().utf8.count < 2_000 * (recorder.timeline.spans.count + 20))
      #expect(!recorder.timeline.chromeTrace().isEmpty)
      #expect(recorder.timeline.plan.schedule(workers: 2).duration <= .longest)
      world.simulation.advance(by: duration)
    }
  }

  private static let clocks = [
    OperationClock(ContinuousClock()), OperationClock(SuspendingClock()),
    OperationClock(OwnClock()),
  ]

  /// A clock that is none of the system's.
  private struct OwnClock: Clock {
    private let clock = SuspendingClock()
    var now: SuspendingClock.Instant { clock.now }
    var minimumResolution: Duration { clock.minimumResolution }
    func sleep(until deadline: SuspendingClock.Instant, tolerance: Duration?) async throws {
      try await clock.sleep(until: deadline, tolerance: tolerance)
    }
  }

  @Test(.watched, arguments: durations)
  func `a wait of the longest duration in real time ends with a cancel`(
    duration: Duration
  ) async throws {
    for clock in Self.clocks {
      let queue = AdvancedOperationQueue(environment: OperationEnvironment(clock: clock))
      let operations = Self.operations(duration)
      queue.addOperations(operations)
      // The one that needs no time.
      try await operations[0].untilFinished()
      #expect(operations[0].outcome?.isSuccess == true)
      #expect(!operations[2].isFinished)
      queue.cancelAllOperations()
      try await queue.untilAllOperationsAreFinished()
    }
  }

  @Test(.watched, arguments: Effort.some(others, every: 2))
  func `a duration that isn't positive causes no wait in real time`(duration: Duration) async throws
  {
    for clock in Self.clocks {
      let queue = AdvancedOperationQueue(environment: OperationEnvironment(clock: clock))
      queue.addOperations(Self.operations(duration))
      try await queue.untilAllOperationsAreFinished()
    }
  }

  @Test(arguments: durations + others, durations + others)
  func `very long durations don't trap in a plan`(one: Duration, other: Duration) throws {
    let plan = try OperationPlan(
      durations: [one, other, one, .seconds(1)],
      edges: [(from: 0, to: 1), (from: 1, to: 2), (from: 0, to: 3)]
    )
    #expect(plan.work <= .longest && plan.work >= .seconds(1))
    #expect(plan.criticalDuration <= plan.work)
    #expect(plan.slack.allSatisfy { $0 >= .zero && $0 <= .longest })
    for order in OperationSchedule.Order.allCases {
      for workers in 1...3 {
        let schedule = plan.schedule(workers: workers, order: order)
        #expect(schedule.duration >= plan.criticalDuration && schedule.duration <= plan.work)
      }
    }
  }

  @Test(arguments: [1, 60, 1e6, 1e9, 1e10, 1e12, 1e14, 1e16, 1e18, 9e18] as [Double])
  func `a picture of very long durations is as large as others`(seconds: Double) {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    for part in 1...3 { world.queue.addOperation(DelayOperation(.seconds(seconds / Double(part)))) }
    world.simulation.run()
    let ticks = recorder.timeline.svg().split(separator: "stroke=\"#e4e4e4\"").count - 1
    #expect((2...11).contains(ticks))
    #expect(recorder.timeline.svg().utf8.count < 8_000)
  }
}
