import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Lines of a log` {
  private static func log(_ operations: AdvancedOperation...) -> Log<String> {
    let lines = Log<String>()
    let observer = LogObserver { lines.add($0) }
    for operation in operations { operation.addObserver(observer) }
    return lines
  }

  @Test func `a log says nothing of a released operation at the same address`() {
    let world = World()
    let lines = Log<String>()
    let observer = LogObserver { lines.add($0) }
    for _ in 0..<200 {
      do {
        let gone = Work("gone")
        let observation = gone.addObserver(observer)
        gone.addDependency(Work("never"))
        world.run(gone)
        observation.remove()
        gone.cancel()
        world.simulation.run()
      }
      world.simulation.advance(by: .seconds(1))
      let next = Work("next")
      next.addObserver(observer)
      next.environment = world.simulation.environment
      next.start()
      world.simulation.run()
    }
    #expect(lines.entries.count { $0.hasPrefix("next: started") } == 200)
    #expect(lines.entries.allSatisfy { !$0.hasPrefix("next: started, having waited") })
  }

  @Test(arguments: seeds)
  func `a log says what happened and how long it took`(seed: UInt64) {
    let world = World(seed: seed)
    let first = DelayOperation(.milliseconds(1_500))
    first.name = "first"
    let second = Work("second") { work in
      #expect(throws: Never.self) { try work.produce(Work("child")) }
      work.finish(withErrors: [Flaw(1), Flaw(2)])
    }
    second.addDependency(first)
    let third = ResultOperation(name: "third") {}
    third.addDependency(second)
    third.addCondition(NoFailedDependencies())
    let lines = Self.log(first, second, third)
    world.run(first, second, third)
    #expect(
      lines.entries.filter { $0.hasPrefix("first") } == [
        "first: enqueued", "first: started, having waited 0 ns", "first: succeeded after 1.5 s",
      ]
    )
    #expect(
      lines.entries.filter { $0.hasPrefix("second") } == [
        "second: enqueued", "second: started, having waited 1.5 s", "second: produced child",
        "second: failed after 0 ns: flaw 1; flaw 2",
      ]
    )
    #expect(lines.entries.filter { $0.hasPrefix("third") }.count == 2)
    #expect(
      lines.entries.last { $0.hasPrefix("third") }?
        .hasPrefix("third: failed without having run: condition “no dependency failed”: ") == true
    )
  }

  @Test func `a log says why an operation was cancelled or skipped`() {
    let world = World()
    let slow = DelayOperation(.seconds(60))
    slow.name = "slow"
    slow.addObserver(TimeoutObserver(.seconds(30)))
    let plain = Work("plain")
    let skipped = Work("skipped")
    skipped.addCondition(Immediate(always: .skipped(reason: "no\n  new data")))
    let lines = Self.log(slow, plain, skipped)
    plain.cancel()
    world.run(slow, plain, skipped)
    #expect(
      lines.entries.filter { $0.hasPrefix("slow") } == [
        "slow: enqueued", "slow: started, having waited 0 ns",
        "slow: cancelled while executing: The time limit of 30 s was exceeded.",
        "slow: cancelled after 30 s: timed out: The time limit of 30 s was exceeded.",
      ]
    )
    #expect(
      lines.entries.filter { $0.hasPrefix("plain") } == [
        "plain: cancelled before it started", "plain: enqueued",
        "plain: cancelled without having run",
      ]
    )
    #expect(
      lines.entries.filter { $0.hasPrefix("skipped") } == [
        "skipped: enqueued", "skipped: skipped: no new data",
      ]
    )
  }

  /// Returns from the news of the cancel only when the operation has gone on to its end.
  private struct Late: OperationObserver {
    func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
      while operation.state < .finishing {}
    }
  }

  @Test(arguments: [true, false])
  func `a log reports a cancel before the start even if the end was decided`(
    dependency: Bool
  ) async throws {
    let queue = AdvancedOperationQueue()
    let lines = Log<String>()
    let before = Work.open("before")
    let waiting = Work("waiting")
    waiting.addObserver(Late())
    waiting.addObserver(LogObserver { lines.add($0) })
    if dependency {
      waiting.addDependency(before)
    } else {
      waiting.addCondition(
        Asked { _ in
          try? await Task.sleep(for: .seconds(3600))
          return .satisfied
        }
      )
    }
    queue.addOperations([before, waiting])
    await onThread { waiting.cancel() }
    try await waiting.untilFinished()
    before.finish()
    try await queue.untilAllOperationsAreFinished()
    #expect(
      lines.entries == [
        "waiting: enqueued", "waiting: cancelled before it started",
        "waiting: cancelled without having run",
      ]
    )
  }

  @Test func `each log entry is one line whatever the names are`() {
    let world = World()
    let first = ResultOperation(name: "one\n  two") { throw Flaw(1) }
    let second = first.then(name: "three\r\nfour") {}
    let lines = Self.log(first, second)
    world.run(first, second)
    #expect(
      lines.entries == [
        "one two: enqueued", "three four: enqueued", "one two: started, having waited 0 ns",
        "one two: failed after 0 ns: flaw 1",
        "three four: failed without having run: dependency “one two”: flaw 1",
      ]
    )
    #expect(second.outcome?.failure?.summary() == "dependency “one two”: flaw 1")
  }

  @Test func `a log line has the first errors and the number of others`() {
    let world = World()
    struct Long: Error, CustomStringConvertible { let description = "one\n  two\n\nthree" }
    let group = GroupOperation(name: "group") {
      Work("a") { $0.finish(withErrors: [Long(), Flaw(1)]) }
      RetryOperation(name: "b", retry: .immediate.attempts(3)) { Work.failing("b", $0) }
    }
    let lines = Self.log(group)
    world.run(group)
    #expect(
      lines.entries.last
        == "group: failed after 0 ns: child “a”: one two three; child “a”: flaw 1; "
        + "child “b”: attempt 1: flaw 1; 2 more errors"
    )
  }

  @Test func `a log uses the type of an operation without a name`() {
    let world = World()
    let work = AdvancedOperation()
    let lines = Self.log(work)
    world.run(work)
    #expect(lines.entries.first == "AdvancedOperation: enqueued")
  }

  @Test func `a failure's summary is its description on one line`() {
    let inner = OperationFailure(elements: [.init(origin: .body, error: Flaw(1))], notRunCount: 2)
    let failure = OperationFailure(
      elements: [
        .init(origin: .dependency("a"), error: inner, isInherited: true),
        .init(
          origin: .condition("c"),
          error: OperationConditionError(condition: "c", underlying: Flaw(2))
        ),
        .init(origin: .cancel, error: Flaw(3)),
        .init(origin: .body, error: Flaw(4)),
      ],
      notRunCount: 9
    )
    #expect(
      failure.summary()
        == "dependency “a”: flaw 1; 2 others did not run; condition “c”: flaw 2; flaw 3; "
        + "1 more error; 9 others did not run"
    )
    #expect(failure.summary(limit: 0) == "4 more errors; 9 others did not run")
    #expect(OperationFailure(elements: []).summary() == "cancelled without a reason")
    #expect(!failure.isInherited)
    #expect(OperationFailure(elements: [failure.elements[0]]).isInherited)
    #expect(!OperationFailure(elements: []).isInherited)
  }
}
