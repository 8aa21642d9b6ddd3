/// A rule that says whether and when a failed attempt is repeated.
///
/// Begin with the delays, then say the limits:
///
/// ```swift
/// let download = ResultOperation(
///   name: "download",
///   retry: .exponential(.seconds(1), cap: .seconds(30)).jittered().attempts(5)
/// ) { try await feed.download() }
/// ```
///
/// A policy of delays has no limit: it repeats attempts until one succeeds, or the operation is
/// cancelled. ``attempts(_:)`` limits their number and ``totalTimeout(_:)`` their time. The
/// operation gives up at the limit that comes first. Then it fails with the errors of its attempts:
/// of many attempts, with those of the first and the last 8. Descriptions of the failure say how
/// many others there were.
///
/// Each method below returns a changed copy of the policy. The methods work on every policy,
/// including one that is a closure, and their order doesn't matter. If a limit is given twice, the
/// smaller one applies.
///
/// A delay that isn't positive is none: the next attempt begins immediately. A delay that is too
/// long to be added up, such as `.seconds(Int64.max)`, never ends.
public struct RetryPolicy: Sendable {
  /// How long to wait after a failure, nil to give up: gets the number of failed attempts, the
  /// error of the last one, and where randomness comes from.
  private var delay: @Sendable (Int, any Error, @Sendable () -> UInt64) -> Duration?
  /// Whether an error is worth another attempt, by each closure.
  private var predicates: [@Sendable (any Error) -> Bool] = []
  /// How many attempts there may be.
  private var countLimit = Int.max
  /// How long all attempts and the waits between them may take.
  private(set) var totalLimit: Duration?
  /// How long one attempt may take.
  private(set) var attemptLimit: Duration?
  /// Whether slot and claims are released between the attempts.
  private(set) var releasesSlot = false
  /// The budgets that have to allow each retry.
  private(set) var budgets: [RetryBudget] = []
  /// The duration of an attempt after which delays and numbers start anew; nil for none.
  private(set) var stableDuration: Duration?

