import AdvancedOperations
import AdvancedTestSupport
import Dispatch
import TestSupport
import Testing

/// Runs operations while others block all threads of the pool of the standard library.
private enum Blocked {
  private static let count = 1_000

  /// Adds a thousand workflows, and waits for the end of all.
  ///
  /// - Parameters:
  ///   - kind: How they end.
  ///   - queue: Where they are added.
  ///   - make: Makes the last operation of a workflow, and adds the others.
  /// - Returns: How many have ended as expected while no other task got a thread.
  /// - Throws: Nothing.
  static func run(
    _ kind: Kind = .succeeded,
    in queue: AdvancedOperationQueue = AdvancedOperationQueue(),
    _ make: @escaping @Sendable (Int, AdvancedOperationQueue) -> AdvancedOperation
  ) async throws -> Int {
    Threads.launch { Watchdog.watch(for: 60) }
    let result = Locked(0)
    try await RunningTests.note("workflows") {
      let count = await Threads.run { blocked(kind, queue, make) }
      result.withLock { $0 = count }
    }
    return result.withLock { $0 }
  }

  private static func blocked(
    _ kind: Kind,
    _ queue: AdvancedOperationQueue,
    _ make: (Int, AdvancedOperationQueue) -> AdvancedOperation
  ) -> Int {
    let pool = BlockedPool()
    let ended = DispatchSemaphore(value: 0)
    let asExpected = Counter()
    for number in 0..<count {
      let last = make(number, queue)
      last.onFinish { operation, _ in
        if operation.kind == kind { asExpected.add() }
        RunningTests.progress()
        ended.signal()
      }
      queue.addOperation(last)
    }
    for _ in 0..<count { ended.wait() }
    let result = pool.isHeld ? asExpected.count : -1
    pool.end()
    return result
  }
}

@Suite(.watched, .heavy, .needsThreadPool("All threads of tasks are blocked."))
struct `Operations while other code blocks all threads of tasks` {
  @Test func `suspending bodies finish although other code blocks all task threads`() async {
    await #expect(processExitsWith: .success) {
      let count = try await Blocked.run { number, queue in
        let first = ResultOperation {
          await Task.yield()
          return number
        }
        queue.addOperation(first)
        return first.then { value in
          await Task.yield()
          if value != number { throw Flaw(number) }
        }
      }
      #expect(count == 1_000)
    }
  }

  @Test func `suspending conditions and prerequisites finish on a blocked task pool`() async {
    await #expect(processExitsWith: .success) {
      let count = try await Blocked.run { _, _ in
        let work = ResultOperation { await Task.yield() }
        for _ in 0..<2 {
          work.addCondition(
            Asked(prerequisite: { _ in ResultOperation { await Task.yield() } }) { _ in
              await Task.yield()
              return .satisfied
            }
          )
        }
        return work
      }
      #expect(count == 1_000)
    }
  }

  @Test func `attempts with delays and timeouts finish on a blocked task pool`() async {
    await #expect(processExitsWith: .success) {
      let count = try await Blocked.run { number, _ in
        let attempts = Counter()
        let policy = RetryPolicy.constant(.milliseconds(number % 3)).attempts(3)
        return ResultOperation(
          retry: number % 2 == 0 ? policy : policy.attemptTimeout(.seconds(3_600))
        ) {
          await Task.yield()
          attempts.add()
          if attempts.count < 3 { throw Flaw(number) }
        }
      }
      #expect(count == 1_000)
    }
  }

  @Test func `rounds, delays and retries finish on a blocked task pool`() async {
    await #expect(processExitsWith: .success) {
      let count = try await Blocked.run { _, queue in
        let delay = DelayOperation(.milliseconds(1))
        let repeated = RepeatOperation(times: 2, every: .milliseconds(1)) { _ in
          ResultOperation { await Task.yield() }
        }
        repeated.addDependency(delay)
        queue.addOperations([delay, repeated])
        let retried = RetryOperation(retry: .constant(.milliseconds(1)).attempts(2)) { attempt in
          ResultOperation {
            await Task.yield()
            if attempt == 1 { throw Flaw(attempt) }
          }
        }
        retried.addDependency(repeated)
        return retried
      }
      #expect(count == 1_000)
    }
  }

  @Test func `groups and their rollbacks finish on a blocked task pool`() async {
    await #expect(processExitsWith: .success) {
      let count = try await Blocked.run(.failed) { number, _ in
        let group = GroupOperation()
        let first = ResultOperation { [weak group] in
          await Task.yield()
          group?.onRollback { await Task.yield() }
        }
        let second = first.then { () async throws -> Void in
          await Task.yield()
          throw Flaw(number)
        }
        _ = group.addOperation(first)
        _ = group.addOperation(second)
        return group
      }
      #expect(count == 1_000)
    }
  }

  @Test func `timeouts cancel operations on a blocked task pool`() async {
    await #expect(processExitsWith: .success) {
      let count = try await Blocked.run(.cancelled) { _, _ in
        let work = ResultOperation {
          while !Task.isCancelled { await Task.yield() }
          throw CancellationError()
        }
        work.addObserver(TimeoutObserver(.milliseconds(1)))
        return work
      }
      #expect(count == 1_000)
    }
  }

  @Test func `scopes, events and nested operations finish on a blocked task pool`() async {
    await #expect(processExitsWith: .success) {
      let count = try await Blocked.run { number, _ in
        ResultOperation {
          let sum = try await withOperations { scope in
            let first = scope.add(
              ResultOperation {
                await Task.yield()
                return number
              }
            )
            let second = first.then { value in
              await Task.yield()
              return value + 1
            }
            second.addCondition(
              BlockCondition {
                await Task.yield()
                return true
              }
            )
            let events = second.events
            scope.add(second)
            for await event in events { if case .finished = event { break } }
            async let half = first.value
            return try await half + second.value
          }
          if sum != 2 * number + 1 { throw Flaw(sum) }
        }
      }
      #expect(count == 1_000)
    }
  }

  @Test func `child tasks of bodies finish on a blocked task pool`() async {
    await #expect(processExitsWith: .success) {
      let count = try await Blocked.run { number, _ in
        ResultOperation {
          async let one = Self.after(one: 1)
          let sum = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<2 { group.addTask { await Self.after(one: 1) } }
            return await group.reduce(0, +)
          }
          let all = await sum + one
          if all != 3 { throw Flaw(number) }
        }
      }
      #expect(count == 1_000)
    }
  }

  private static func after(one number: Int) async -> Int {
    await Task.yield()
    return number
  }

  @Test
  func `other executors, async closures and manual starts finish on a blocked task pool`() async {
    await #expect(processExitsWith: .success) {
      let other = AdvancedOperationQueue()
      other.underlyingQueue = DispatchQueue(label: "one thread")
      let count = try await Blocked.run(in: other) { number, _ in
        let byHand = ResultOperation { await Task.yield() }
        let closure = Latch()
        other.addOperation {
          await Task.yield()
          closure.open()
        }
        let last = ResultOperation {
          await Task.yield()
          await closure.opened()
          try await byHand.value
        }
        byHand.start()
        return last
      }
      #expect(count == 1_000)
    }
  }
}
