/// Lets only so many operations start within a time, on average.
///
/// The key names a bucket of tokens. The bucket holds at most as many tokens as the count, so that
/// many operations may start at once; each start takes one token, and tokens come back evenly, the
/// whole count within the duration.
///
/// ```swift
/// for request in requests {
///   request.addCondition(RateLimit("feed", 100, per: .seconds(60)))
/// }
/// ```
///
/// Claims with equal keys share a bucket, wherever they were made, if their operations share an
/// ``ExclusivityDomain``, as they do by default.
///
/// Several rates of one key hold together: an operation that has more than one starts when all of
/// them allow it.
///
/// ```swift
/// call.addCondition(RateLimit("api", 10, per: .seconds(1)))
/// call.addCondition(RateLimit("api", 1_000, per: .seconds(3_600)))
/// ```
///
/// Every start counts for all rates of its key, also for those that only other operations have. An
/// operation waits only for the rates that it has itself.
///
/// - A token is taken when the operation starts, and is not given back at its end. With
///   ``RetryPolicy/releasingSlot()`` each attempt takes one; otherwise an operation takes one,
///   however often it tries. An operation that is cancelled at that moment, or held back by a
///   dependency or a condition, returns its token.
/// - An operation that waits for a token uses no task and no thread. A bucket has one timer for all
///   operations that wait for it.
/// - Time is that of the operation's environment. Operations whose clocks differ have separate
///   buckets, which go away with their clocks.
public struct RateLimit: OperationClaim {
  /// The key.
  public let name: String
  /// What is claimed.
  public let requests: [ClaimRequest]

  /// Claims a start.
  ///
  /// - Parameters:
  ///   - key: Names the bucket in the domain; equal keys share one.
  ///   - count: How many operations may start at once, and on average within the duration. With a
  ///     full bucket at its begin, nearly twice as many may start within one duration.
  ///   - duration: How long it takes until an empty bucket is full again. A duration longer than
  ///     `.seconds(Int64.max)` counts as that one.
  ///   - whenBusy: What to do when there is no token. A token has no holder, so
  ///     ``WhenBusy/cancelHolder`` means to wait.
  /// - Precondition: The count is at least 1, and the duration more than zero.
  public init(_ key: String, _ count: Int, per duration: Duration, whenBusy: WhenBusy = .wait) {
    guard count >= 1, duration > .zero else {
      trap(
        "RateLimit “\(key)” was made with the count \(count) per \(duration). "
          + "Give a count of 1 or more and a duration of more than zero."
      )
    }
    name = key
    let rate = RateBucket.Rate(count: count, duration: duration.clamped)
    requests = [ClaimRequest(.rate(key), .start([rate]), whenBusy: whenBusy)]
  }
}
