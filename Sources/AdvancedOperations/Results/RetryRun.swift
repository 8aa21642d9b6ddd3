/// One run of a policy: the attempts that failed, and what comes next.
///
/// A plain value, without a clock; the times are those of the environment's.
package struct RetryRun {
  /// What to do after an attempt failed.
  package enum Next: Equatable {
    /// Begin another attempt at this time.
    case attempt(at: Duration)
    case giveUp
  }

  /// When an attempt has to be over, and what to say if it isn't.
  package struct Limit: Equatable {
    package let time: Duration
    package let timeout: OperationTimeout

    package init(time: Duration, timeout: OperationTimeout) {
      self.time = time
      self.timeout = timeout
    }

    var element: OperationFailure.Element { .init(origin: .timeout, error: timeout) }
  }

  private let policy: RetryPolicy
  private let end: Duration?
  /// Whether slot and claims are given back between the attempts.
  var releasesSlot: Bool { policy.releasesSlot }
  private var errors = AttemptErrors()
  /// Why no other attempt begins, if that is a reason of its own.
  private var refusal: OperationFailure.Element?
  /// Whether the policy has given up because the time for all attempts is over.
  private var isOutOfTime = false
  private var failedCount = 0
  /// The number of failures since an attempt was stable.
  private var streak = 0
  private var attemptBegin: Duration
  /// The budget that allows no other attempt.
  private var exhausted: RetryBudget?

  /// What went wrong so far, each with its attempt; of many attempts the first and the last ones.
  package var elements: [OperationFailure.Element] {
    var elements = errors.elements
    if let refusal { elements.append(refusal) }
    if isOutOfTime, let limit = policy.totalLimit, !elements.isEmpty {
      let reason = "total limit of \(limit.readable)"
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

  /// The number of the attempt that is to be made or is going on, 1 for the first.
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

  /// How long an attempt may take that begins now; nil for as long as it likes.
  package func limit(now: Duration) -> Limit? {
    let own = policy.attemptLimit.map {
      Limit(time: now.saturatingAdding($0), timeout: OperationTimeout(duration: $0))
    }
    guard let total = totalLimit else { return own }
    if let own, own.time <= total.time { return own }
    return total
  }

  /// When all has to be over; nil for a policy without that.
  var totalLimit: Limit? {
    guard let end, let total = policy.totalLimit else { return nil }
    return Limit(time: end, timeout: OperationTimeout(duration: total))
  }

  /// No other attempt begins, for a reason of its own.
  mutating func attemptRefused(because element: OperationFailure.Element) {
    refusal = element
    if element.origin == .timeout { isOutOfTime = true }
  }

  /// Keeps what went wrong in an attempt.
  package mutating func record(_ failures: [OperationFailure.Element]) {
    errors.record(failures.map { $0.within(.attempt(number)) })
    failedCount += 1
  }

  /// Asks the policy about the attempt that was recorded last; calls the user's closure.
  package mutating func next(
    after failures: [OperationFailure.Element],
    now: Duration,
    random: @Sendable () -> UInt64
  ) -> Next {
    let isStable = policy.stableDuration.map { now - attemptBegin >= $0 } ?? false
    streak = isStable ? 1 : streak + 1
    let delay = policy.next(after: streak, Self.cause(of: failures), random: random)
    let time = now.saturatingAdding(max(delay ?? .zero, .zero))
    // Also when the policy has no more attempts: the limit has cut this one short.
    isOutOfTime = end.map { time >= $0 } ?? false
    return delay == nil || isOutOfTime ? .giveUp : .attempt(at: time)
  }

  /// The error of an attempt that a policy gets: its root cause, or all that went wrong if there
  /// are several.
  static func cause(of failures: [OperationFailure.Element]) -> any Error {
    let error = error(of: failures)
    let causes = error.decidingCauses
    return causes.count == 1 ? causes[0] : error
  }

  /// The error of an attempt: a timeout if it had one, the only error, or all together.
  static func error(of failures: [OperationFailure.Element]) -> any Error {
    if let timeout = failures.first(where: { $0.origin == .timeout }) { return timeout.error }
    return failures.count == 1 ? failures[0].error : OperationFailure(elements: failures)
  }
}

/// The errors of failed attempts: of many only those of the first and of the last ones, so that a
/// policy without an end needs no more and more memory.
private struct AttemptErrors {
  /// How many attempts are kept at each end.
  private static let keptCount = 8

  private var first: [OperationFailure.Element] = []
  /// One entry for each attempt; the oldest is at ``oldest`` once there are as many as are kept.
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
