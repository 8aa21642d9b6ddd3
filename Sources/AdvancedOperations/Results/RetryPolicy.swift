/// A rule that decides whether and when another attempt follows a failed attempt.
///
/// Begin with the delays, then add the limits:
///
/// ```swift
/// let download = ResultOperation(
///   name: "download",
///   retry: .exponential(.seconds(1), cap: .seconds(30)).jittered().attempts(5)
/// ) { try await feed.download() }
/// ```
///
/// A policy of delays has no limit: it repeats attempts until one succeeds, or the operation is cancelled.
/// ``attempts(_:)`` limits the number of attempts, and ``totalTimeout(_:)`` limits their time. The operation
/// gives up at the first limit that is reached. Then it fails with the errors of its attempts.
///
/// If there were many attempts, the operation keeps the errors of the first 8 and the last 8. Descriptions of
/// the failure contain the number of attempts that were left out.
///
/// Each method below returns a changed copy of the policy. The methods work on every policy, including a
/// policy from a closure, and their order doesn't matter. If a limit is set twice, the smaller value applies.
///
/// If a delay isn't positive, the next attempt begins immediately. A delay that is too long to be added to
/// the time, such as `.seconds(Int64.max)`, never ends.
public struct RetryPolicy: Sendable {
  /// The delay after a failure; nil to give up.
  ///
  /// The closure gets the number of failed attempts, the error of the last attempt, and the source of
  /// randomness.
  private var delay: @Sendable (Int, any Error, @Sendable () -> UInt64) -> Duration?
  /// The closures that decide whether an error is worth another attempt.
  private var predicates: [@Sendable (any Error) -> Bool] = []
  /// The largest number of attempts.
  private var countLimit = Int.max
  /// The longest time for all attempts and the delays between them.
  private(set) var totalLimit: Duration?
  /// The longest time for one attempt.
  private(set) var attemptLimit: Duration?
  /// Whether slot and claims are released between the attempts.
  private(set) var releasesSlot = false
  /// The budgets that have to allow each retry.
  private(set) var budgets: [RetryBudget] = []
  /// The duration of an attempt after which delays and numbers start again; nil for none.
  private(set) var stableDuration: Duration?
  /// The delay that a service asks for.
  private var requestedDelay:
    (key: String?, limit: Duration, delay: @Sendable (any Error) -> Duration?)?

  /// Creates a policy from a closure.
  ///
  /// ```swift
  /// let policy = RetryPolicy { failedAttempts, error in
  ///   error is Offline && failedAttempts < 5 ? .seconds(10) : nil
  /// }
  /// ```
  ///
  /// The closure is called after a failed attempt if another attempt may follow. No lock is held during the
  /// call. The closure isn't called after the last of the ``attempts(_:)``, nor if a closure of ``when(_:)``
  /// has returned false.
  ///
  /// - Parameter next: A closure that returns the delay before the next attempt, or nil to give up. It gets
  ///   the number of attempts that have failed, 1 after the first, and the error of the attempt that has just
  ///   failed. The error is the root cause, even if it came through several operations, groups, inputs or
  ///   conditions. If an attempt has several root causes, the error is an ``OperationFailure`` with these
  ///   ``OperationFailure/rootCauses``.
  public init(_ next: @escaping @Sendable (_ failedAttempts: Int, _ error: any Error) -> Duration?)
  {
    delay = { count, error, _ in next(count, error) }
  }

  private init(delay: @escaping @Sendable (_ failedAttempts: Int) -> Duration) {
    self.delay = { count, _, _ in delay(count) }
  }

  /// The delay before the next attempt; nil to give up.
  ///
  /// Calls closures of the program.
  func next(
    after failedAttempts: Int,
    _ error: any Error,
    random: @Sendable () -> UInt64
  ) -> Duration? {
    if !predicates.isEmpty {
      let causes = error.decidingCauses
      // A predicate may record errors, so it is called even after the last attempt.
      for predicate in predicates where !causes.allSatisfy(predicate) { return nil }
    }
    return failedAttempts < countLimit ? delay(failedAttempts, error, random) : nil
  }

  /// Returns the delay that the service asks for with the errors of an attempt, and the key of the rate that it
  /// holds; nil if the service asks for none.
  ///
  /// Calls a closure of the program.
  func delayRequested(by causes: [any Error]) -> (delay: Duration, key: String?)? {
    guard let requestedDelay, let delay = causes.compactMap(requestedDelay.delay).max() else {
      return nil
    }
    return (min(max(delay, .zero), requestedDelay.limit), requestedDelay.key)
  }

