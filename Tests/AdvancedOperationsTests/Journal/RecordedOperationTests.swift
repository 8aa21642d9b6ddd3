import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Testing

/// A subclass with each hook that it may have.
private final class Counting: ResultOperation<Int>, @unchecked Sendable {
  let ends = Counter()
  override func finished(withErrors errors: [any Error]) { ends.add() }
}

@Suite struct `An operation that is recorded` {
  private let journal = InMemoryJournal()
  private let bodies = Counter()

  @Test
  func `a recorded operation keeps its type and may be enqueued in the same expression`()
    async throws
  {
    let retrying: RetryOperation<Int> = RetryOperation(retry: .immediate.attempts(2)) { _ in
      ResultOperation { 1 }
    }.recorded(as: "retrying", in: journal)
    let counting: Counting = Counting { 2 }.recorded(as: "counting", in: journal)
    let operation = ResultOperation { 3 }
    #expect(operation.recorded(as: "plain", in: journal) === operation)
    let queue = AdvancedOperationQueue()
    #expect(try await queue.run(retrying) == 1)
    #expect(try await queue.run(counting) == 2)
    #expect(try await queue.run(operation.then { $0 + 1 }.recorded(as: "next", in: journal)) == 4)
    #expect(journal.keys == ["retrying", "counting", "plain", "next"])
  }

  @Test func `a recorded operation is named after its key unless it has a name`() {
    let download = ResultOperation(name: "download") { 1 }
    let unnamed: [AdvancedOperation] = [
      download.then { $0 }.recorded(as: "then", in: journal),
      download.recover { _ in 2 }.recorded(as: "recover", in: journal),
      ResultOperation(after: download) { $0 }.recorded(as: "after", in: journal),
    ]
    #expect(unnamed.map(\.name) == ["then", "recover", "after"])
    #expect(download.recorded(as: "feed", in: journal).name == "download")
  }

  @Test func `a recorded operation may be a child of a group or scope`() async throws {
    let group = GroupOperation {
      ResultOperation { 1 }.recorded(as: "first", in: journal)
      for number in 2...3 {
        ResultOperation { number }.recorded(as: "\(number)", in: journal)
      }
    }
    let late = ResultOperation { 4 }
    group.addOperation(late)
    // The group has it, and no queue yet.
    late.recorded(as: "late", in: journal)
    try await AdvancedOperationQueue().run(group)
    #expect(Set(journal.keys) == ["first", "2", "3", "late"])
    let value = try await withOperations { [journal] scope in
      try await scope.add(ResultOperation { 5 }.recorded(as: "scoped", in: journal)).value
    }
    #expect(value == 5)
    #expect(journal.keys.last == "scoped")
  }

  @Test func `a recorded operation that was cancelled before isn't run`() {
    let world = World()
    let work = ResultOperation { [bodies] in bodies.add() }
    work.cancel()
    work.recorded(as: "work", in: journal)
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(bodies.count == 0)
    #expect(journal.keys == [])
  }

  @Test func `a recorded operation of a subclass calls its finish hook in each case`() {
    for isSecond in [false, true] {
      let world = World()
      let work = Counting { [bodies] in bodies.add() }.recorded(as: "work", in: journal)
      world.run(work)
      #expect(work.isFromJournal == isSecond)
      #expect(work.ends.count == 1)
    }
    #expect(bodies.count == 1)
  }

  // MARK: Recovering

  /// An operation that fails if told so, and one that recovers from that.
  private func recovering(
    _ isFailing: Bool
  ) -> (download: ResultOperation<Int>, feed: ResultOperation<Int>) {
    let download = ResultOperation(name: "download") {
      if isFailing { throw Flaw(1) }
      return 1
    }
    let feed = download.recover { [bodies] _ in
      bodies.add()
      return 2
    }.recorded(as: "feed", in: journal)
    return (download, feed)
  }

  @Test(arguments: [false, true], [false, true])
  func `a recorded recovery records its value and keeps it`(
    isFailingFirst: Bool,
    isFailingThen: Bool
  ) {
    let value = isFailingFirst ? 2 : 1
    for isFailing in [isFailingFirst, isFailingThen] {
      let world = World()
      let (download, feed) = recovering(isFailing)
      let group = GroupOperation(errorPolicy: .failFast) {
        download
        feed
      }
      world.run(group)
      #expect(download.kind == (isFailing ? .failed : .succeeded))
      #expect((try? feed.result?.get()) == value)
      // A failure that was recovered from doesn't count.
      #expect(group.kind == .succeeded)
    }
    #expect(bodies.count == (isFailingFirst ? 1 : 0))
    #expect(journal.keys == ["feed"])
  }

  @Test func `a recovery isn't recorded if its closure throws or its input is skipped`() {
    let world = World()
    let failing = ResultOperation<Int> { throw Flaw(1) }
    let skipped = ResultOperation<Int> { throw OperationSkipped(reason: "no") }
    let one = failing.recover { _ in throw Flaw(2) }.recorded(as: "one", in: journal)
    let other = skipped.recover { _ in 2 }.recorded(as: "other", in: journal)
    world.queue.addOperations([failing, skipped, one, other])
    world.simulation.run()
    #expect(one.kind == .failed)
    #expect(other.kind == .skipped)
    #expect(journal.keys == [])
  }

  @Test func `a recovery records the value of its fallback operation`() {
    for isSecond in [false, true] {
      let world = World()
      let download = ResultOperation<Int>(name: "download") { throw Flaw(1) }
      let feed = download.recover { [bodies] _ in
        ResultOperation(name: "mirror") { bodies.add() }
      }.recorded(as: "feed", in: journal)
      world.run(download, feed)
      #expect((try? feed.result?.get()) == 1)
      #expect(feed.isFromJournal == isSecond)
    }
    #expect(bodies.count == 1)
  }

  // MARK: Retrying

  @Test func `a recorded retry keeps the last attempt's value and creates no further attempt`() {
    for isSecond in [false, true] {
      let world = World()
      let attempts = Counter()
      let work = RetryOperation(retry: .immediate.attempts(3)) { [bodies] number in
        attempts.add()
        return ResultOperation {
          if number < 3 { throw Flaw(number) }
          return bodies.add()
        }
      }.recorded(as: "work", in: journal)
      world.run(work)
      #expect((try? work.result?.get()) == 1)
      #expect(work.isFromJournal == isSecond)
      #expect(attempts.count == (isSecond ? 0 : 3))
    }
    #expect(journal.keys == ["work"])
  }
}
