/// Whether and when something that failed is tried again.
///
/// A wait that isn't positive is none: the next attempt begins at once. One that is too long to be
/// added up, `.seconds(Int64.max)`, is as good as for ever.
///
/// ```swift
/// let download = ResultOperation(
///   name: "download",
///   retry: .exponential(.seconds(1), cap: .seconds(30), jitter: true, attempts: 5)
/// ) { try await feed.download() }
/// ```
///
/// If no attempt succeeds, the operation fails with the errors of its attempts: of many, those of the
/// first and the last 8. Descriptions of the failure say how many others there were.
public struct RetryPolicy: Sendable {
  /// How long to wait after a failure, nil to give up: gets the number of failed attempts, the
  /// error of the last one, and where randomness comes from.
  private(set) var next: @Sendable (Int, any Error, @Sendable () -> UInt64) -> Duration?
  /// How long all attempts and the waits between them may take.
  private(set) var totalLimit: Duration?
  /// How long one attempt may take.
  private(set) var attemptLimit: Duration?
  /// Whether slot and claims are given back between the attempts.
  private(set) var releasesSlot = false

  /// Creates a policy from a closure.
  ///
  /// ```swift
  /// let policy = RetryPolicy { failedAttempts, error in
  ///   error is Offline && failedAttempts < 5 ? .seconds(10) : nil
  /// }
  /// ```
  ///
  /// - Parameter next: Gets the number of attempts that have failed, 1 at the first, and the error
  ///   of the last one; returns how long to wait, or nil to give up. The error is the root cause,
  ///   however many operations, groups, inputs or conditions it came through. If an attempt has
  ///   several root causes, it is an ``OperationFailure``, whose ``OperationFailure/rootCauses``
  ///   they are.
  public init(_ next: @escaping @Sendable (_ failedAttempts: Int, _ error: any Error) -> Duration?)
  {
    self.next = { count, error, _ in next(count, error) }
  }

  private init(
    attempts: Int?,
    totalTimeout: Duration? = nil,
    delay: @escaping @Sendable (Int) -> Duration
  ) {
    let attempts = attempts ?? .max
    next = { count, _, _ in count < attempts ? delay(count) : nil }
    totalLimit = totalTimeout
  }

