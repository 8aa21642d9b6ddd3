import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Retrying an operation` {
  @Test(arguments: seeds)
  func `a retry runs attempts at the policy's times until one succeeds`(seed: UInt64) {
    let world = World(seed: seed)
    let begins = Log<Duration>()
    let retrying = RetryOperation(name: "retry", retry: .linear(.seconds(10)).attempts(5)) {
      attempt in
      begins.add(world.simulation.now)
      return attempt < 4 ? Work.failing("work", attempt) : Work("work")
    }
    world.run(retrying)
    #expect(begins.entries == [0, 10, 30, 60].map { .seconds($0) })
    #expect(retrying.kind == .succeeded)
    #expect(retrying.errors.isEmpty)
  }

  @Test func `a failed retry has the errors of all attempts with their numbers`() {
    let world = World()
    let retrying = RetryOperation(retry: .immediate.attempts(3)) { attempt in
      switch attempt {
      case 1: return Work.failing("body", 1)
      case 2:
        let work = Work("condition")
        work.addCondition(Immediate("c", always: .failed(Flaw(2))))
        return work
      default: return Work("several") { $0.finish(withErrors: [Flaw(3), Flaw(4)]) }
      }
    }
    world.run(retrying)
    #expect(retrying.kind == .failed)
    #expect(retrying.flawNumbers == [1, 2, 3, 4])
    #expect(
      retrying.origins == [
        .attempt(1, .body), .attempt(2, .condition("c")), .attempt(3, .body), .attempt(3, .body),
      ]
    )
    #expect(
      retrying.outcome.map { "\($0)" } == """
        failed
          attempt 1: flaw 1
          attempt 2
            condition “c”: flaw 2
          attempt 3: flaw 3
          attempt 3: flaw 4
        """
    )
  }

  @Test func `a retry policy receives the error of the attempt`() {
    let world = World()
    let seen = Log<String>()
    let policy = RetryPolicy { count, error in
      seen.add("\(count) \((error as? OperationFailure)?.elements.count ?? 1) \(flaws([error]))")
      return .zero
    }
    let retrying = RetryOperation(retry: policy) { attempt in
      switch attempt {
      case 1: return Work.failing("one", 1)
      case 2: return Work("several") { $0.finish(withErrors: [Flaw(3), Flaw(4)]) }
      default: return Work()
      }
    }
    world.run(retrying)
    #expect(seen.entries == ["1 1 [1]", "2 2 [0]"])
    #expect(retrying.kind == .succeeded)
  }

  @Test func `an attempt that was cancelled individually has failed`() {
    let world = World()
    let seen = Log<String>()
    let policy = RetryPolicy { _, error in
      seen.add("\(type(of: error))")
      return .zero
    }
    let retrying = RetryOperation(retry: policy) { attempt in
      let work = Work("attempt \(attempt)")
      switch attempt {
      case 1: work.cancel()
      case 2: work.cancel(withError: Flaw(2))
      case 3:
        let slow = DelayOperation(.seconds(60))
        slow.addObserver(TimeoutObserver(.seconds(5)))
        return slow
      default: break
      }
      return work
    }
    world.run(retrying)
    #expect(seen.entries == ["CancellationError", "Flaw", "OperationTimeout"])
    #expect(retrying.kind == .succeeded)
    #expect(world.simulation.now == .seconds(5))
  }

  @Test func `a failed retry includes the errors of cancelled attempts`() {
    let world = World()
    let retrying = RetryOperation(retry: .immediate.attempts(2)) { attempt in
      let work = Work()
      if attempt == 1 { work.cancel() } else { work.cancel(withError: Flaw(2)) }
      return work
    }
    world.run(retrying)
    #expect(retrying.kind == .failed)
    #expect(retrying.origins == [.attempt(1, .cancel), .attempt(2, .cancel)])
    #expect(retrying.flawNumbers == [0, 2])
  }

  @Test func `an attempt that was skipped is the last and isn't an error`() {
    let world = World()
    let made = Counter()
    let retrying = RetryOperation(retry: .immediate.attempts(3)) { _ in
      made.add()
      let work = Work()
      work.addCondition(Immediate(always: .skipped(reason: "no need")))
      return work
    }
    world.run(retrying)
    #expect(made.count == 1)
    #expect(retrying.kind == .succeeded)
  }

  // MARK: Cancelling

  @Test(arguments: seeds)
  func `a cancelled retry cancels its current attempt`(seed: UInt64) {
    let world = World(seed: seed)
    let attempts = Log<AdvancedOperation>()
    let retrying = RetryOperation(retry: .constant(.seconds(10)).attempts(9)) { attempt in
      let work = attempt < 3 ? Work.failing("failing", attempt) : DelayOperation(.seconds(100))
      attempts.add(work)
      return work
    }
    world.queue.addOperation(retrying)
    world.simulation.advance(by: .seconds(50))
    retrying.cancel(withError: Flaw(9))
    world.simulation.run()
    #expect(retrying.kind == .cancelled)
    #expect(retrying.flawNumbers == [9, 1, 2], "the reason once, and what went wrong before")
    #expect(attempts.entries.count == 3)
    #expect(attempts.entries.last?.cancellationReason as? Flaw == Flaw(9))
    #expect(world.simulation.now == .seconds(50))
  }

  @Test(arguments: seeds)
  func `a cancel ends a retry's wait for the next attempt`(seed: UInt64) {
    let world = World(seed: seed)
    let made = Counter()
    let retrying = RetryOperation(retry: .constant(.seconds(3_600)).attempts(9)) { _ in
      made.add()
      return Work.failing()
    }
    world.queue.addOperation(retrying)
    world.simulation.advance(by: .seconds(5))
    retrying.cancel()
    world.simulation.run()
    #expect(retrying.kind == .cancelled)
    #expect(retrying.origins == [.attempt(1, .body)])
    #expect(made.count == 1)
    #expect(world.simulation.now == .seconds(5))
  }

  @Test(arguments: seeds)
  func `a cancelled retry waits for the end of its attempt`(seed: UInt64) {
    let world = World(seed: seed)
    let polite = Work.open("polite", policy: .whenFinishIsCalled)
    let retrying = RetryOperation(retry: .immediate.attempts(3)) { _ in polite }
    world.run(retrying)
    retrying.cancel()
    world.simulation.run()
    #expect(polite.isCancelled)
    #expect(retrying.state == .executing)
    polite.finish(withError: Flaw(1))
    world.simulation.run()
    #expect(retrying.kind == .cancelled)
    #expect(retrying.origins == [.attempt(1, .body)])
  }

  @Test func `a retry that is cancelled before its start creates no attempt`() {
    let world = World()
    let made = Counter()
    let retrying = RetryOperation(retry: .immediate.attempts(3)) { _ in
      made.add()
      return Work()
    }
    retrying.cancel()
    world.run(retrying)
    #expect(retrying.kind == .cancelled)
    #expect(made.count == 0)
  }

  @Test func `a retry that is finished from outside ends after its current attempt`() {
    let world = World()
    let open = Work.open()
    let made = Counter()
    let retrying = RetryOperation(retry: .immediate.attempts(3)) { _ in
      made.add()
      return open
    }
    world.run(retrying)
    retrying.finish()
    #expect(retrying.kind == .succeeded)
    world.simulation.run()
    #expect(world.queue.operationCount == 1, "not quiet")
    open.finish(withError: Flaw(1))
    world.simulation.run()
    #expect(made.count == 1)
    #expect(world.queue.operationCount == 0)
  }

  // MARK: Slots and claims

  @Test(arguments: seeds)
  func `a retry takes one slot and can't deadlock a serial queue`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let outside = RetryOperation(retry: .immediate.attempts(2)) { _ in
      RetryOperation(retry: .immediate.attempts(2)) { attempt in
        attempt == 1 ? Work.failing() : GroupOperation { Work() }
      }
    }
    world.run(outside, Work())
    #expect(outside.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `attempts acquire their own claims and release them in between`(seed: UInt64) {
    let world = World(seed: seed)
    let other = Work("other")
    other.addClaim(MutuallyExclusive("a"))
    let retrying = RetryOperation(retry: .constant(.seconds(10)).attempts(3)) { attempt in
      let work = attempt < 3 ? Work.failing() : Work()
      work.addClaim(MutuallyExclusive("a"))
      return work
    }
    world.queue.addOperation(retrying)
    world.simulation.advance(by: .seconds(5))
    world.queue.addOperation(other)
    world.simulation.advance(by: .zero)
    #expect(other.kind == .succeeded, "while the next attempt is waited for")
    world.simulation.run()
    #expect(retrying.kind == .succeeded)
  }

  // MARK: Time limits

  @Test(arguments: seeds)
  func `an attempt that takes too long is cancelled and retried`(seed: UInt64) {
    let world = World(seed: seed)
    let policy = RetryPolicy.constant(.seconds(1)).attempts(3).attemptTimeout(.seconds(5))
    let retrying = RetryOperation(retry: policy) { attempt in
      DelayOperation(attempt < 3 ? .seconds(60) : .seconds(4))
    }
    world.run(retrying)
    #expect(retrying.kind == .succeeded)
    // 5 + 1 + 5 + 1 + 4
    #expect(world.simulation.now == .seconds(16))
  }

  @Test func `a retry with an attempt timeout fails with timeout errors`() {
    let world = World()
    let policy = RetryPolicy.immediate.attempts(2).attemptTimeout(.seconds(5))
    let retrying = RetryOperation(retry: policy) { _ in DelayOperation(.seconds(60)) }
    world.run(retrying)
    #expect(retrying.kind == .failed, "it was the attempt that was cancelled")
    #expect(retrying.origins == [.attempt(1, .timeout), .attempt(2, .timeout)])
    #expect(
      retrying.errors.map { $0 as? OperationTimeout }
        == [OperationTimeout(duration: .seconds(5)), OperationTimeout(duration: .seconds(5))]
    )
  }

  @Test func `an attempt's timeout cancels its produced operations and not the next attempt`() {
    let world = World()
    let produced = Log<AdvancedOperation>()
    let policy = RetryPolicy.immediate.attempts(2).attemptTimeout(.seconds(5))
    let retrying = RetryOperation(retry: policy) { attempt in
      if attempt == 2 { return DelayOperation(.seconds(4)) }
      return Work("attempt") { work in
        let child = DelayOperation(.seconds(60))
        produced.add(child)
        #expect(throws: Never.self) { try work.produce(child) }
      }
    }
    world.run(retrying)
    #expect(retrying.kind == .succeeded)
    #expect(produced.entries.map(\.kind) == [.cancelled])
    #expect(produced.entries.first?.cancellationReason is OperationTimeout)
    #expect(world.simulation.now == .seconds(9))
  }

  @Test func `the total timeout cancels the current attempt and ends the retry`() {
    let world = World()
    let made = Counter()
    let policy = RetryPolicy.immediate.attempts(100)
      .attemptTimeout(.seconds(10)).totalTimeout(.seconds(25))
    let retrying = RetryOperation(retry: policy) { _ in
      made.add()
      return DelayOperation(.seconds(60))
    }
    world.run(retrying)
    #expect(made.count == 3)
    #expect(world.simulation.now == .seconds(25))
    #expect(
      retrying.errors.map { ($0 as? OperationTimeout)?.duration }
        == [.seconds(10), .seconds(10), .seconds(25)]
    )
  }

  // MARK: Letting go

  @Test func `a retry releases everything at its end`() async {
    let live = LiveCount()
    let world = World()
    func make(failures: Int) -> RetryOperation<Void> {
      let token = live.token()
      return RetryOperation(retry: .constant(.seconds(10)).attempts(5)) { attempt in
        token.touch()
        return Work(token: live.token()) { work in
          if attempt <= failures { work.finish(withError: Flaw(1)) } else { work.finish() }
        }
      }
    }
    for failures in [0, 2, 9] { world.run(make(failures: failures)) }
    _ = make(failures: 0)
    let cancelled = make(failures: 0)
    cancelled.cancel()
    world.run(cancelled)
    #expect(live.made > 5)
    await live.none()
  }

  @Test(.watched) func `a retry that another thread cancels always ends once`() async throws {
    let queue = AdvancedOperationQueue()
    for _ in 0..<Effort.rounds(300) {
      let ends = Counter()
      let retrying = RetryOperation(retry: .immediate) { _ in
        ResultOperation { throw Flaw(1) }
      }
      retrying.onFinish { _, _ in ends.add() }
      await together({ queue.addOperation(retrying) }, { retrying.cancel(withError: Flaw(9)) })
      try await retrying.untilFinished()
      #expect(retrying.kind == .cancelled)
      #expect(retrying.flawNumbers.filter { $0 == 9 }.count == 1)
      #expect(ends.count == 1)
    }
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `operations of a cancelled attempt are cancelled before any dependent starts`()
    throws
  {
    let world = World()
    let first = Work.open("first")
    let between = Work.open("between")
    let last = Work("last")
    last.addDependency(first)
    let retry = RetryOperation(retry: .immediate.attempts(1)) { _ in
      Work("attempt", policy: .whenFinishIsCalled) { work in
        for other in [first, between, last] {
          #expect(throws: Never.self) { try work.produce(other) }
        }
      }
    }
    world.queue.addOperation(retry)
    try world.simulation.run(until: { between.isExecuting && first.isExecuting })
    // All that can happen happens while one of them is told of its cancel.
    between.onCancel { _, _ in world.simulation.run() }
    retry.cancel()
    world.simulation.run()
    #expect(last.kind == .cancelled)
    #expect(!last.didExecute)
  }

  enum Ending: CaseIterable, Sendable {
    case good, skipped, failed
  }

  @Test(arguments: Ending.allCases)
  func `an attempt is retried for its own errors and not its produced operations' errors`(
    ending: Ending
  ) {
    let world = World()
    let retrying = RetryOperation<Int>(name: "retry", retry: .immediate.attempts(3)) { attempt in
      ResultOperation<Int>(name: "attempt") {
        let child = Work.failing("produced", 10 * attempt)
        try AdvancedOperation.current?.produce(child)
        switch ending {
        case .good: return attempt
        case .skipped: throw OperationSkipped(reason: "no need")
        case .failed: throw Flaw(attempt)
        }
      }
    }
    world.run(retrying)
    #expect(retrying.kind == .failed)
    #expect(retrying.attempt == (ending == .failed ? 3 : 1))
    #expect(retrying.flawNumbers == (ending == .failed ? [1, 10, 2, 20, 3, 30] : [10]))
    #expect(
      retrying.origins.suffix(1) == [.attempt(retrying.attempt, .child("produced", .body))]
    )
  }

  @Test func `an operation that an attempt produces has its own retry policy`() {
    let world = World()
    let retrying = RetryOperation<Int>(name: "retry", retry: .immediate.attempts(3)) { attempt in
      ResultOperation<Int>(name: "attempt") {
        try AdvancedOperation.current?.produce(world.flaky("produced", failures: 2))
        return attempt
      }
    }
    world.run(retrying)
    #expect((try? retrying.result?.get()) == 1)
    #expect(retrying.attempt == 1)
  }
}