  // MARK: Delays

  /// A policy without delays.
  ///
  /// Without a limit, it repeats attempts until one succeeds or the operation is cancelled. Add
  /// ``attempts(_:)`` or ``totalTimeout(_:)``.
  ///
  /// ```swift
  /// let download = ResultOperation(retry: .immediate.attempts(3)) { try await feed.download() }
  /// ```
  public static var immediate: RetryPolicy { RetryPolicy { _ in .zero } }

  /// Returns a policy with the same delay before each retry.
  ///
  /// Without a limit, it repeats attempts until one succeeds or the operation is cancelled. Add
  /// ``attempts(_:)`` or ``totalTimeout(_:)``.
  ///
  /// - Parameter delay: The time between two attempts.
  /// - Returns: The policy.
  public static func constant(_ delay: Duration) -> RetryPolicy { RetryPolicy { _ in delay } }

  /// Returns a policy in which each delay is one step longer than the previous delay.
  ///
  /// Without a limit, it repeats attempts until one succeeds or the operation is cancelled. Add
  /// ``attempts(_:)`` or ``totalTimeout(_:)``.
  ///
  /// - Parameter step: The first delay, and the difference between two delays.
  /// - Returns: The policy.
  public static func linear(_ step: Duration) -> RetryPolicy {
    RetryPolicy { step.saturatingMultiplied(by: $0) }
  }

  /// Returns a policy in which each delay is twice as long as the previous delay.
  ///
  /// Without a limit, it repeats attempts until one succeeds or the operation is cancelled. Add
  /// ``attempts(_:)`` or ``totalTimeout(_:)``, and ``jittered()`` if many clients may fail at the
  /// same time.
  ///
  /// - Parameters:
  ///   - first: The first delay.
  ///   - cap: The longest delay.
  /// - Returns: The policy.
  public static func exponential(
    _ first: Duration,
    cap: Duration = .seconds(3600)
  ) -> RetryPolicy {
    RetryPolicy { doubled(first, upTo: cap, after: $0) }
  }

  private static func doubled(
    _ first: Duration,
    upTo cap: Duration,
    after count: Int
  ) -> Duration {
    var delay = min(first, cap)
    var doublings = count - 1
    while doublings > 0, delay > .zero, delay < cap {
      delay = min(delay.saturatingMultiplied(by: 2), cap)
      doublings -= 1
    }
    return delay
  }

  // MARK: Limits

  /// Returns the policy with a limit for the number of attempts.
  ///
  /// ```swift
  /// let policy = RetryPolicy { _, error in error is Offline ? .seconds(10) : nil }
  ///   .attempts(5)
  /// ```
  ///
  /// - Parameter count: The number of attempts, including the first; 1 for no repetition. If the method is
  ///   called several times, the smallest number applies.
  /// - Returns: The changed policy.
  /// - Precondition: The number is at least 1.
  public func attempts(_ count: Int) -> RetryPolicy {
    if count < 1 {
      trap(
        "attempts(_:) was called on a RetryPolicy with \(count). The first attempt is included, so "
          + "pass 1 or more."
      )
    }
    var policy = self
    policy.countLimit = min(countLimit, count)
    return policy
  }

  /// Returns the policy with a time limit for all attempts together and the delays between them.
  ///
  /// No attempt begins after the limit. If the next attempt would begin later, the policy gives up
  /// immediately. An attempt that is still running at the limit is cancelled, as by ``attemptTimeout(_:)``,
  /// and no attempt follows. In both cases descriptions of the failure name the limit as the reason for
  /// giving up.
  ///
  /// ```swift
  /// let policy = RetryPolicy.exponential(.seconds(1)).attempts(10)
  ///   .attemptTimeout(.seconds(5))
  ///   .totalTimeout(.seconds(60))
  /// ```
  ///
  /// - Parameter duration: The time from the beginning of the first attempt, by the clock of the environment.
  ///   If the method is called several times, the shortest duration applies. If the duration isn't positive,
  ///   the first attempt is cancelled as soon as it has begun, and no attempt follows.
  /// - Returns: The changed policy.
  public func totalTimeout(_ duration: Duration) -> RetryPolicy {
    var policy = self
    policy.totalLimit = min(totalLimit ?? duration, duration)
    return policy
  }