  /// Tries again at once.
  ///
  /// - Parameter attempts: How often in all, the first included.
  /// - Returns: The policy.
  public static func immediate(attempts: Int) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { _ in .zero }
  }

  /// Tries again at once, as long as there is time.
  ///
  /// - Parameters:
  ///   - attempts: How often in all, the first included; nil for any number.
  ///   - totalTimeout: See ``totalTimeout(_:)``.
  /// - Returns: The policy.
  public static func immediate(attempts: Int? = nil, totalTimeout: Duration) -> RetryPolicy {
    RetryPolicy(attempts: attempts, totalTimeout: totalTimeout) { _ in .zero }
  }

  /// Waits as long each time.
  ///
  /// - Parameters:
  ///   - delay: How long to wait.
  ///   - attempts: How often in all, the first included.
  /// - Returns: The policy.
  public static func constant(_ delay: Duration, attempts: Int) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { _ in delay }
  }

  /// Waits as long each time, as long as there is time.
  ///
  /// - Parameters:
  ///   - delay: How long to wait.
  ///   - attempts: How often in all, the first included; nil for any number.
  ///   - totalTimeout: See ``totalTimeout(_:)``.
  /// - Returns: The policy.
  public static func constant(
    _ delay: Duration,
    attempts: Int? = nil,
    totalTimeout: Duration
  ) -> RetryPolicy {
    RetryPolicy(attempts: attempts, totalTimeout: totalTimeout) { _ in delay }
  }

  /// Waits one step longer each time.
  ///
  /// - Parameters:
  ///   - step: How long to wait the first time, and how much longer each time.
  ///   - attempts: How often in all, the first included.
  /// - Returns: The policy.
  public static func linear(_ step: Duration, attempts: Int) -> RetryPolicy {
    RetryPolicy(attempts: attempts) { count in step.saturatingMultiplied(by: count) }
  }

  /// Waits one step longer each time, as long as there is time.
  ///
  /// - Parameters:
  ///   - step: How long to wait the first time, and how much longer each time.
  ///   - attempts: How often in all, the first included; nil for any number.
  ///   - totalTimeout: See ``totalTimeout(_:)``.
  /// - Returns: The policy.
  public static func linear(
    _ step: Duration,
    attempts: Int? = nil,
    totalTimeout: Duration
  ) -> RetryPolicy {
    RetryPolicy(attempts: attempts, totalTimeout: totalTimeout) { count in
      step.saturatingMultiplied(by: count)
    }
  }

  /// Waits twice as long each time.
  ///
  /// - Parameters:
  ///   - first: How long to wait the first time.
  ///   - cap: How long to wait at most.
  ///   - jitter: Whether to wait a random part of that; see ``jittered()``.
  ///   - attempts: How often in all, the first included.
  /// - Returns: The policy.
  public static func exponential(
    _ first: Duration,
    cap: Duration = .seconds(3600),
    jitter: Bool = false,
    attempts: Int
  ) -> RetryPolicy {
    let policy = RetryPolicy(attempts: attempts) { doubled(first, upTo: cap, after: $0) }
    return jitter ? policy.jittered() : policy
  }

  /// Waits twice as long each time, as long as there is time.
  ///
  /// - Parameters:
  ///   - first: How long to wait the first time.
  ///   - cap: How long to wait at most.
  ///   - jitter: Whether to wait a random part of that; see ``jittered()``.
  ///   - attempts: How often in all, the first included; nil for any number.
  ///   - totalTimeout: See ``totalTimeout(_:)``.
  /// - Returns: The policy.
  public static func exponential(
    _ first: Duration,
    cap: Duration = .seconds(3600),
    jitter: Bool = false,
    attempts: Int? = nil,
    totalTimeout: Duration
  ) -> RetryPolicy {
    let policy = RetryPolicy(attempts: attempts, totalTimeout: totalTimeout) {
      doubled(first, upTo: cap, after: $0)
    }
    return jitter ? policy.jittered() : policy
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

  // MARK: Refining

  /// The same policy, of whose delays a random part is waited: evenly from nothing to all of it.
  ///
  /// Operations that failed together then don't come back together. (The scheme is called *full
  /// jitter* in Marc Brooker, *Exponential Backoff And Jitter*, AWS Architecture Blog, 2015.)
  ///
  /// ```swift
  /// let policy = RetryPolicy { failedAttempts, error in
  ///   error is Offline && failedAttempts < 5 ? .seconds(10) : nil
  /// }
  /// let polite = policy.jittered()
  /// ```
  ///
  /// The random numbers are those of the ``OperationEnvironment``. Doing so again takes a part of
  /// the part.
  ///
  /// - Returns: The policy.
  public func jittered() -> RetryPolicy {
    var policy = self
    policy.next = { [next] count, error, random in
      guard let delay = next(count, error, random) else { return nil }
      guard delay > .zero else { return delay }
      return delay.saturatingMultiplied(by: Double(random() >> 11) / 0x1p53)
    }
    return policy
  }

  /// The same policy for some errors only; others are given up on immediately.
  ///
  /// ```swift
  /// let policy = RetryPolicy.constant(.seconds(5), attempts: 3).when { !($0 is NotFound) }
  /// ```
  ///
  /// The closure gets the *root causes* of an attempt's failure, one after the other: the errors at
  /// the ends of the ways through awaited operations, groups, inputs and conditions, as
  /// ``OperationFailure/rootCauses`` has them. The attempt is repeated only if the closure returns
  /// true for each of them. Of an operation that has made several attempts itself, the last one
  /// counts.
  ///
  /// - Parameter isWorthwhile: Gets a root cause; returns whether another attempt could succeed in
  ///   spite of it.
  /// - Returns: The policy.
  public func when(
    _ isWorthwhile: @escaping @Sendable (_ error: any Error) -> Bool
  ) -> RetryPolicy {
    var policy = self
    policy.next = { [next] count, error, random in
      error.decidingCauses.allSatisfy(isWorthwhile) ? next(count, error, random) : nil
    }
    return policy
  }

  /// The same policy within a time limit for everything: all attempts, and the waits between them.
  ///
  /// No attempt begins when the time is over: when the next one would, the policy gives up at once.
  /// An attempt that is still going on then is cancelled, as by ``attemptTimeout(_:)``, and is the
  /// last. In both cases descriptions of the failure say that the policy gave up because of it.
  ///
  /// ```swift
  /// let policy = RetryPolicy.exponential(.seconds(1), attempts: 10)
  ///   .attemptTimeout(.seconds(5))
  ///   .totalTimeout(.seconds(60))
  /// ```
  ///
  /// - Parameter duration: Measured from the beginning of the first attempt, by the clock of the
  ///   environment. The shortest counts when there are several. When it isn't positive, the first
  ///   attempt is cancelled as soon as it has begun, and is the last.
  /// - Returns: The policy.
  public func totalTimeout(_ duration: Duration) -> RetryPolicy {
    var policy = self
    policy.totalLimit = min(totalLimit ?? duration, duration)
    return policy
  }

  /// The same policy with a time limit for each attempt.
  ///
  /// An attempt that takes longer is cancelled, and has failed with an ``OperationTimeout``, which
  /// the policy is asked about like any other error. The next attempt doesn't begin before this one
  /// has ended. The body of a ``ResultOperation`` finds its task cancelled, not its operation; a
  /// value that it returns nonetheless is taken, because its work has been done.
  ///
  /// - Parameter duration: Measured by the clock of the environment. The shortest counts when there
  ///   are several. When it isn't positive, each attempt is cancelled as soon as it has begun.
  /// - Returns: The policy.
  public func attemptTimeout(_ duration: Duration) -> RetryPolicy {
    var policy = self
    policy.attemptLimit = min(attemptLimit ?? duration, duration)
    return policy
  }

  /// The same policy, under which the operation holds neither its slot nor its claims between
  /// attempts.
  ///
  /// For long waits in a queue with a limit, and for claims that others need: what waits for its
  /// next attempt keeps nothing from them.
  ///
  /// ```swift
  /// let upload = ResultOperation(
  ///   name: "upload",
  ///   retry: .exponential(.seconds(10), attempts: 5).releasingSlot()
  /// ) { try await server.upload() }
  /// upload.addCondition(MutuallyExclusive("uplink"))
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
  /// - Returns: The policy.
  public func releasingSlot() -> RetryPolicy {
    var policy = self
    policy.releasesSlot = true
    return policy
  }
}
