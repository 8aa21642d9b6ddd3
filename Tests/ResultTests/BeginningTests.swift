import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Dispatch
import TestSupport
import Testing

/// Blocks the thread; not to be called by async code, which this hides.
private func block(until gate: Latch) { gate.pass() }

/// The part of a body, or of a condition, up to where it suspends for the first time.
@Suite(.watched) struct `The beginning of an async body` {
  private enum Maker: CaseIterable {
    case noTask, task

    func make<Made: Sendable>(_ make: @escaping @Sendable () -> Made) async -> Made {
      switch self {
      case .noTask: await onThread(make)
      case .task: await Task { make() }.value
      }
    }
  }

  @Test(.needsThreadPool("The body blocks its thread."), arguments: Maker.allCases)
  private func `the synchronous beginning of a body sees a cancel`(maker: Maker) async throws {
    let began = Latch()
    let work = await maker.make {
      ResultOperation {
        began.open()
        await blockUntilCancelled()
      }
    }
    AdvancedOperationQueue().addOperation(work)
    await began.opened()
    work.cancel()
    try await work.untilFinished()
    #expect(work.kind == .cancelled)
  }

  @Test(arguments: Maker.allCases)
  private func `a body's beginning sees the same context as its continuation`(
    maker: Maker
  ) async throws {
    let queue = OperationQueue()
    let seen = Log<Bool>()
    let work = await maker.make { () -> ResultOperation<Void> in
      let look = { @Sendable in
        seen.add(AdvancedOperation.current === queue.operations.first)
        seen.add(OperationQueue.current === queue)
      }
      let work = ResultOperation {
        look()
        await Task.yield()
        look()
      }
      work.addCondition(
        BlockCondition {
          look()
          await Task.yield()
          look()
          return true
        }
      )
      return work
    }
    queue.addOperation(work)
    try await work.value
    #expect(seen.entries == Array(repeating: true, count: 8))
  }

  @Test(.needsThreadPool("The body blocks its thread."), arguments: Maker.allCases)
  private func `a finished operation stays in the queue until its body returns`(
    maker: Maker
  ) async throws {
    let queue = AdvancedOperationQueue()
    let (began, finished, suspended, last) = (Latch(), Latch(), Latch(), Latch())
    let work = await maker.make {
      ResultOperation {
        began.open()
        block(until: finished)
        suspended.open()
        await last.opened()
      }
    }
    queue.addOperation(work)
    await began.opened()
    work.finish()
    #expect(work.isFinished)
    finished.open()
    await suspended.opened()
    // Its worker has gone on when that runs something else.
    queue.maxConcurrentOperationCount = 2
    let other = ResultOperation {}
    queue.addOperation(other)
    try await other.value
    #expect(queue.operations.contains(work))
    last.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(work.kind == .succeeded)
  }

  @Test(.needsThreadPool("The inner body blocks its thread."))
  func `the caller doesn't run the body of a manually started operation`() async throws {
    let queue = AdvancedOperationQueue()
    let outer = ResultOperation {
      let returned = Latch()
      let inner = ResultOperation { block(until: returned) }
      inner.start()
      returned.open()
      try await inner.value
    }
    queue.addOperation(outer)
    try await outer.value
  }

  @Test(.needsThreadPool("64 bodies block their threads."))
  func `a body that blocks its thread leaves other operations theirs`() async throws {
    let queue = AdvancedOperationQueue()
    let gate = Latch()
    let blocked = (0..<64).map { _ in ResultOperation { block(until: gate) } }
    queue.addOperations(blocked)
    queue.addOperation(ResultOperation { gate.open() })
    try await queue.untilAllOperationsAreFinished()
    #expect(blocked.allSatisfy { $0.kind == .succeeded })
  }

  @Test(.needsThreadPool("The condition blocks its thread."), arguments: [1, 2, 3])
  func `a condition that blocks its thread doesn't delay other operations`(
    limit: Int
  ) async throws {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = limit
    let (asked, gate) = (Latch(), Latch())
    let blocked = Work("blocked")
    blocked.addCondition(
      Asked { _ in
        asked.open()
        block(until: gate)
        return .satisfied
      }
    )
    let holders = (0..<limit).map { Work.open("holder \($0)") }
    let started = Countdown(limit)
    for holder in holders { holder.onStart { _ in started.count() } }
    queue.addOperation(blocked)
    await asked.opened()
    queue.addOperations(holders)
    await started.done.opened()
    let (other, left) = (Work("other"), Work("left"))
    let answered = Latch()
    other.addCondition(
      Asked { _ in
        answered.open()
        return .satisfied
      }
    )
    queue.addOperations([other, left])
    await answered.opened()
    left.cancel()
    try await left.untilFinished()
    for holder in holders { holder.finish() }
    gate.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(blocked.kind == .succeeded)
    #expect(other.kind == .succeeded)
  }

  @Test(.needsThreadPool("The condition blocks its thread."), arguments: Maker.allCases)
  private func `a condition sees a cancel and its answer is ignored`(maker: Maker) async throws {
    let (asked, ended) = (Latch(), Latch())
    let work = await maker.make {
      let work = ResultOperation { Issue.record("it ran") }
      work.addCondition(
        Asked { _ in
          asked.open()
          await blockUntilCancelled()
          ended.open()
          return .satisfied
        }
      )
      return work
    }
    AdvancedOperationQueue().addOperation(work)
    await asked.opened()
    work.cancel()
    try await work.untilFinished()
    await ended.opened()
    #expect(work.kind == .cancelled)
  }

  @Test(arguments: [OperationConditionResult.failed(Flaw(1)), .skipped(reason: "no need")])
  func `an operation whose condition fails leaves before the queue's slot is free`(
    answer: OperationConditionResult
  )
    async throws
  {
    let queue = AdvancedOperationQueue()
    queue.maxConcurrentOperationCount = 1
    let begun = Latch()
    let holder = Work { _ in begun.open() }
    queue.addOperation(holder)
    await begun.opened()
    let work = Work()
    work.addCondition(Asked { _ in answer })
    queue.addOperation(work)
    try await work.untilFinished()
    #expect(work.outcome?.isSuccess == false || work.kind == .skipped)
    #expect(!holder.isFinished)
    holder.finish()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `many operations with conditions and bodies all run`() async throws {
    let queue = AdvancedOperationQueue()
    let works = (0..<500).map { number in
      let work = ResultOperation {
        if number % 3 == 0 { await Task.yield() }
        return number
      }
      work.addCondition(
        BlockCondition {
          if number % 2 == 0 { await Task.yield() }
          return true
        }
      )
      return work
    }
    queue.addOperations(works)
    for (number, work) in works.enumerated() { #expect(try await work.value == number) }
    try await queue.untilAllOperationsAreFinished()
    #expect(queue.operationCount == 0)
  }
}
