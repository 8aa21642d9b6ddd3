import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `A recorder of the timeline` {
  @Test(arguments: seeds)
  func `a recorder records when an operation waited, was evaluated and executed`(
    seed: UInt64
  ) throws {
    let world = World(seed: seed)
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let (first, second) = (world.taking(3, "first"), world.taking(2, "second"))
    second.addDependency(first)
    second.addCondition(world.askedFor(1))
    second.tag = 2
    world.run(first, second)

    let timeline = recorder.timeline
    #expect(timeline.spans.map { $0.tag as? Int } == [nil, 2])
    #expect(timeline.spans.map(\.name) == ["first", "second"])
    let span = timeline.spans[1]
    #expect(timeline.spans[0].started == .zero)
    #expect(timeline.spans[0].ended == .seconds(3))
    #expect(span.enqueued == .zero)
    #expect(span.evaluationStarted == .seconds(3))
    #expect(span.ready == .seconds(4))
    #expect(span.started == .seconds(4))
    #expect(span.ended == .seconds(6))
    #expect(span.executionDuration == .seconds(2))
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

  @Test func `a recorder doesn't count an announced attempt that never began`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let load = ResultOperation(name: "load", retry: .constant(.seconds(10)).attempts(4)) {
      throw Flaw(1)
    }
    // Twice: it is told of each event once more.
    load.addObserver(recorder)
    world.queue.addOperation(load)
    world.simulation.advance(by: .seconds(25))
    #expect(recorder.timeline.spans[0].retries == [.zero, .seconds(10), .seconds(20)])
    load.cancel()
    world.simulation.run()
    #expect(recorder.timeline.spans[0].retries == [.zero, .seconds(10)])
    let picture = recorder.timeline.svg()
    #expect(picture.contains("retried 2 times\nended in the delay after a failed attempt"))
    #expect(picture.matches(of: /class="retry" stroke-width="2"\/>/).count == 3)
    #expect(picture.matches(of: /class="retry" stroke-width="2" stroke-dasharray/).count == 2)
    #expect(recorder.timeline.chromeTrace().contains("failed attempt of load"))
  }

  @Test func `a recorder that is attached during execution knows that it had begun`() {
    let world = World()
    let recorder = TimelineRecorder()
    let work = world.taking(6, "work")
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(1))
    work.addObserver(recorder)
    world.simulation.run()
    #expect(recorder.timeline.spans[0].started != nil)
    #expect(!recorder.timeline.svg().contains("without executing"))
  }

  /// The spans were read first, and what they depend on later, which may have come meanwhile.
  @Test func `a recorder can be read while operations and dependencies are added`() async throws {
    let queue = AdvancedOperationQueue()
    let recorder = TimelineRecorder()
    queue.addObserver(recorder)
    let isOver = Locked(false)
    let reading = Task {
      await onThread {
        var count = 0
        while !isOver.withLock({ $0 }) {
          count += recorder.timeline.plan.durations.count
          _ = recorder.timeline.svg()
        }
        return count
      }
    }
    let rounds = Effort.some(Array(0..<20), every: 5)
    for _ in rounds {
      for _ in 0..<20 {
        let first = Work("first")
        let second = Work("second")
        second.addDependency(first)
        queue.addOperation(second)
        queue.addOperation(first)
      }
      try await queue.untilAllOperationsAreFinished()
    }
    isOver.withLock { $0 = true }
    _ = await reading.value
    #expect(recorder.timeline.spans.count == 40 * rounds.count)
    #expect(recorder.timeline.spans.allSatisfy { $0.name == "first" || $0.dependencies.count == 1 })
  }

  @Test func `a recorder accepts a cycle that was cancelled`() {
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

  @Test func `a recorder that is attached twice records once`() {
    let world = World()
    let recorder = TimelineRecorder()
    world.queue.addObserver(recorder)
    let work = world.taking(1, "work")
    work.addObserver(recorder)
    world.run(work)
    #expect(recorder.timeline.spans.count == 1)
    #expect(recorder.timeline.spans[0].executionDuration == .seconds(1))
  }

  @Test func `a recorder retains no operation and confuses none with a later one`() async {
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

  @Test func `a recorder on threads sees no start before its dependencies ended`() async throws {
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

  @Test
  func `queue observers are notified of all added operations including children and prerequisites`()
  {
    let world = World()
    let names = Names()
    world.queue.addObserver(names)
    let helped = Work("helped")
    helped.addCondition(Asked("asked", prerequisite: { _ in Work("prerequisite") }))
    let group = GroupOperation(name: "outer") { GroupOperation(name: "inner") { helped } }
    world.run(group, Operation())
    #expect(names.log.entries == ["outer", "inner", "helped", "prerequisite"])
  }

  @Test func `removed queue observers aren't notified of later operations`() {
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

  @Test func `queue observers can call the queue from their callbacks`() {
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