  /// Returns the policy with a time limit for each attempt.
  ///
  /// An attempt that takes longer is cancelled and fails with an ``OperationTimeout``. The policy decides
  /// about this error as about other errors. The next attempt doesn't begin before the cancelled attempt has
  /// finished.
  ///
  /// For a ``ResultOperation``, only the task of the body is cancelled, not the operation. If the body
  /// returns a value nonetheless, the operation takes the value, because the work has been done.
  ///
  /// - Parameter duration: The time for one attempt, by the clock of the environment. If the method is called
  ///   several times, the shortest duration applies. If the duration isn't positive, each attempt is
  ///   cancelled as soon as it has begun.
  /// - Returns: The changed policy.
  public func attemptTimeout(_ duration: Duration) -> RetryPolicy {
    var policy = self
    policy.attemptLimit = min(attemptLimit ?? duration, duration)
    return policy
  }

  /// Returns the policy with a budget that it shares with the policies of other operations.
  ///
  /// If the budget is used up, an operation whose attempt has failed gives up immediately, without a delay.
  /// A retry that was allowed and doesn't begin, for example because the operation is cancelled during the
  /// delay, isn't counted. With two budgets, both have to allow the retry.
  ///
  /// ```swift
  /// let budget = RetryBudget("api", ratio: 0.1)
  /// let policy = RetryPolicy.exponential(.seconds(1)).attempts(3).limited(by: budget)
  /// ```
  ///
  /// - Parameter budget: The budget, which counts the first attempts of operations with this policy as well.
  /// - Returns: The changed policy.
  public func limited(by budget: RetryBudget) -> RetryPolicy {
    var policy = self
    if !budgets.contains(where: { $0 === budget }) { policy.budgets.append(budget) }
    return policy
  }

  // MARK: Refining

  /// Returns the policy with random delays, each between zero and the full delay.
  ///
  /// Operations that failed at the same time then don't retry at the same time. (The scheme is
  /// called *full jitter* in Marc Brooker, *Exponential Backoff And Jitter*, AWS Architecture Blog,
  /// 2015.)
  ///
  /// ```swift
  /// let policy = RetryPolicy { failedAttempts, error in
  ///   error is Offline && failedAttempts < 5 ? .seconds(10) : nil
  /// }
  /// let polite = policy.jittered()
  /// ```
  ///
  /// The random numbers come from the ``OperationEnvironment``, and are evenly distributed. If the method is
  /// called twice, the delay is multiplied by two random numbers.
  ///
  /// - Returns: The changed policy.
  public func jittered() -> RetryPolicy {
    var policy = self
    policy.delay = { [delay] count, error, random in
      guard let delay = delay(count, error, random) else { return nil }
      guard delay > .zero else { return delay }
      return delay.saturatingMultiplied(by: Double(random() >> 11) / 0x1p53)
    }
    return policy
  }

  /// Returns the policy for some errors only: it gives up immediately on other errors.
  ///
  /// ```swift
  /// let policy = RetryPolicy.constant(.seconds(5)).attempts(3).when { !($0 is NotFound) }
  /// ```
  ///
  /// The closure gets the *root causes* of an attempt's failure, one after the other. These are the original
  /// errors, which came through awaited operations, groups, inputs and conditions, as in
  /// ``OperationFailure/rootCauses``. The attempt is repeated only if the closure returns true for each of
  /// them.
  ///
  /// If a failed operation has made several attempts itself, only its last attempt is considered. If the
  /// method is called twice, both closures have to return true.
  ///
  /// The closure is called after each failed attempt, including the last, while no lock is held.
  ///
  /// - Parameter isWorthwhile: A closure that gets a root cause. It returns whether another attempt could
  ///   succeed in spite of this error.
  /// - Returns: The changed policy.
  public func when(
    _ isWorthwhile: @escaping @Sendable (_ error: any Error) -> Bool
  ) -> RetryPolicy {
    var policy = self
    policy.predicates.append(isWorthwhile)
    return policy
  }

  /// Returns the policy with the delay that a service asks for, for this operation and for all that claim a key.
  ///
  /// A service that limits its clients answers with a time, such as `Retry-After` of the HTTP status 429. This
  /// delay replaces the delay of the policy. ``attempts(_:)``, ``when(_:)`` and ``totalTimeout(_:)`` apply as to
  /// other delays: if the next attempt would begin after the total limit, the policy gives up immediately.
  ///
  /// ```swift
  /// let policy = RetryPolicy.exponential(.seconds(1)).attempts(5)
  ///   .retryAfter(holding: "api") { ($0 as? TooManyRequests)?.retryAfter }
  /// ```
  ///
  /// With a key, the delay also holds the ``RateLimit`` of that key, as
  /// ``ClaimDomain/hold(rate:until:on:reason:)`` does. The other operations don't have to be refused one by one.
  /// The key is held even if the policy gives up.
  ///
  /// - Parameters:
  ///   - key: The key of the rate to hold; nil to delay only this operation.
  ///   - limit: The longest delay. A longer delay is shortened, because a wrong answer of the service would stop
  ///     all operations.
  ///   - delay: A closure that gets a root cause of the attempt's failure, like the closure of ``when(_:)``. It
  ///     returns the delay that the service asks for, or nil for the delay of the policy. With zero or a
  ///     negative delay, the next attempt begins immediately. Of several calls of this method, the last applies.
  /// - Returns: The changed policy.
  public func retryAfter(
    holding key: String? = nil,
    atMost limit: Duration = .seconds(3600),
    _ delay: @escaping @Sendable (_ error: any Error) -> Duration?
  ) -> RetryPolicy {
    var policy = self
    policy.requestedDelay = (key, max(limit, .zero), delay)
    return policy
  }

