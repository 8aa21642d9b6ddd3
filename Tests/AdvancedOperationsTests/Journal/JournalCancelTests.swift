import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite struct `Cancelling an operation with a journal` {
  private let journal = InMemoryJournal()
  private let bodies = Counter()

  @Test func `a cancel during the journal's reading ends the operation immediately`() {
    let world = World()
    let journal = journal.filled()
    journal.delay = .seconds(5)
    let build = ResultOperation { [bodies] in bodies.add() }.recorded(as: "build", in: journal)
    world.queue.addOperation(build)
    world.simulation.run(until: .seconds(1))
    #expect(build.state == .evaluatingConditions)
    build.cancel()
    world.simulation.run()
    #expect(build.kind == .cancelled)
    #expect(build.errors.isEmpty)
    #expect(bodies.count == 0)
    #expect(world.simulation.now == .seconds(1))
  }

  @Test func `a cancel during recording waits for the journal and keeps the record`() {
    let world = World()
    journal.delay = .seconds(5)
    let build = ResultOperation { [bodies] in bodies.add() }.recorded(as: "build", in: journal)
    let next = build.then(name: "next") { $0 }
    world.queue.addOperations([build, next])
    world.simulation.run(until: .seconds(7))
    #expect(bodies.count == 1)
    build.cancel(withError: Flaw(1))
    world.simulation.run(until: .seconds(9))
    #expect(build.state == .executing)
    world.simulation.run()
    #expect(build.kind == .cancelled)
    #expect(build.flawNumbers == [1])
    #expect(next.kind == .failed)
    #expect(journal.keys == ["build"])
    #expect(world.simulation.now == .seconds(10))
  }

  @Test func `a cancel during recording keeps the journal's error too`() {
    let world = World()
    journal.delay = .seconds(5)
    journal.failRecord(1, with: CancellationError())
    let build = ResultOperation { [bodies] in bodies.add() }.recorded(as: "build", in: journal)
    world.queue.addOperation(build)
    world.simulation.run(until: .seconds(7))
    build.cancel()
    world.simulation.run()
    #expect(build.kind == .cancelled)
    #expect(build.errors.count == 1)
    #expect(build.errors.first is OperationJournalError)
  }

  @Test func `a cancel before the body returns discards the body's value`() throws {
    let world = World()
    let build = ResultOperation { [bodies] in
      bodies.add()
      while !Task.isCancelled { await Task.yield() }
      return 1
    }.recorded(as: "build", in: journal)
    world.queue.addOperation(build)
    try world.simulation.run(until: { bodies.count == 1 })
    build.cancel()
    world.simulation.run()
    #expect(build.kind == .cancelled)
    #expect(journal.keys == [])
  }

  /// When the cancel comes, if looking up and recording take a second each, and what is seen then:
  /// whether it was cancelled, whether the value was recorded, and how often the body has begun.
  static let moments: [(second: Int?, seen: Set<String>)] = [
    (nil, ["true false 0", "true false 1", "true true 1", "false true 1"]),
    (1, ["true false 0", "true false 1", "true true 1"]),
    (2, ["true true 1", "false true 1"]),
  ]

  @Test(arguments: moments.indices)
  func `a cancel at any moment leaves a journal from which another run continues`(index: Int) throws
  {
    let (second, expected) = Self.moments[index]
    let outcomes = Log<String>()
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let journal = InMemoryJournal()
      let bodies = Counter()
      let returned = Counter()
      func build() -> ResultOperation<Int> {
        ResultOperation {
          bodies.add()
          await Task.yield()
          try Task.checkCancellation()
          return returned.add()
        }.recorded(as: "build", in: journal)
      }
      let first = build()
      queue.addOperation(first)
      if let second {
        journal.delay = .seconds(1)
        _ = simulation.environment.clock.schedule(at: .seconds(second)) { first.cancel() }
      } else {
        simulation.addStep("cancel") { first.cancel() }
      }
      simulation.run()
      try #require(first.isFinished)
      let wasRecorded = journal.keys == ["build"]
      try #require(first.isCancelled || wasRecorded)
      try #require(!wasRecorded || returned.count == 1)
      outcomes.add("\(first.isCancelled) \(wasRecorded) \(bodies.count)")
      let again = build()
      queue.addOperation(again)
      simulation.run()
      try #require(again.kind == .succeeded)
      try #require(again.isFromJournal == wasRecorded)
      try #require(journal.keys == ["build"])
      try #require(bodies.count <= (wasRecorded ? 1 : 2))
    }
    #expect(report.isComplete)
    #expect(Set(outcomes.entries) == expected)
  }

  @Test func `an operation with a found value ends as cancelled until it is scheduled`() throws {
    let kinds = Log<Kind?>()
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let build = ResultOperation { 1 }.recorded(as: "build", in: InMemoryJournal().filled())
      queue.addOperation(build)
      simulation.addStep("cancel") { build.cancel() }
      simulation.run()
      try #require(build.isFinished)
      try #require(build.isFromJournal == (build.kind == .succeeded))
      kinds.add(build.kind)
    }
    #expect(report.isComplete)
    #expect(Set(kinds.entries) == [.succeeded, .cancelled])
  }

  #if DEBUG
  @Test func `a cancel at any interrupted moment ends an operation with a journal`() throws {
    try exploreSchedules(
      interruptions: 1,
      depthFirst: Effort.schedules(400),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let journal = InMemoryJournal()
      let build = ResultOperation { 1 }.recorded(as: "build", in: journal)
      queue.addOperation(build)
      simulation.addStep("cancel") { build.cancel() }
      simulation.run()
      try #require(build.isFinished)
      try #require(build.isCancelled || journal.keys == ["build"])
    }
  }
  #endif
}

extension InMemoryJournal {
  /// A journal that has the value of “build”.
  fileprivate func filled() -> InMemoryJournal {
    InMemoryJournal(records + [Record(key: "build", value: 7)])
  }
}
