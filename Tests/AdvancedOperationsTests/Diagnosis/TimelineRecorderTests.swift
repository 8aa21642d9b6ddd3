import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

extension World {
  /// An operation whose body takes some virtual time.
  func taking(_ seconds: Int, _ name: String) -> ResultOperation<Void> {
    let clock = simulation.environment.clock
    return ResultOperation(name: name) {
      try await clock.sleep(until: clock.now + .seconds(seconds))
    }
  }

  /// A condition that is satisfied after some virtual time.
  func askedFor(_ seconds: Int) -> Asked {
    let clock = simulation.environment.clock
    return Asked { _ in
      try? await clock.sleep(until: clock.now + .seconds(seconds))
      return .satisfied
    }
  }
}

@Suite(.watched) struct `A recorder of the timeline` {
  @Test(arguments: seeds) func `writes down when an operation waited, was asked and executed`(
    seed: UInt64
  ) throws {
    let world = World(seed: seed)
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (first, second) = (world.taking(3, "first"), world.taking(2, "second"))
    second.addDependency(first)
    second.addCondition(world.askedFor(1))
    world.run(first, second)

    let timeline = recorder.timeline
    #expect(timeline.spans.map(\.name) == ["first", "second"])
    let span = timeline.spans[1]
    #expect(timeline.spans[0].started == .zero)
    #expect(timeline.spans[0].ended == .seconds(3))
    #expect(span.enqueued == .zero)
    #expect(span.evaluating == .seconds(3))
    #expect(span.ready == .seconds(4))
    #expect(span.started == .seconds(4))
    #expect(span.ended == .seconds(6))
    #expect(span.executed == .seconds(2))
    #expect(span.outcome?.kind == .succeeded)
    #expect(span.dependencies == [0])
    #expect(timeline.duration == .seconds(6))
    #expect(
      timeline.phases(of: 1) == [
        .init(kind: .dependencies, begin: .zero, end: .seconds(3)),
        .init(kind: .conditions, begin: .seconds(3), end: .seconds(4)),
      ]
    )
  }

  @Test func `tells conditions that are asked from a value that is handed on`() {
    let world = World()
    let recorder = TimelineRecorder()
    let load = world.taking(3, "load")
    let parse = load.then(name: "parse") {}
    let store = parse.then(name: "store") {}
    store.addCondition(Immediate(always: .satisfied))
    for operation in [load, parse, store] { operation.addObserver(recorder) }
    world.queue.addOperations([load, parse])
    world.simulation.run(until: .seconds(1))
    #expect(recorder.timeline.spans.map(\.evaluating) == [nil, nil])

    world.queue.addOperation(store)
    world.simulation.run()
    #expect(recorder.timeline.spans.map(\.evaluating) == [nil, nil, .seconds(3)])
    #expect(recorder.timeline.spans.map(\.ready) == [nil, .seconds(3), .seconds(3)])
  }

  @Test func `knows a wait for what isn't recorded, until that has ended`() {
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

  @Test func `tells the wait for a turn from the wait for dependencies`() {
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

  @Test func `tells the wait of a condition's turn from the wait for dependencies`() {
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
  func `tells the wait of one that is cancelled from the wait for dependencies`(
    hasClaim: Bool,
    free: Duration
  ) {
    let world = World(limit: hasClaim ? 2 : 1)
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (holder, waiter) = (world.taking(10, "holder"), Work("waiter"))
    if hasClaim { for work in [holder, waiter] { work.addCondition(MutuallyExclusive("site")) } }
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

  @Test func `shows the wait of one that is cancelled meanwhile as the wait for dependencies`() {
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

  @Test func `sees when a plain operation ends that it waits for`() {
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
  }

  @Test func `shows what goes on until the moment at which it is asked`() {
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

  @Test func `finds the critical path and the slack, also through groups`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let download = world.taking(2, "download")
    let (quick, slow) = (world.taking(1, "quick"), world.taking(4, "slow"))
    let group = GroupOperation(name: "group") {
      quick
      slow
    }
    group.addDependency(download)
    let aside = world.taking(3, "aside")
    let report = world.taking(1, "report")
    report.addDependency(group)
    world.run(download, group, aside, report)

    let timeline = recorder.timeline
    func index(_ name: String) -> Int { timeline.spans.firstIndex { $0.name == name } ?? -1 }
    let names = timeline.criticalPath.map { timeline.spans[$0].name }
    #expect(names == ["download", "slow", "report"])
    #expect(timeline.plan.criticalDuration == .seconds(7))
    #expect(timeline.plan.work == .seconds(11))
    #expect(timeline.slack[index("quick")] == .seconds(3))
    #expect(timeline.slack[index("aside")] == .seconds(4))
    #expect(timeline.slack[index("slow")] == .zero)
    #expect(timeline.spans[index("quick")].group == index("group"))
    #expect(timeline.plan.schedule(workers: 1).duration == .seconds(11))
  }

  @Test func `doesn't count dependencies that were added after the start`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (early, late) = (world.taking(1, "early"), world.taking(5, "late"))
    world.queue.addOperations([early, late])
    world.simulation.advance(by: .zero)
    early.addDependency(late)
    world.simulation.run()
    #expect(recorder.timeline.plan.criticalDuration == .seconds(5))
  }

  @Test func `takes a ring that was cancelled`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (a, b) = (Work("a"), Work("b"))
    a.addDependency(b)
    b.addDependency(a)
    world.run(a, b)
    #expect(recorder.timeline.spans.map { $0.outcome?.kind } == [.cancelled, .cancelled])
    #expect(recorder.timeline.plan.work == .zero)
  }

  @Test func `attached twice writes down once`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let work = world.taking(1, "work")
    work.addObserver(recorder)
    world.run(work)
    #expect(recorder.timeline.spans.count == 1)
    #expect(recorder.timeline.spans[0].executed == .seconds(1))
  }

  @Test func `keeps no operation alive, and mistakes none for one at the same address`() async {
    let world = World()
    let recorder = TimelineRecorder()
    let live = LiveCount()
    for _ in 0..<200 {
      let work = Work("recorded", token: live.token())
      work.addObserver(recorder)
      world.run(work)
    }
    await live.none()
    // These are where the others were.
    let unknown = (0..<200).map { _ in Work("unknown") }
    let last = Work("last")
    for work in unknown { last.addDependency(work) }
    last.addObserver(recorder)
    world.queue.addOperations(unknown + [last])
    world.simulation.run()

    #expect(recorder.timeline.spans.count == 201)
    #expect(recorder.timeline.spans.last?.dependencies == [])
  }

  @Test func `sees on real threads that nothing began before what it waits for`() async throws {
    let queue = AdvancedOperationQueue()
    let recorder = TimelineRecorder()
    queue.addObserver(recorder)
    var random = Random(7)
    var operations: [AdvancedOperation] = []
    for number in 0..<500 {
      let work = Work("\(number)")
      for other in operations.suffix(20) where Int.random(in: 0..<8, using: &random) == 0 {
        work.addDependency(other)
      }
      operations.append(work)
    }
    queue.addOperations(operations)
    try await queue.untilAllOperationsAreFinished()

    let timeline = recorder.timeline
    #expect(timeline.spans.count == 500)
    for span in timeline.spans {
      let started = try #require(span.started)
      for dependency in span.dependencies {
        let ended = try #require(timeline.spans[dependency].ended)
        #expect(ended <= started)
      }
    }
    #expect(
      timeline.spans.reduce(0) { $0 + $1.dependencies.count }
        == operations.reduce(0) { $0 + $1.dependencies.count }
    )
    #expect(timeline.plan.criticalDuration <= timeline.duration)
  }
}

