import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import Testing

/// What an operation waited for, as its timeline has it.
@Suite(.watched) struct `A timeline, of waits` {
  @Test func `a timeline distinguishes condition evaluation from a value that is passed on`() {
    let world = World()
    let recorder = TimelineRecorder()
    let load = world.taking(3, "load")
    let parse = load.then(name: "parse") {}
    let store = parse.then(name: "store") {}
    store.addCondition(Immediate(always: .satisfied))
    for operation in [load, parse, store] { operation.addObserver(recorder) }
    world.queue.addOperations([load, parse])
    world.simulation.run(until: .seconds(1))
    #expect(recorder.timeline.spans.map(\.evaluationStarted) == [nil, nil])

    world.queue.addOperation(store)
    world.simulation.run()
    #expect(recorder.timeline.spans.map(\.evaluationStarted) == [nil, nil, .seconds(3)])
    #expect(recorder.timeline.spans.map(\.ready) == [nil, .seconds(3), .seconds(3)])
  }

  @Test func `a timeline knows a wait for an unrecorded operation until that has ended`() {
    let world = World()
    let recorder = TimelineRecorder()
    let (waiting, late) = (world.taking(2, "waiting"), world.taking(3, "late"))
    waiting.addObserver(recorder)
    waiting.addDependency(late)
    world.queue.addOperation(waiting)
    world.simulation.run(until: .seconds(5))
    #expect(
      recorder.timeline.phases(of: 0)
        == [.init(kind: .dependencies, begin: .zero, end: .seconds(5))]
    )
    world.queue.addOperation(late)
    world.simulation.run()
    #expect(recorder.timeline.spans[0].started == .seconds(8))
  }

  @Test func `a timeline distinguishes the wait for a slot from the wait for dependencies`() {
    let world = World(limit: 1)
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let operations = ["a", "b", "c"].map { world.taking(2, $0) }
    operations[2].addDependency(operations[0])
    world.queue.addOperations(operations)
    world.simulation.run()

    let timeline = recorder.timeline
    #expect(timeline.phases(of: 0) == [])
    #expect(timeline.phases(of: 1) == [.init(kind: .turn, begin: .zero, end: .seconds(2))])
    #expect(
      timeline.phases(of: 2) == [
        .init(kind: .dependencies, begin: .zero, end: .seconds(2)),
        .init(kind: .turn, begin: .seconds(2), end: .seconds(4)),
      ]
    )
    // The queue could do no better with one at a time; with two it could.
    #expect(timeline.plan.schedule(workers: 1).duration == timeline.duration)
    #expect(timeline.plan.schedule(workers: 2).duration == .seconds(4))
  }

  @Test func `a timeline distinguishes the wait to evaluate conditions from dependencies`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (free, before, behind) = (Work("free"), world.taking(3, "before"), Work("behind"))
    behind.addDependency(before)
    for work in [free, behind] { work.addCondition(BlockCondition("yes") { true }) }
    world.queue.isSuspended = true
    world.queue.addOperations([free, before, behind])
    world.simulation.advance(by: .seconds(10))
    world.queue.isSuspended = false
    world.simulation.run()

    let timeline = recorder.timeline
    #expect(timeline.phases(of: 0) == [.init(kind: .turn, begin: .zero, end: .seconds(10))])
    #expect(
      timeline.phases(of: 2) == [.init(kind: .dependencies, begin: .zero, end: .seconds(13))]
    )
  }

  @Test(arguments: [true, false], [Duration.zero, .seconds(2)])
  func `a timeline distinguishes a cancelled operation's waits`(
    hasClaim: Bool,
    free: Duration
  ) {
    let world = World(limit: hasClaim ? 2 : 1)
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (holder, waiter) = (world.taking(10, "holder"), Work("waiter"))
    if hasClaim { for work in [holder, waiter] { work.addClaim(MutuallyExclusive("site")) } }
    if free > .zero {
      let before = world.taking(2, "before")
      before.addObserver(recorder)
      waiter.addDependency(before)
      world.makeQueue().addOperation(before)
    }
    world.queue.addOperations([holder, waiter])
    world.simulation.advance(by: .seconds(5))
    waiter.cancel()
    world.simulation.run()

    let timeline = recorder.timeline
    let index = timeline.spans.firstIndex { $0.name == "waiter" } ?? 0
    let turn = OperationTimeline.Phase(kind: .turn, begin: free, end: .seconds(5))
    let before = OperationTimeline.Phase(kind: .dependencies, begin: .zero, end: free)
    #expect(timeline.phases(of: index) == (free > .zero ? [before, turn] : [turn]))
  }

  /// In real time nothing happens at the same moment.
  @Test(arguments: [true, false])
  func `a timeline distinguishes a cancelled operation's waits in real time`(
    hasClaim: Bool
  ) async throws {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = hasClaim ? 2 : 1
    let recorder = TimelineRecorder()
    queue.addObserver(recorder)
    let (holder, waiter) = (Work.open("holder"), Work("waiter"))
    if hasClaim { for work in [holder, waiter] { work.addClaim(MutuallyExclusive("site")) } }
    queue.addOperation(holder)
    while !holder.hasStarted { await Task.yield() }
    queue.addOperation(waiter)
    waiter.cancel(withError: Flaw(1))
    try await waiter.untilFinished()
    holder.finish()
    try await queue.untilAllOperationsAreFinished()
    let timeline = recorder.timeline
    let kinds = timeline.phases(of: 1).map(\.kind)
    #expect(timeline.spans[1].ready == nil)
    #expect(kinds == [.turn])
  }

  @Test func `a timeline shows an operation cancelled before its dependency ended as waiting`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (before, waiter) = (world.taking(9, "before"), Work("waiter"))
    waiter.addDependency(before)
    world.queue.addOperations([before, waiter])
    world.simulation.advance(by: .seconds(5))
    waiter.cancel()
    world.simulation.run()
    #expect(
      recorder.timeline.phases(of: 1)
        == [.init(kind: .dependencies, begin: .zero, end: .seconds(5))]
    )
  }

  @Test func `a timeline knows when a plain dependency ended`() {
    let world = World(limit: 1)
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let plain = BlockOperation {}
    let (waiting, holder) = (Work("waiting"), world.taking(4, "holder"))
    waiting.addDependency(plain)
    let other = AdvancedOperationQueue(environment: world.simulation.environment)
    other.isSuspended = true
    other.addOperation(plain)
    world.queue.addOperations([waiting, holder])
    world.simulation.advance(by: .seconds(3))
    other.isSuspended = false
    world.simulation.run()
    #expect(
      recorder.timeline.phases(of: 0) == [
        .init(kind: .dependencies, begin: .zero, end: .seconds(3)),
        .init(kind: .turn, begin: .seconds(3), end: .seconds(4)),
      ]
    )
    #expect(recorder.timeline.svg().contains("critical path 4 s · 1 not recorded"))
  }

  @Test func `a timeline shows running operations up to the current time`() {
    let world = World()
    let recorder = TimelineRecorder()
    let (going, waiting) = (world.taking(100, "going"), Work("waiting"))
    waiting.addDependency(going)
    for operation in [going, waiting] { operation.addObserver(recorder) }
    world.queue.addOperations([going, waiting])
    world.simulation.advance(by: .seconds(10))

    let timeline = recorder.timeline
    #expect(timeline.end == .seconds(10))
    #expect(timeline.spans[0].ended == nil)
    #expect(timeline.spans[1].dependencies == [0])
    #expect(timeline.plan.durations == [.seconds(10), .zero])
    #expect(
      timeline.phases(of: 1) == [.init(kind: .dependencies, begin: .zero, end: .seconds(10))]
    )
    going.cancel()
    world.simulation.run()
    #expect(recorder.timeline.spans[0].cancelled == .seconds(10))
    #expect(recorder.timeline.spans[0].outcome?.kind == .cancelled)
  }

  @Test(arguments: [true, false])
  func `a timeline shows no wait after the cancel of an unstarted operation`(hasDependency: Bool) {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (before, waiter) = (world.taking(9, "before"), Work("waiter"))
    if hasDependency { waiter.addDependency(before) }
    waiter.addClaim(MutuallyExclusive("site"))
    world.queue.isSuspended = true
    world.queue.addOperations([waiter, before])
    world.simulation.advance(by: .seconds(5))
    waiter.cancel()
    world.simulation.advance(by: .seconds(2))
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(recorder.timeline.spans[0].ended == .seconds(7))
    let kind: OperationTimeline.Phase.Kind = hasDependency ? .dependencies : .turn
    #expect(
      recorder.timeline.phases(of: 0) == [.init(kind: kind, begin: .zero, end: .seconds(5))]
    )
  }

  @Test func `a timeline shows a manually started operation from its evaluation on`() {
    let world = World()
    let recorder = TimelineRecorder()
    let work = world.taking(2, "work")
    work.environment = world.simulation.environment
    work.addObserver(recorder)
    work.addCondition(world.askedFor(3))
    world.simulation.advance(by: .seconds(1))
    work.start()
    world.simulation.run()
    let timeline = recorder.timeline
    #expect(timeline.begin == .seconds(1))
    #expect(timeline.duration == .seconds(5))
    #expect(
      timeline.phases(of: 0)
        == [.init(kind: .conditions, begin: .seconds(1), end: .seconds(4))]
    )
  }

  @Test func `a timeline distinguishes the wait for a journal from dependencies`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let journal = InMemoryJournal()
    journal.delay = .seconds(2)
    let work = ResultOperation { 1 }.recorded(as: "work", in: journal)
    world.run(work)
    #expect(
      recorder.timeline.phases(of: 0)
        == [.init(kind: .conditions, begin: .zero, end: .seconds(2))]
    )
    #expect(recorder.timeline.svg().contains("read its journal for 2 s"))
  }
}