  /// Creates a policy from a closure.
  ///
  /// ```swift
  /// let policy = RetryPolicy { failedAttempts, error in
  ///   error is Offline && failedAttempts < 5 ? .seconds(10) : nil
  /// }
  /// ```
  ///
  /// The closure is called after each failed attempt that another one may follow, without a lock
  /// held. It isn't called after the last of the ``attempts(_:)``, nor if a closure of ``when(_:)``
  /// has returned false.
  ///
  /// - Parameter next: Gets the number of attempts that have failed, 1 at the first, and the error
  ///   of the last one; returns the delay before the next attempt, or nil to give up. The error is
  ///   the root cause, however many operations, groups, inputs or conditions it came through. If an
  ///   attempt has several root causes, it is an ``OperationFailure``, whose
  ///   ``OperationFailure/rootCauses`` they are.
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
      // Also after the last attempt: a predicate may note what it has seen.
      for predicate in predicates where !causes.allSatisfy(predicate) { return nil }
    }
    return failedAttempts < countLimit ? delay(failedAttempts, error, random) : nil
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

  /// Returns a policy whose delays are equal.
  ///
  /// Without a limit, it repeats attempts until one succeeds or the operation is cancelled. Add
  /// ``attempts(_:)`` or ``totalTimeout(_:)``.
  ///
  /// - Parameter delay: The time between two attempts.
  /// - Returns: The policy.
  public static func constant(_ delay: Duration) -> RetryPolicy { RetryPolicy { _ in delay } }

  /// Returns a policy each of whose delays is one step longer than the one before.
  ///
  /// Without a limit, it repeats attempts until one succeeds or the operation is cancelled. Add
  /// ``attempts(_:)`` or ``totalTimeout(_:)``.
  ///
  /// - Parameter step: The first delay, and the difference between two delays.
  /// - Returns: The policy.
  public static func linear(_ step: Duration) -> RetryPolicy {
    RetryPolicy { step.saturatingMultiplied(by: $0) }
  }

  /// Returns a policy each of whose delays is twice as long as the one before.
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
  /// - Parameter count: The number of attempts in all, the first one included; 1 for no repetition.
  ///   The smallest number applies if there are several.
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
  /// No attempt begins after the limit: if the next one would, the policy gives up immediately. An
  /// attempt that is still running at the limit is cancelled, as by ``attemptTimeout(_:)``, and is
  /// the last. In both cases descriptions of the failure say that the policy gave up because of it.
  ///
  /// ```swift
  /// let policy = RetryPolicy.exponential(.seconds(1)).attempts(10)
  ///   .attemptTimeout(.seconds(5))
  ///   .totalTimeout(.seconds(60))
  /// ```
  ///
  /// - Parameter duration: Measured from the beginning of the first attempt, by the clock of the
  ///   environment. The shortest duration applies if there are several. If it isn't positive, the
  ///   first attempt is cancelled as soon as it has begun, and is the last.
  /// - Returns: The changed policy.
  public func totalTimeout(_ duration: Duration) -> RetryPolicy {
    var policy = self
    policy.totalLimit = min(totalLimit ?? duration, duration)
    return policy
  }

  /// Returns the policy with a time limit for each attempt.
  ///
  /// An attempt that takes longer is cancelled, and fails with an ``OperationTimeout``. The policy
  /// decides about this error as about others. The next attempt doesn't begin before this one has
  /// finished. The body of a ``ResultOperation`` finds its task cancelled, not its operation; a
  /// value that it returns nonetheless is taken, because its work has been done.
  ///
  /// - Parameter duration: Measured by the clock of the environment. The shortest duration applies
  ///   if there are several. If it isn't positive, each attempt is cancelled when it has begun.
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
  /// delay, isn't counted. If the method is called twice, both budgets have to allow the retry.
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
    policy.budgets.append(budget)
    return policy
  }

  // MARK: Refining

  /// Returns the policy with random delays, each between nothing and all of its delay.
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
  /// The random numbers are those of the ``OperationEnvironment``, and evenly distributed. Calling
  /// the method twice takes a part of the part.
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

  /// Returns the policy for some errors only: it gives up immediately on others.
  ///
  /// ```swift
  /// let policy = RetryPolicy.constant(.seconds(5)).attempts(3).when { !($0 is NotFound) }
  /// ```
  ///
  /// The closure gets the *root causes* of an attempt's failure, one after the other: the errors at
  /// the ends of the ways through awaited operations, groups, inputs and conditions, as
  /// ``OperationFailure/rootCauses`` has them. The attempt is repeated only if the closure returns
  /// true for each of them. Of an operation that has made several attempts itself, the last one
  /// counts. If the method is called twice, both closures have to return true.
  ///
  /// The closure is called after each failed attempt, the last one included, without a lock held.
  ///
  /// - Parameter isWorthwhile: Gets a root cause; returns whether another attempt could succeed in
  ///   spite of it.
  /// - Returns: The changed policy.
  public func when(
    _ isWorthwhile: @escaping @Sendable (_ error: any Error) -> Bool
  ) -> RetryPolicy {
    var policy = self
    policy.predicates.append(isWorthwhile)
    return policy
  }

  /// Returns the policy with delays that start anew after an attempt that has run for a while.
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
  /// ``totalTimeout(_:)`` continue.
  ///
  /// - Parameter duration: Measured from the beginning of an attempt to its failure. The shortest duration
  ///   applies if there are several.
  /// - Returns: The changed policy.
  public func resettingAfter(_ duration: Duration) -> RetryPolicy {
    var policy = self
    policy.stableDuration = min(stableDuration ?? duration, duration)
    return policy
  }

  /// Returns a policy under which the operation holds neither its slot nor its claims between two
  /// attempts.
  ///
  /// For long waits in a queue with a limit, and for claims that others need: what waits for its
  /// next attempt keeps nothing from them.
  ///
  /// ```swift
  /// let upload = ResultOperation(
  ///   name: "upload",
  ///   retry: .exponential(.seconds(10)).attempts(5).releasingSlot()
  /// ) { try await server.upload() }
  /// upload.addClaim(MutuallyExclusive("uplink"))
  /// ```
  ///
  /// When an attempt has failed and another one follows, the operation gives back its slot and all
  /// its claims, and waits for the delay. Then it takes its place among the ready operations again,
  /// before operations of its priority that were added later. It takes slot and claims in one step,
  /// as an operation that starts:
  ///
  /// - The limit and the suspension of the queue, priorities, and the lines of claims count for the
  ///   next attempt as for a start, and a ``RateLimit`` counts each attempt. A barrier doesn't: the
  ///   operation has started, and one that was added after it waits for its end.
  /// - The next attempt always waits for claims that are busy, whatever their ``WhenBusy`` says:
  ///   that decides about an operation that comes, and this one has had them. If a claim can't be
  ///   had any more, because a ``ResourcePool`` has become too small or because the wait closes a
  ///   cycle, the operation fails with the errors of all attempts and of that claim.
  /// - Conditions, immediate ones included, aren't evaluated again, and dependencies that are added
  ///   meanwhile only recorded.
  ///
  /// The operation executes all the time: its state doesn't change, it counts in the queue's
  /// `operationCount`, time limits go on, and a cancel ends the wait at once. If the time of
  /// ``totalTimeout(_:)`` is over while it waits in line, the policy gives up then, and the
  /// ``OperationTimeout`` is one more error. If its wait for a slot completes a cycle, because a
  /// body that holds the last one waits for it, it is cancelled with an `OperationCycleError`.
  /// Without a queue there is no slot, and all else holds.
  ///
  /// - Returns: The changed policy.
  public func releasingSlot() -> RetryPolicy {
    var policy = self
    policy.releasesSlot = true
    return policy
  }
}