@Suite(.watched) struct `Observers of a queue` {
  private final class Names: OperationObserver {
    let log = Log<String>()
    func operationDidEnqueue(_ operation: AdvancedOperation) { log.add(operation.name ?? "") }
  }

  @Test func `hear of everything that is added, also in groups and as helpers`() {
    let world = World()
    let names = Names()
    world.queue.addObserver(names)
    let helped = Work("helped")
    helped.addCondition(Asked("asked", helper: { _ in Work("helper") }))
    let group = GroupOperation(name: "outer") { GroupOperation(name: "inner") { helped } }
    world.run(group, Operation())
    #expect(names.log.entries == ["outer", "inner", "helped", "helper"])
  }

  @Test func `hear of nothing that is added after they were removed`() {
    let world = World()
    let (kept, removed) = (Names(), Names())
    let observation = world.queue.addObserver(removed)
    world.queue.addObserver(kept)
    world.run(Work("first"))
    observation.remove()
    observation.remove()
    world.run(Work("second"))
    #expect(removed.log.entries == ["first"])
    #expect(kept.log.entries == ["first", "second"])
  }

  @Test func `can call the queue from what they are told`() {
    struct Adds: OperationObserver {
      let queue: AdvancedOperationQueue
      func operationDidEnqueue(_ operation: AdvancedOperation) {
        if operation.name == "first" { queue.addOperation(Work("second")) }
        queue.addObserver(BlockObserver())
        _ = queue.graph
      }
    }
    let world = World()
    let names = Names()
    world.queue.addObserver(names)
    world.queue.addObserver(Adds(queue: world.queue))
    world.run(Work("first"))
    #expect(names.log.entries == ["first", "second"])
  }
}
