import AdvancedOperations
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// The modifiers of a policy, tested on runs as values.
@Suite struct `A retry policy` {
  private static let delays: [(name: String, policy: RetryPolicy)] = [
    ("immediate", .immediate),
    ("constant", .constant(.seconds(10))),
    ("linear", .linear(.seconds(10))),
    ("exponential", .exponential(.seconds(1), cap: .seconds(30))),
    ("closure", RetryPolicy { count, _ in .seconds(count) }),
  ]

  /// The times at which attempts begin that all fail immediately; at most as many as given.
  private static func times(
    of policy: RetryPolicy,
    failing flaw: Int = 1,
    atMost count: Int = 100
  ) -> [Duration] {
    var run = RetryRun(policy, now: .zero)
    var times = [Duration.zero]
    while times.count < count {
      let failures = [OperationFailure.Element(origin: .body, error: Flaw(flaw))]
      run.record(failures)
      // The half of each jittered delay.
      let next = run.next(after: failures, now: times[times.count - 1], random: { 1 << 63 })
      switch next {
      case .attempt(let time): times.append(time)
      case .giveUp: return times
      }
    }
    return times
  }

  @Test(arguments: delays.indices)
  func `a retry policy has no attempt limit by default`(index: Int) {
    let (name, policy) = Self.delays[index]
    #expect(Self.times(of: policy, atMost: 10_000).count == 10_000, "\(name)")
  }

  @Test(arguments: delays.indices, [1, 2, 7])
  func `a retry policy makes as many attempts as its limit`(index: Int, count: Int) {
    let (name, policy) = Self.delays[index]
    let unlimited = Self.times(of: policy)
    #expect(Self.times(of: policy.attempts(count)) == Array(unlimited.prefix(count)), "\(name)")
  }

  @Test(arguments: delays.indices)
  func `the smaller of two limits applies in any order`(index: Int) {
    let (name, policy) = Self.delays[index]
    for (first, second) in [(2, 5), (5, 2), (3, 3)] {
      let limited = policy.attempts(first).attempts(second)
      #expect(Self.times(of: limited).count == min(first, second), "\(name)")
      let timely = RetryPolicy.constant(.seconds(10))
        .totalTimeout(.seconds(10 * first)).totalTimeout(.seconds(10 * second))
      // An attempt begins each 10 s, and none at the limit.
      #expect(Self.times(of: timely).count == min(first, second), "\(name)")
    }
  }

  @Test func `a retry policy gives up at the first limit that is reached`() {
    let policy = RetryPolicy.constant(.seconds(10))
    // Attempts begin at 0, 10 and 20 s.
    #expect(Self.times(of: policy.attempts(3).totalTimeout(.seconds(60))).count == 3)
    #expect(Self.times(of: policy.attempts(9).totalTimeout(.seconds(25))).count == 3)
    #expect(Self.times(of: policy.totalTimeout(.seconds(25)).attempts(2)).count == 2)
  }

  @Test func `a closure policy ends when it returns nil or reaches its limit`() {
    let policy = RetryPolicy { count, _ in count < 4 ? .seconds(1) : nil }
    #expect(Self.times(of: policy).count == 4)
    #expect(Self.times(of: policy.attempts(9)).count == 4)
    #expect(Self.times(of: policy.attempts(2)).count == 2)
  }

  @Test func `predicates are called after the last attempt and the delay closure isn't`() {
    let (asked, seen) = (Counter(), Counter())
    let policy = RetryPolicy { _, _ in
      asked.add()
      return .zero
    }.attempts(3).when { _ in
      seen.add()
      return true
    }
    #expect(Self.times(of: policy).count == 3)
    #expect(asked.count == 2)
    #expect(seen.count == 3)
  }

  @Test func `an error is retried only if all predicates allow it`() {
    let policy = RetryPolicy.immediate.attempts(5)
      .when { ($0 as? Flaw)?.number != 1 }.when { ($0 as? Flaw)?.number != 2 }
    #expect([1, 2, 3].map { Self.times(of: policy, failing: $0).count } == [1, 1, 5])
  }

  /// The modifiers, each of which may come before each other one.
  private static let modifiers: [@Sendable (RetryPolicy) -> RetryPolicy] = [
    { $0.attempts(6) },
    { $0.totalTimeout(.seconds(1_000)) },
    { $0.attemptTimeout(.seconds(5)) },
    { $0.jittered() },
    { policy in policy.when { ($0 as? Flaw)?.number == 1 } },
    { $0.releasingSlot() },
  ]

  /// The orders of numbers below a count.
  private static func orders(of count: Int) -> [[Int]] {
    (0..<count).reduce([[]]) { orders, number in
      orders.flatMap { order in
        (0...order.count).map { index in
          var longer = order
          longer.insert(number, at: index)
          return longer
        }
      }
    }
  }

  @Test(arguments: delays.indices)
  func `the order of a policy's modifiers doesn't matter`(index: Int) {
    let (name, policy) = Self.delays[index]
    let orders = Self.orders(of: Self.modifiers.count)
    #expect(orders.count == 720)
    // Half of each delay, as the random number says.
    let halves = zip(Self.times(of: policy).dropFirst(), Self.times(of: policy)).map {
      ($0 - $1) / 2
    }
    let expected = halves.prefix(5).reduce(into: [Duration.zero]) {
      $0.append($0[$0.count - 1] + $1)
    }
    for order in orders {
      let changed = order.reduce(policy) { Self.modifiers[$1]($0) }
      #expect(Self.times(of: changed) == expected, "\(name) \(order)")
      #expect(Self.times(of: changed, failing: 2) == [.zero], "\(name) \(order)")
      let limit = RetryRun(changed, now: .zero).limit(now: .zero)
      #expect(limit?.time == .seconds(5), "\(name) \(order)")
    }
  }

  @Test(arguments: [0, -1, Int.min])
  func `a policy with no attempt traps with one sentence`(count: Int) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [count] in
      _ = RetryPolicy.immediate.attempts(count)
    }
    try expectMessage(
      "attempts(_:) was called on a RetryPolicy with \(count). The first attempt is included, so pass "
        + "1 or more.",
      in: result
    )
  }

  @Test func `a retry policy can be written as an optional argument`() {
    let world = World()
    let work = ResultOperation<Int>(
      retry: .exponential(.seconds(1), cap: .seconds(30)).jittered().attempts(5)
    ) { throw Flaw(1) }
    let immediate = ResultOperation<Int>(retry: .immediate.attempts(2)) { throw Flaw(2) }
    world.run(work, immediate)
    #expect(work.attempt == 5)
    #expect(immediate.attempt == 2)
  }
}
