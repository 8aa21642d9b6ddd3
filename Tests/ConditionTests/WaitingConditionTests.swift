import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@testable import AdvancedOperations

/// Conditions that wait for a change instead of failing.
@Suite(.watched) struct `Conditions that wait` {
  /// An answer that a test changes, and a condition with it.
  private struct Question {
    let answer = Changing(OperationConditionResult.failed(Flaw(1)))
    let asked = Counter()

    var immediate: Immediate {
      let (answer, asked) = (answer, asked)
      return Immediate("online") { _ in
        asked.add()
        return answer.value
      }
    }

    var inTask: BlockCondition {
      let (answer, asked) = (answer, asked)
      return BlockCondition("online") { _ in
        asked.add()
        return answer.value
      }
    }

    func condition(isImmediate: Bool) -> any OperationCondition {
      isImmediate ? immediate : inTask
    }
  }

  private static func work(_ condition: any OperationCondition) -> Work {
    let work = Work("work")
    work.addCondition(condition)
    return work
  }

  @Test(arguments: [true, false])
  func `a condition is evaluated again whenever the gate says so`(isImmediate: Bool) {
    let world = World()
    let question = Question()
    let signal = Gate("changes")
    let condition = question.condition(isImmediate: isImmediate).waiting(for: signal)
    let work = Self.work(condition)
    world.run(work)
    #expect(work.state == .evaluatingConditions)
    let before = question.asked.count
    signal.lookAgain()
    world.simulation.run()
    #expect(question.asked.count == before + 1)
    #expect(work.state == .evaluatingConditions)
    question.answer.value = .satisfied
    // Without a change, it isn't evaluated.
    world.simulation.advance(by: .seconds(100))
    #expect(question.asked.count == before + 1)
    signal.lookAgain()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test func `a condition that skips doesn't wait`() {
    let world = World()
    let question = Question()
    question.answer.value = .skipped(reason: "done")
    let work = Self.work(question.immediate.waiting(for: Gate("changes")))
    world.run(work)
    #expect(work.kind == .skipped)
  }

  @Test func `a condition that fails at the start waits again, without slot and claim`() {
    let world = World(limit: 1)
    let question = Question()
    question.answer.value = .satisfied
    let signal = Gate("changes")
    let holder = Work.open("holder")
    world.run(holder)
    let work = Self.work(question.immediate.waiting(for: signal))
    work.addClaim(MutuallyExclusive("db"))
    world.run(work)
    question.answer.value = .failed(Flaw(7))
    holder.finish()
    world.simulation.run()
    #expect("\(work.explain())".hasPrefix("work waits for condition “online”: flaw 7"))
    let other = Work("other")
    other.addClaim(MutuallyExclusive("db"))
    world.run(other)
    #expect(other.kind == .succeeded)
    question.answer.value = .satisfied
    signal.lookAgain()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: [true, false])
  func `the longest wait ends with the condition's error`(isImmediate: Bool) {
    let world = World()
    let question = Question()
    let signal = Gate("changes")
    let condition = question.condition(isImmediate: isImmediate)
    let work = Self.work(condition.waiting(for: signal, atMost: .seconds(60)))
    world.queue.addOperation(work)
    world.simulation.advance(by: .seconds(59))
    signal.lookAgain()
    #expect(!work.isFinished)
    world.simulation.run()
    #expect(world.simulation.now == .seconds(60))
    #expect(work.flawNumbers == [1])
  }

  @Test func `the longest wait applies at the start`() {
    let world = World(limit: 1)
    let question = Question()
    question.answer.value = .satisfied
    let work = Self.work(question.immediate.waiting(for: Gate("changes"), atMost: .seconds(60)))
    world.queue.addOperations([world.taking(10, "holder"), work])
    world.simulation.advance(by: .seconds(5))
    question.answer.value = .failed(Flaw(2))
    world.simulation.run()
    #expect(world.simulation.now == .seconds(70))
    #expect(work.flawNumbers == [2])
  }

  @Test func `a gate that refuses ends the waits for it`() {
    let world = World()
    let signal = Gate("changes")
    let work = Self.work(Question().immediate.waiting(for: signal))
    world.run(work)
    signal.refuse(Flaw(9))
    world.simulation.run()
    #expect(work.flawNumbers == [9])
  }

  // MARK: Sequences

  @Test func `one task reads the sequence for all operations`() {
    let world = World()
    let question = Question()
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    let condition = question.immediate.waiting(for: changes)
    let works = (0..<3).map { _ in Self.work(condition) }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.state == .evaluatingConditions })
    question.answer.value = .satisfied
    continuation.yield()
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    // Later waits use the same reader.
    question.answer.value = .failed(Flaw(1))
    let late = Self.work(condition)
    world.run(late)
    #expect(late.state == .evaluatingConditions)
    question.answer.value = .satisfied
    continuation.yield()
    world.simulation.run()
    #expect(late.kind == .succeeded)
  }

  @Test func `the end of the sequence fails operations with the condition's error`() {
    let world = World()
    let (changes, continuation) = AsyncStream.makeStream(of: Int.self)
    let condition = Question().immediate.waiting(for: changes)
    let work = Self.work(condition)
    world.run(work)
    continuation.finish()
    world.simulation.run()
    #expect(work.flawNumbers == [1])
    let late = Self.work(condition)
    world.run(late)
    #expect(late.flawNumbers == [1])
  }

  @Test func `an error of the sequence fails operations`() {
    let world = World()
    let (changes, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
    let work = Self.work(Question().immediate.waiting(for: changes))
    world.run(work)
    continuation.finish(throwing: Flaw(5))
    world.simulation.run()
    #expect(work.flawNumbers == [5])
  }

  @Test func `the reader ends with the condition`() async {
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    let isOver = Latch()
    continuation.onTermination = { _ in isOver.open() }
    do {
      let world = World()
      let work = Self.work(Question().immediate.waiting(for: changes))
      world.run(work)
      work.cancel()
      world.simulation.run()
    }
    await isOver.opened()
  }

  @Test func `a report without errors leaves out the condition's error`() {
    let world = World()
    let work = Self.work(Question().immediate.waiting(for: Gate("changes")))
    world.run(work)
    #expect("\(work.explain())".contains("flaw 1"))
    let search = ExplanationSearch(from: [work], showsErrors: false)
    let texts = search.causes(of: [work], limit: .max).map(\.text)
    #expect(texts == ["waits for condition “online”"])
    work.cancel()
    world.simulation.run()
  }

  @Test func `a condition with a gate, or with a circuit, can't wait for other changes`()
    async throws
  {
    let gate = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = (Gate("network") && Immediate(always: .satisfied)).waiting(for: Gate("power"))
    }
    try expectMessage("waiting(for:atMost:) was called on “", in: gate)
    let circuit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let breaker = CircuitBreaker(failures: 1, cooldown: .seconds(60))
      _ = CircuitClosed(breaker).waiting(for: Gate("power"))
    }
    try expectMessage("waiting(for:atMost:) was called on “circuit closed”, which", in: circuit)
  }

  private struct Restless: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let count: Counter
    mutating func next() async -> Int? { count.add() }
    func makeAsyncIterator() -> Self { self }
  }

  @Test func `a sequence that never suspends is left when the condition is released`() async throws
  {
    let count = Counter()
    let queue = AdvancedOperationQueue()
    do {
      let work = ResultOperation {}
      work.addCondition(
        Immediate(always: .failed(Flaw(1))).waiting(for: Restless(count: count))
      )
      queue.addOperation(work)
      while count.count < 10 { await Task.yield() }
      work.cancel()
      try? await work.untilFinished()
    }
    // The task ends: its count stands still at some time.
    var last = -1
    while last != count.count {
      last = count.count
      for _ in 0..<1_000 { await Task.yield() }
    }
    #expect(last >= 10)
  }
}
