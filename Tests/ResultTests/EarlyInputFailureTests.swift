import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// An operation can't run without its inputs, so it doesn't wait for the rest of them.
@Suite struct `An operation that has lost an input` {
  private let world = World()

  private func failing(after seconds: Int = 1, _ name: String = "failing") -> ResultOperation<Int> {
    let clock = world.simulation.environment.clock
    return ResultOperation(name: name) {
      try await clock.sleep(for: .seconds(seconds))
      throw Flaw(seconds)
    }
  }

  private func slow(_ name: String = "slow") -> ResultOperation<Int> {
    let clock = world.simulation.environment.clock
    return ResultOperation(name: name) {
      try await clock.sleep(for: .seconds(3_600))
      return 1
    }
  }

  /// When an operation ends.
  private func end(of operation: AdvancedOperation) -> Changing<Duration?> {
    let end = Changing<Duration?>(nil)
    operation.onFinish { operation, _ in end.value = operation.environment.clock.now }
    return end
  }

  enum Form: CaseIterable, Sendable {
    case parameters, array, thenWithDependency, recovery
  }

  /// An operation that needs one value, and waits for another operation too.
  private func needing(
    _ input: ResultOperation<Int>,
    _ other: ResultOperation<Int>,
    _ form: Form
  ) -> ResultOperation<Int> {
    switch form {
    case .parameters: return ResultOperation(name: "sum", after: other, input) { $0 + $1 }
    case .array:
      return ResultOperation(name: "sum", afterAll: [other, input, other]) { $0.reduce(0, +) }
    case .thenWithDependency:
      let next = input.then(name: "next") { $0 }
      next.addDependency(other)
      return next
    case .recovery:
      let recovered = input.recover(name: "recovered") { _ in 7 }
      recovered.addDependency(other)
      return recovered
    }
  }

  @Test(arguments: Form.allCases)
  func `an operation without an input fails immediately and cancels no others`(form: Form) {
    let (failing, slow) = (failing(), slow())
    let sum = needing(failing, slow, form)
    let end = end(of: sum)
    world.run(failing, slow, sum)
    #expect(slow.kind == .succeeded)
    if form == .recovery {
      // It has a use for the failure, and waits for all that it depends on.
      #expect(sum.kind == .succeeded)
      #expect(end.value == .seconds(3_600))
    } else {
      #expect(end.value == .seconds(1))
      #expect(sum.kind == .failed)
      #expect(sum.origins == [.dependency("failing")])
      #expect(sum.outcome?.failure?.isInherited == true)
    }
  }

  @Test func `an operation fails immediately if its input was cancelled`() {
    let (first, slow) = (slow("first"), slow())
    let sum = ResultOperation(name: "sum", after: slow, first) { $0 + $1 }
    let end = end(of: sum)
    world.queue.addOperations([first, slow, sum])
    world.simulation.advance(by: .seconds(10))
    first.cancel()
    world.simulation.run()
    #expect(end.value == .seconds(10))
    #expect(sum.kind == .failed)
  }

  @Test func `an operation fails immediately if it is added after its input failed`() {
    let (failing, slow) = (failing(), slow())
    world.queue.addOperations([failing, slow])
    world.simulation.advance(by: .seconds(10))
    let sum = ResultOperation(name: "sum", after: slow, failing) { $0 + $1 }
    let end = end(of: sum)
    world.queue.addOperation(sum)
    world.simulation.run()
    #expect(end.value == .seconds(10))
  }

  @Test func `a new dependency doesn't delay the failure of a lost input`() {
    let (failing, slow) = (failing(), slow())
    let next = failing.then(name: "next") { $0 }
    let end = end(of: next)
    world.queue.addOperations([failing, slow, next])
    next.addDependency(slow)
    world.simulation.run()
    #expect(end.value == .seconds(1))
  }

  @Test func `a lost input passes its failure along a chain and out of a group`() {
    let (failing, slow) = (failing(), slow())
    let sum = ResultOperation(name: "sum", after: failing, slow) { $0 + $1 }
    let last = ResultOperation(name: "last", after: slow, sum) { $0 + $1 }
    let end = end(of: last)
    let group = GroupOperation(name: "group") { [failing, slow, sum, last] }
    world.run(group)
    #expect(end.value == .seconds(1))
    #expect(group.origins == [.child("failing", .body)])
    #expect(group.outcome?.failure?.notRunCount == 2)
  }

  @Test func `a lost input prevents conditions, claims and execution`() {
    let (failing, slow) = (failing(), slow())
    let probe = ConditionProbe()
    let ran = Counter()
    let sum = ResultOperation(name: "sum", after: failing, slow) { _, _ in ran.add() }
    sum.addCondition(probe)
    sum.addClaim(MutuallyExclusive("a"))
    world.run(failing, slow, sum)
    #expect(sum.kind == .failed)
    #expect(probe.evaluationCount == 0)
    #expect(ran.count == 0)
  }

  @Test func `a suspended queue keeps an operation with a lost input until it resumes`() {
    let (failing, slow) = (failing(), slow())
    let sum = ResultOperation(name: "sum", after: failing, slow) { $0 + $1 }
    let end = end(of: sum)
    let other = world.makeQueue(limit: 2)
    other.addOperations([failing, slow])
    world.queue.isSuspended = true
    world.queue.addOperation(sum)
    world.simulation.advance(by: .seconds(20))
    #expect(end.value == nil)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(end.value == .seconds(20))
  }

  @Test func `an operation with a skipped input waits because a failure would win`() {
    for fails in [true, false] {
      let skipped = ResultOperation(name: "skipped") { 1 }
      skipped.addCondition(Immediate(always: .skipped(reason: "no need")))
      let other = fails ? failing(after: 100) : slow()
      let sum = ResultOperation(name: "sum", after: skipped, other) { $0 + $1 }
      world.run(skipped, other, sum)
      #expect(sum.kind == (fails ? .failed : .skipped))
    }
  }

  @Test func `an operation with a journal waits because its value may be recorded`() {
    let (failing, slow) = (failing(), slow())
    let journal = InMemoryJournal([.init(key: "sum", value: 7)])
    let sum = ResultOperation(after: failing, slow) { $0 + $1 }.recorded(as: "sum", in: journal)
    world.run(failing, slow, sum)
    #expect((try? sum.result?.get()) == 7)
  }

  @Test func `an operation with a lost input ends once under every schedule`() throws {
    try exploreSchedules(depthFirst: Effort.schedules(500), randomSchedules: Effort.drawn(200)) {
      simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let first = ResultOperation(name: "first") { () async throws -> Int in throw Flaw(1) }
      let second = ResultOperation(name: "second") { () async throws -> Int in
        await Task.yield()
        throw Flaw(2)
      }
      let sum = ResultOperation(name: "sum", after: first, second) { $0 + $1 }
      let ends = Counter()
      sum.onFinish { _, _ in ends.add() }
      queue.addOperations([first, second, sum])
      simulation.addStep("cancel") { sum.cancel() }
      simulation.run()
      try #require(ends.count == 1)
      try #require(sum.kind == .failed || sum.kind == .cancelled)
      try #require(queue.operationCount == 0)
    }
  }
}
