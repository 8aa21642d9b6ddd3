import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

/// A journal as an actor, as programs write it.
private actor ActorJournal: OperationJournal {
  private var values: [String: any Sendable] = [:]

  var count: Int { values.count }

  func value<Value: Codable & Sendable>(of type: Value.Type, for key: String) -> Value? {
    values[key].flatMap { $0 as? Value }
  }

  func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws {
    await Task.yield()
    values[key] = value
  }
}

@Suite struct `Workflows with a journal` {
  @Test(.watched) func `a repeated workflow runs each recorded body once on real threads`()
    async throws
  {
    let journal = ActorJournal()
    let bodies = Counter()
    func sum() -> ResultOperation<Int> {
      let parts = (1...50).map { number in
        let part = ResultOperation {
          bodies.add()
          return number
        }.recorded(as: "part \(number)", in: journal)
        return part.then { value in
          bodies.add()
          await Task.yield()
          return 2 * value
        }.recorded(as: "twice \(number)", in: journal)
      }
      return ResultOperation(afterAll: parts) { values in
        bodies.add()
        return values.reduce(0, +)
      }.recorded(as: "sum", in: journal)
    }
    for _ in 1...3 {
      let queue = AdvancedOperationQueue()
      #expect(try await queue.run(sum()) == 2_550)
    }
    #expect(bodies.count == 101)
    #expect(await journal.count == 101)
  }

  @Test(.watched) func `a cancelled workflow with a journal ends on threads and resumes later`()
    async throws
  {
    let journal = ActorJournal()
    let bodies = Log<String>()
    func chain() -> ResultOperation<Int> {
      var last = ResultOperation { 0 }.recorded(as: "0", in: journal)
      for number in 1...40 {
        last = last.then { value in
          await Task.yield()
          try Task.checkCancellation()
          bodies.add("\(number)")
          return value + 1
        }.recorded(as: "\(number)", in: journal)
      }
      return last
    }
    for round in 0..<20 {
      let queue = AdvancedOperationQueue()
      let last = chain()
      async let value = try? queue.run(last)
      for _ in 0..<(round * 5) { await Task.yield() }
      queue.cancelAllOperations()
      _ = await value
    }
    let queue = AdvancedOperationQueue()
    #expect(try await queue.run(chain()) == 40)
    #expect(bodies.entries.count >= 40)
    let before = bodies.entries.count
    #expect(try await queue.run(chain()) == 40)
    #expect(bodies.entries.count == before)
  }

  @Test func `a group whose values are all recorded executes no child`() {
    let world = World()
    let journal = InMemoryJournal([.init(key: "a", value: 1), .init(key: "b", value: 2)])
    let children = ["a", "b"].map { key in
      ResultOperation<Int> { throw Flaw(1) }.recorded(as: key, in: journal)
    }
    let group = GroupOperation(name: "group", maxConcurrentOperationCount: 1) {
      children[0]
      children[1]
    }
    world.run(group)
    #expect(group.kind == .succeeded)
    #expect(!group.isFromJournal)
    #expect(children.allSatisfy { $0.isFromJournal })
  }

  @Test func `an attempt may use values that an earlier attempt recorded`() {
    let world = World()
    let journal = InMemoryJournal()
    let bodies = Log<String>()
    let retry = RetryOperation(name: "retry", retry: .immediate.attempts(3)) { attempt in
      let first = ResultOperation {
        bodies.add("first")
        return 1
      }.recorded(as: "first", in: journal)
      return first.then { value in
        bodies.add("second")
        if attempt < 3 { throw Flaw(attempt) }
        return value + 1
      }.recorded(as: "second", in: journal)
    }
    world.run(retry)
    #expect((try? retry.result?.get()) == 2)
    #expect(bodies.entries == ["first", "second", "second", "second"])
  }

  @Test func `a rolled back step runs again because its record was removed`() {
    let world = World()
    let journal = InMemoryJournal()
    let log = Log<String>()
    /// Reserves, and fails or not afterwards.
    func order(failing: Bool) -> GroupOperation {
      let reserve = ResultOperation {
        log.add("reserve")
        return 2
      }.recorded(as: "reserve", in: journal)
      reserve.onFinish { operation, _ in
        guard let seats = try? reserve.result?.get() else { return }
        operation.group?.onRollback {
          log.add("release \(seats)")
          journal.remove("reserve")
        }
      }
      let pay = reserve.then(name: "pay") { _ in
        if failing { throw Flaw(1) }
        log.add("pay")
      }
      return GroupOperation(name: "order", errorPolicy: .failFast) {
        reserve
        pay
      }
    }
    world.run(order(failing: true))
    #expect(log.entries == ["reserve", "release 2"])
    #expect(journal.keys == [])
    world.run(order(failing: false))
    #expect(log.entries == ["reserve", "release 2", "reserve", "pay"])
    // The value comes from the journal now, and is released nonetheless.
    world.run(order(failing: true))
    #expect(log.entries == ["reserve", "release 2", "reserve", "pay", "release 2"])
    #expect(journal.keys == [])
  }

  @Test func `a recovery isn't used for a recorded value`() {
    let world = World()
    let journal = InMemoryJournal([.init(key: "feed", value: 1)])
    let feed = ResultOperation<Int> { throw Flaw(1) }.recorded(as: "feed", in: journal)
    let recovered = feed.recover { _ in 2 }
    world.run(feed, recovered)
    #expect((try? recovered.result?.get()) == 1)
  }

  @Test func `a journal that waits for the operation itself ends in an error`() throws {
    final class Waiting: OperationJournal {
      func value<Value: Codable & Sendable>(
        of type: Value.Type,
        for key: String
      ) async throws -> Value? {
        try await AdvancedOperation.current?.untilFinished()
        return nil
      }
      func record<Value: Codable & Sendable>(_ value: Value, for key: String) async throws {}
    }
    let world = World()
    let build = ResultOperation { 1 }.recorded(as: "build", in: Waiting())
    world.run(build)
    let error = try #require(build.outcome?.failure?.first(OperationJournalError.self))
    #expect(error.underlying is OperationCycleError)
  }
}
