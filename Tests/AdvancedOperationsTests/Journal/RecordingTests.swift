import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

@Suite struct `Recording a value` {
  private let journal = InMemoryJournal()
  private let log = Log<String>()

  @Test(arguments: seeds)
  func `a value is recorded before all consequences of the end`(seed: UInt64) {
    let world = World(seed: seed)
    journal.delay = .seconds(5)
    let build = ResultOperation { [log] in
      log.add("body")
      return 1
    }.recorded(as: "build", in: journal)
    build.addObserver(
      BlockObserver(
        willFinish: { [log, journal] _, _ in log.add("will finish \(journal.keys)") },
        didFinish: { [log, journal] _, _ in log.add("did finish \(journal.keys)") }
      )
    )
    let next = build.then(name: "next") { [log, journal] value in log.add("next \(journal.keys)") }
    world.queue.addOperations([build, next])
    world.simulation.run(until: .seconds(7))
    #expect(log.entries == ["body"])
    #expect(build.state == .executing)
    #expect(build.result == nil)
    world.simulation.run()
    let keys = ["build"]
    #expect(
      log.entries == ["body", "will finish \(keys)", "did finish \(keys)", "next \(keys)"]
    )
    #expect(!build.isFromJournal)
    #expect(world.simulation.now == .seconds(10))
  }

  @Test func `a value is recorded after conditions, prerequisites and claims`() {
    let world = World()
    let holder = Work.claiming("holder", MutuallyExclusive("database"))
    let probe = ConditionProbe()
    let prerequisite = Work("prerequisite") { [log] in
      log.add("prerequisite")
      $0.finish()
    }
    let build = ResultOperation { [log] in log.add("body") }.recorded(as: "build", in: journal)
    build.addCondition(probe)
    build.addCondition(Asked(prerequisite: { _ in prerequisite }))
    build.addClaim(MutuallyExclusive("database"))
    world.run(holder, build)
    #expect(log.entries == ["prerequisite"])
    #expect(build.state == .evaluatingConditions)
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(build.state == .ready)
    #expect(journal.keys == [])
    holder.finish()
    world.simulation.run()
    #expect(log.entries == ["prerequisite", "body"])
    #expect(build.kind == .succeeded)
    #expect(journal.keys == ["build"])
  }

  @Test(arguments: [AdvancedOperation.ConditionPolicy.evaluateAll, .stopAtFirstFailure])
  func `a value isn't recorded if a condition fails or skips`(
    policy: AdvancedOperation.ConditionPolicy
  ) {
    let results: [(OperationConditionResult, Kind)] = [
      (.failed(Flaw(1)), .failed), (.skipped(reason: "no"), .skipped),
    ]
    for (result, kind) in results {
      let world = World()
      let build = ResultOperation { 1 }.recorded(as: "build", in: journal)
      build.conditionPolicy = policy
      build.addCondition(Immediate(always: result))
      build.addCondition(Asked { _ in result })
      world.run(build)
      #expect(build.kind == kind)
    }
    #expect(journal.keys == [])
  }

  @Test func `a recording operation holds its slot and claims`() throws {
    let world = World(limit: 1)
    journal.delay = .seconds(1)
    let build = ResultOperation { 1 }.recorded(as: "build", in: journal)
    build.addClaim(MutuallyExclusive("database"))
    let (other, claimer) = (Work("other"), Work("claimer"))
    claimer.addClaim(MutuallyExclusive("database"))
    world.queue.addOperation(build)
    world.makeQueue().addOperation(claimer)
    try world.simulation.run(until: { build.isExecuting })
    world.queue.addOperation(other)
    world.simulation.run(until: .milliseconds(1_500))
    #expect(build.isExecuting)
    #expect(!other.didExecute)
    world.simulation.run()
    #expect(other.didExecute && claimer.isFinished)
  }

  @Test func `a value is recorded once after all attempts`() {
    let world = World()
    let count = Counter()
    let build = ResultOperation(retry: .constant(.seconds(1)).attempts(3)) {
      if count.add() < 3 { throw Flaw(1) }
      return count.count
    }.recorded(as: "build", in: journal)
    world.run(build)
    #expect(journal.keys == ["build"])
    #expect(journal.records[0].value as? Int == 3)
  }

  @Test func `a failed record fails the operation without running the body again`() throws {
    let world = World()
    journal.failRecord(1, with: Flaw(9))
    let count = Counter()
    let build = ResultOperation(retry: .immediate.attempts(5)) { count.add() }
      .recorded(as: "build", in: journal)
    let next = build.then { $0 }.recorded(as: "next", in: journal)
    world.run(build, next)
    #expect(count.count == 1)
    #expect(build.kind == .failed)
    #expect(build.errors.count == 1)
    let error = try #require(build.outcome?.failure?.first(OperationJournalError.self))
    #expect(error.action == .record)
    #expect("\(error)" == "“build” was done, and the journal has not recorded it: flaw 9")
    #expect(next.outcome?.isInherited == true)
    #expect(journal.keys == [])
  }

  @Test func `a record whose confirmation is lost fails now and returns its value next time`() {
    let world = World()
    journal.failRecord(1, with: Flaw(9), isKept: true)
    let count = Counter()
    func build() -> ResultOperation<Int> {
      ResultOperation { count.add() }.recorded(as: "build", in: journal)
    }
    let (first, second) = (build(), build())
    world.run(first)
    #expect(first.kind == .failed)
    world.run(second)
    #expect((try? second.result?.get()) == 1)
    #expect(second.isFromJournal)
    #expect(count.count == 1)
  }

  @Test func `recording doesn't count in the time limits of attempts`() {
    let world = World()
    journal.delay = .seconds(60)
    let policy = RetryPolicy.immediate.attempts(2).attemptTimeout(.seconds(1))
      .totalTimeout(.seconds(10))
    let build = ResultOperation(retry: policy) { 1 }.recorded(as: "build", in: journal)
    world.run(build)
    #expect(build.kind == .succeeded)
  }

  @Test func `recording counts in a timeout of executing`() {
    let world = World()
    journal.delay = .seconds(60)
    let build = ResultOperation { 1 }.recorded(as: "build", in: journal)
    build.addObserver(TimeoutObserver(.seconds(10), of: .executing))
    world.run(build)
    #expect(build.kind == .cancelled)
    #expect(build.outcome?.failure?.isTimeout == true)
    #expect(journal.keys == ["build"])
  }

  @Test func `failures and skips aren't recorded`() {
    let world = World()
    let failing = ResultOperation<Int> { throw Flaw(1) }.recorded(as: "failing", in: journal)
    let skipping = ResultOperation<Int> { throw OperationSkipped(reason: "no") }
      .recorded(as: "skipping", in: journal)
    world.run(failing, skipping)
    #expect(failing.kind == .failed && skipping.kind == .skipped)
    #expect(journal.keys == [])
  }

  @Test func `every form of result operation records its value`() {
    let world = World()
    let one = ResultOperation { 1 }.recorded(as: "one", in: journal)
    let two = one.then { $0 + 1 }.recorded(as: "two", in: journal)
    let sum = ResultOperation(after: one, two) { $0 + $1 }.recorded(as: "sum", in: journal)
    let all = ResultOperation(afterAll: [one, two, sum]) { $0 }.recorded(as: "all", in: journal)
    let done = ResultOperation { [log] in log.add("done") }.recorded(as: "done", in: journal)
    let thenDone = one.then { [log] in log.add("then \($0)") }.recorded(as: "then", in: journal)
    let after = ResultOperation(after: one, two) { [log] in
      log.add("after \($0) \($1)")
    }.recorded(as: "after", in: journal)
    let afterAll = ResultOperation(afterAll: [one, two]) { [log] in
      log.add("afterAll \($0)")
    }.recorded(as: "afterAll", in: journal)
    let operations: [AdvancedOperation] = [one, two, sum, all, done, thenDone, after, afterAll]
    world.queue.addOperations(operations)
    world.simulation.run()
    #expect(operations.allSatisfy { $0.kind == .succeeded && !$0.isFromJournal })
    let records = Dictionary(
      uniqueKeysWithValues: journal.records.map { ($0.key, "\($0.value)") }
    )
    #expect(
      records == [
        "one": "1", "two": "2", "sum": "3", "all": "[1, 2, 3]", "done": "true", "then": "true",
        "after": "true", "afterAll": "true",
      ]
    )
    #expect(Set(log.entries) == ["done", "then 1", "after 1 2", "afterAll [1, 2]"])
  }

  @Test func `the journal in memory refuses a second record for a key`() {
    let world = World()
    journal.delay = .seconds(1)
    let both = (1...2).map { number in
      ResultOperation { number }.recorded(as: "same", in: journal)
    }
    world.run(both[0], both[1])
    #expect(both.map(\.kind).contains(.failed))
    #expect(journal.keys == ["same"])
    let error = both.compactMap { $0.outcome?.failure?.first(OperationJournalError.self) }.first
    #expect(error?.underlying is InMemoryJournal.KeyRecordedTwice)
  }

  @Test func `an operation releases its journal at the end`() {
    final class Owning: OperationJournal {
      let token: Token
      init(_ token: Token) { self.token = token }
      func value<Value: Codable & Sendable>(of type: Value.Type, for key: String) -> Value? { nil }
      func record<Value: Codable & Sendable>(_ value: Value, for key: String) {}
    }
    let live = LiveCount()
    let world = World()
    let build = ResultOperation { 1 }.recorded(as: "build", in: Owning(live.token()))
    #expect(live.alive == 1)
    world.run(build)
    #expect(build.kind == .succeeded)
    #expect(live.alive == 0)
  }
}
