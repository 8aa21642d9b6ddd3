import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import TestSupport
import Testing

/// Observers are notified of a start if, and only if, the body is called.
@Suite(.heavy) struct `An operation that is cancelled at any time` {
  private static func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
    if !isTrue { throw Witness.Violation(description: text()) }
  }

  /// Runs one operation that a step cancels, and checks that all agree on whether it has started.
  private static func check(
    _ work: AdvancedOperation,
    _ simulation: SimulatedEnvironment,
    _ calls: Counter
  ) throws {
    let recorder = RecordingObserver()
    let timeline = TimelineRecorder()
    let lines = Log<String>()
    let isExecutingAtEnd = Changing(false)
    work.addObserver(recorder)
    work.addObserver(timeline)
    work.addObserver(LogObserver { lines.add($0) })
    work.addObserver(
      BlockObserver(willFinish: { work, _ in isExecutingAtEnd.value = work.isExecuting })
    )
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    simulation.addStep("cancel", atAnyTime: true) { work.cancel() }
    queue.addOperation(work)
    simulation.run()
    let isStarted = recorder.kinds.contains(.started)
    let facts = "\(recorder.kinds), \(calls.count) calls, \(lines.entries)"
    try Self.expect(work.isFinished && queue.operationCount == 0, "it isn't over")
    try Self.expect(calls.count == (isStarted ? 1 : 0), facts)
    try Self.expect(work.hasStarted == isStarted, "hasStarted: \(facts)")
    try Self.expect(isExecutingAtEnd.value == isStarted, "isExecuting: \(facts)")
    let span = timeline.timeline.spans[0]
    try Self.expect((span.started != nil) == isStarted, "the timeline: \(facts)")
    let hasLine = lines.entries.contains { $0.contains("started, ") }
    try Self.expect(hasLine == isStarted, "the log: \(facts)")
    let text = isStarted ? "while executing" : "before it started"
    let others = lines.entries.filter { line in
      line.contains("cancelled while executing") || line.contains("cancelled before it started")
    }
    try Self.expect(others.allSatisfy { $0.contains(text) }, "the log: \(facts)")
  }

  #if DEBUG
  @Test(
    arguments: [AdvancedOperation.CancellationPolicy.finishImmediately, .whenFinishIsCalled],
    [0, 1]
  )
  func `observers are notified of a start exactly if execute is called`(
    policy: AdvancedOperation.CancellationPolicy,
    interruptions: Int
  ) throws {
    let report = try exploreSchedules(
      interruptions: interruptions,
      depthFirst: Effort.schedules(500),
      randomSchedules: Effort.drawn(100)
    ) { simulation in
      let work = Work("work", policy: policy)
      try Self.check(work, simulation, work.executions)
    }
    #expect(report.isComplete || report.scheduleCount > 100)
  }

  @Test(arguments: [0, 1])
  func `observers are notified of a start exactly if the async body is called`(
    interruptions: Int
  ) throws {
    let report = try exploreSchedules(
      interruptions: interruptions,
      depthFirst: Effort.schedules(500),
      randomSchedules: Effort.drawn(100)
    ) { simulation in
      let calls = Counter()
      try Self.check(ResultOperation(name: "work") { _ = calls.add() }, simulation, calls)
    }
    #expect(report.isComplete || report.scheduleCount > 100)
  }
  #endif

  /// An async body whose end is decided at the cancel.
  private final class Impatient: ResultOperation<Void>, @unchecked Sendable {
    override var cancellationPolicy: CancellationPolicy { .finishImmediately }
  }

  @Test func `the async body is called even if a cancel has already finished the operation`() {
    let world = World()
    let found = Log<Bool>()
    let work = Impatient { found.add(Task.isCancelled) }
    work.onStart { $0.cancel() }
    world.run(work)
    #expect(found.entries == [true])
    #expect(work.kind == .cancelled)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a body that is called after the end is released`() {
    let world = World()
    let live = LiveCount()
    let work: Impatient
    do {
      let token = live.token()
      work = Impatient { token.touch() }
    }
    work.onStart { $0.cancel() }
    world.run(work)
    #expect(work.isFinished)
    #expect(live.alive == 0)
  }

  @Test func `a group that is cancelled at its start cancels its children unstarted`() {
    let world = World()
    let child = Work("child")
    let group = GroupOperation(name: "group") { child }
    group.onStart { $0.cancel(withError: Flaw(1)) }
    world.run(group)
    #expect(group.hasStarted)
    #expect(child.kind == .cancelled && !child.hasStarted)
    #expect(group.kind == .cancelled)
  }
}
