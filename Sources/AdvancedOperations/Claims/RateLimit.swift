/// Lets only so many operations start within a time.
///
/// A bucket of tokens: it holds at most as many as the count, and so many may start at once; each
/// start takes one, and they come back evenly, the whole count within the duration.
///
/// ```swift
/// let limit = RateLimit(100, per: .seconds(60))
/// for request in requests { request.addCondition(limit) }
/// ```
///
/// Copies of one value share a bucket. With a key, everything that has the same key does, wherever it
/// was made; each operation then looks at the rate that it gives itself, and every start with that
/// key counts for all of them. So an operation can obey two rates:
///
/// ```swift
/// call.addCondition(RateLimit(10, per: .seconds(1), key: "api"))
/// call.addCondition(RateLimit(1_000, per: .seconds(3_600), key: "api"))
/// ```
///
/// Time is that of the operation's environment; those whose clocks differ have buckets of their own,
/// which are forgotten with their clocks.
/// A token is taken when the operation starts and not given back; only one that is cancelled at that
/// moment, or held back by a dependency or a condition, leaves it to others. Waiting costs no task and no
/// thread, and one timer for all who wait.
public struct RateLimit: OperationClaim {
  /// The key, or the rate as text.
  public let name: String
  /// What is claimed.
  public let requests: [ClaimRequest]

  /// Claims a start.
  ///
  /// - Parameters:
  ///   - count: How many may start within the duration, and also at once.
  ///   - duration: How long it takes until the whole count is there again; what is longer than
  ///     `.seconds(Int64.max)` is as long as that.
  ///   - key: Names the bucket in the domain; when it is empty, copies of this value share one.
  ///   - whenBusy: What to do when there is no token; nobody holds one, so
  ///     ``WhenBusy/cancelHolder`` means to wait.
  /// - Precondition: The count is at least 1, and the duration more than zero.
  public init(_ count: Int, per duration: Duration, key: String = "", whenBusy: WhenBusy = .wait) {
    guard count >= 1, duration > .zero else {
      trap(
        "RateLimit was made with the count \(count) per \(duration). "
          + "Give a count of 1 or more and a duration of more than zero."
      )
    }
    let duration = duration.clamped
    name = key.isEmpty ? "\(count) per \(duration)" : key
    let subject = key.isEmpty ? ClaimKey.Subject.unnamedRate(ObjectNumber()) : .rate(key)
    let rate = RateBucket.Rate(count: count, duration: duration)
    requests = [ClaimRequest(subject, .start(rate), whenBusy: whenBusy)]
  }
}
