/// The attempts of an operation by its retry policy: the failed attempts, and the decision about the next
/// one.
///
/// A plain value, without a clock. Times are times of the environment's clock.
package struct RetryRun {
  /// The decision after a failed attempt.
  package enum Next: Equatable {
    /// Another attempt begins at this time.
    case attempt(at: Duration)
    case giveUp
  }

  /// The time at which an attempt has to be finished, and the error if it isn't.
  package struct Limit: Equatable {
    package let time: Duration
    package let timeout: OperationTimeout

    package init(time: Duration, timeout: OperationTimeout) {
      self.time = time
      self.timeout = timeout
    }

    var element: OperationFailure.Element { .timeout(timeout) }
  }

  private let policy: RetryPolicy
  private let end: Duration?
  /// Whether slot and claims are released between the attempts.
  var releasesSlot: Bool { policy.releasesSlot }
  private var errors = AttemptErrors()
  /// The error that keeps the next attempt from beginning, if it isn't an error of an attempt.
  private var refusal: OperationFailure.Element?
  /// The limit because of which no other attempt begins.
  private var passedLimit: Limit?
  private var failedCount = 0
  /// The number of failures since an attempt was stable.
  private var streak = 0
  private var attemptBegin: Duration
  /// The budget that allows no other attempt.
  private var exhausted: RetryBudget?
  /// The rate that the last failed attempt holds, and the end of the hold.
  private(set) var hold: (key: String, end: Duration)?

  /// The errors so far, each with its attempt.
  ///
  /// Of many attempts, only the first and the last ones are kept.
  package var elements: [OperationFailure.Element] {
    var elements = errors.elements
    if let refusal { elements.append(refusal) }
    if let timeout = passedLimit?.timeout, !elements.isEmpty {
      let reason =
        timeout.kind == .deadline
        ? "no other attempt can begin before the deadline"
        : "total limit of \(timeout.duration.readable)"
      elements[elements.count - 1].noteGivingUp(after: failedCount, because: reason)
    }
    if let exhausted, !elements.isEmpty {
      let name = exhausted.name.isEmpty ? "" : " “\(exhausted.name)”"
      let reason = "the retry budget\(name) is used up"
      elements[elements.count - 1].noteGivingUp(after: failedCount, because: reason)
    }
    return elements
  }

  package init(_ policy: RetryPolicy, now: Duration) {
    self.policy = policy
    end = policy.totalLimit.map { now.saturatingAdding($0) }
    attemptBegin = now
  }

  /// The number of the current or next attempt, 1 for the first.
  package var number: Int { failedCount + 1 }

  package mutating func attemptBegins(at now: Duration) { attemptBegin = now }

  /// Counts the first attempt in the budgets.
  func earn(at now: Duration, on clock: OperationClock) {
    for budget in policy.budgets { budget.change(clock) { $0.firstAttempt(at: now) } }
  }

  /// Spends a retry of each budget, or none; returns false if one of them is used up.
  mutating func spend(at now: Duration, on clock: OperationClock) -> Bool {
    for (index, budget) in policy.budgets.enumerated() {
      if budget.change(clock, { $0.spend(at: now) }) { continue }
      for spent in policy.budgets[..<index] { spent.change(clock) { $0.giveBack(spentAt: now) } }
      exhausted = budget
      return false
    }
    return true
  }

  /// Returns a retry that was spent at a time and doesn't begin.
  func giveBack(spentAt time: Duration, on clock: OperationClock) {
    for budget in policy.budgets { budget.change(clock) { $0.giveBack(spentAt: time) } }
  }

  /// The limit for an attempt that begins now; nil for no limit.
  package func limit(now: Duration) -> Limit? {
    let own = policy.attemptLimit.map {
      Limit(time: now.saturatingAdding($0), timeout: OperationTimeout(duration: $0))
    }
    guard let total = totalLimit else { return own }
    if let own, own.time <= total.time { return own }
    return total
  }

  /// The limit for all attempts together; nil if the policy has none.
  var totalLimit: Limit? {
    guard let end, let total = policy.totalLimit else { return nil }
    return Limit(time: end, timeout: OperationTimeout(duration: total))
  }

  /// The next attempt can't begin, because of an error that isn't an error of an attempt.
  mutating func attemptRefused(because element: OperationFailure.Element) {
    refusal = element
    if element.origin == .timeout { passedLimit = totalLimit }
  }

  /// Keeps the errors of an attempt.
  package mutating func record(_ failures: [OperationFailure.Element]) {
    errors.record(failures.map { $0.within(.attempt(number)) })
    failedCount += 1
  }

  /// Lets the policy decide about the attempt that was recorded last.
  ///
  /// Calls closures of the program.
  ///
  /// - Parameters:
  ///   - failures: The errors of the attempt.
  ///   - now: The time of its end.
  ///   - deadline: The deadline of the operation, which is cancelled then. An attempt that couldn't begin
  ///     before isn't worth the wait.
  ///   - random: A source of random bits.
  /// - Returns: The decision.
  package mutating func next(
    after failures: [OperationFailure.Element],
    now: Duration,
    deadline: Duration? = nil,
    random: @Sendable () -> UInt64
  ) -> Next {
    // An attempt that a time limit has cancelled didn't run well for so long.
    let isTimedOut = failures.contains { $0.origin == .timeout }
    let isStable = policy.stableDuration.map { !isTimedOut && now - attemptBegin >= $0 } ?? false
    streak = isStable ? 1 : streak + 1
    var delay = policy.next(after: streak, Self.cause(of: failures), random: random)
    hold = nil
    if let requested = policy.delayRequested(by: Self.error(of: failures).decidingCauses) {
      hold = requested.key.map { ($0, now.saturatingAdding(requested.delay)) }
      if delay != nil { delay = requested.delay }
    }
    let time = now.saturatingAdding(max(delay ?? .zero, .zero))
    // The limit is the reason even if the policy allows no more attempts, because it has cut this one short.
    passedLimit = totalLimit.flatMap { time >= $0.time ? $0 : nil }
    if passedLimit == nil, delay != nil, let deadline, time >= deadline {
      let timeout = OperationTimeout(duration: deadline.saturatingSubtracting(now), kind: .deadline)
      passedLimit = Limit(time: deadline, timeout: timeout)
    }
    return delay == nil || passedLimit != nil ? .giveUp : .attempt(at: time)
  }

  /// The error of an attempt for the policy: the root cause, or the whole failure if there are several.
  static func cause(of failures: [OperationFailure.Element]) -> any Error {
    let error = error(of: failures)
    let causes = error.decidingCauses
    return causes.count == 1 ? causes[0] : error
  }

  /// The error of an attempt: its timeout if it has one, its only error, or a failure with all errors.
  static func error(of failures: [OperationFailure.Element]) -> any Error {
    if let timeout = failures.first(where: { $0.origin == .timeout }) { return timeout.error }
    return failures.count == 1 ? failures[0].error : OperationFailure(elements: failures)
  }
}

/// The errors of failed attempts.
///
/// Of many attempts, only the first and the last ones are kept, so that a policy without a limit needs a
/// bounded amount of memory.
private struct AttemptErrors {
  /// The number of attempts that are kept at each end.
  private static let keptCount = 8

  private var first: [OperationFailure.Element] = []
  /// The errors of the last attempts, one entry for each attempt.
  ///
  /// If the array is full, ``oldest`` is the index of the oldest entry.
  private var last: [[OperationFailure.Element]] = []
  private var oldest = 0
  private var count = 0

  mutating func record(_ failures: [OperationFailure.Element]) {
    count += 1
    if count <= Self.keptCount {
      first += failures
    } else if last.count < Self.keptCount {
      last.append(failures)
    } else {
      last[oldest] = failures
      oldest = (oldest + 1) % Self.keptCount
    }
  }

  var elements: [OperationFailure.Element] {
    var later = Array((last[oldest...] + last[..<oldest]).joined())
    let leftOutCount = count - 2 * Self.keptCount
    if leftOutCount > 0, !later.isEmpty { later[0].noteLeftOut(leftOutCount, .attempts) }
    return first + later
  }
}