  /// Returns the policy with delays that start again after an attempt that has run for a while.
  ///
  /// Use it for bodies that normally run for a long time, such as a connection that is kept open. A
  /// connection that breaks once an hour is then opened again after the first delay each time. A connection
  /// that breaks immediately gets longer and longer delays:
  ///
  /// ```swift
  /// let policy = RetryPolicy.exponential(.seconds(1)).attempts(8).resettingAfter(.seconds(60))
  /// ```
  ///
  /// After an attempt of at least this duration, its failure counts as the first: for the delay, for
  /// ``attempts(_:)``, and for the closure of a policy. The number of the attempt and the time of
  /// ``totalTimeout(_:)`` continue. An attempt that ``attemptTimeout(_:)`` has cancelled doesn't count, because
  /// it may have hung.
  ///
  /// - Parameter duration: The time from the beginning of an attempt to its failure, including the waits of the
  ///   body. If the method is called several times, the shortest duration applies.
  /// - Returns: The changed policy.
  /// - Precondition: The duration is more than zero.
  public func resettingAfter(_ duration: Duration) -> RetryPolicy {
    if duration <= .zero {
      trap(
        "resettingAfter(_:) was called on a RetryPolicy with \(duration.readable). After such an attempt, the "
          + "delays would never grow, so pass a duration of more than zero."
      )
    }
    var policy = self
    policy.stableDuration = min(stableDuration ?? duration, duration)
    return policy
  }

  /// Returns a policy that releases the operation's slot and claims between two attempts.
  ///
  /// Use it for long delays in a queue with a limit, and for claims that other operations need. While the
  /// operation waits for its next attempt, other operations can use its slot and its claims.
  ///
  /// ```swift
  /// let upload = ResultOperation(
  ///   name: "upload",
  ///   retry: .exponential(.seconds(10)).attempts(5).releasingSlot()
  /// ) { try await server.upload() }
  /// upload.addClaim(MutuallyExclusive("uplink"))
  /// ```
  ///
  /// If another attempt follows a failed one, the operation releases its slot and all its claims, and waits
  /// for the delay. Then it is ready again, before operations of its priority that were added later. It takes
  /// a slot and its claims in one step, like an operation that starts:
  ///
  /// - The limit and the suspension of the queue, priorities, and the FIFO order of claims apply to the next
  ///   attempt as to a start. A ``RateLimit`` counts each attempt. A barrier doesn't delay the next attempt:
  ///   the operation has started, and a barrier that was added after it waits for its end.
  /// - The next attempt always waits for busy claims. The ``WhenBusy`` of a claim decides only about the
  ///   first attempt. The operation fails if a claim can't become available any more, because a
  ///   ``ResourcePool`` has become too small or because the wait completes a cycle. The failure has the
  ///   errors of all attempts and of that claim.
  /// - Conditions, including immediate conditions, aren't evaluated again. Dependencies that are added during
  ///   the wait are only recorded.
  ///
  /// The operation is executing all the time: its state doesn't change, and it is included in the queue's
  /// `operationCount`. Time limits keep running, and a cancel ends the wait immediately.
  ///
  /// If the time of ``totalTimeout(_:)`` ends while the operation waits for its slot or its claims, the
  /// policy gives up. The ``OperationTimeout`` is then an additional error. If the wait for a slot completes
  /// a cycle, the operation is cancelled with an `OperationCycleError`. For example, the body that uses the
  /// last slot may wait for this operation.
  ///
  /// An operation that isn't in a queue has no slot. The other rules apply to it as well.
  ///
  /// - Returns: The changed policy.
  public func releasingSlot() -> RetryPolicy {
    var policy = self
    policy.releasesSlot = true
    return policy
  }
}
