import CoreOperations

/// A limit for the retries of many operations together, in proportion to their first attempts.
///
/// When a service fails, each of its clients retries. With three attempts for each call, the service gets
/// three times the usual load while it is least able to serve it. A budget prevents that. Each first attempt
/// earns a part of a retry, and each retry spends a whole one:
///
/// ```swift
/// let budget = RetryBudget("api", ratio: 0.1)
/// let policy = RetryPolicy.exponential(.seconds(1)).attempts(3).limited(by: budget)
/// ```
///
/// While one call in a hundred fails, the budget allows every retry. If all calls fail, the calls start
/// about 1.1 times as many attempts as without retries, instead of 3 times as many.
///
/// If the budget is used up, an operation doesn't wait for it. The operation fails immediately with the
/// errors of its attempts, and descriptions of the failure name the budget.
///
/// A budget counts first attempts and retries within a period that ends now. It counts them in tenths of the
/// period, so each of them is forgotten after nine to ten tenths. The clock of each operation's environment
/// measures the time, and operations with different clocks are counted separately.
///
/// A budget counts for at most eight clocks. A ninth clock replaces the first one.
///
/// All members can be used from any thread.
public final class RetryBudget: Sendable {
  /// The name of the budget in descriptions of failures.
  public let name: String
  private let rule: RetryWindow.Rule
  /// The attempts of the operations of each clock, for the clocks that were used last.
  private let windows = Locked<[(clock: UInt64, attempts: RetryWindow)]>([])
  private static let clockCount = 8

  /// Creates a budget without attempts.
  ///
  /// - Parameters:
  ///   - name: The name in descriptions of failures.
  ///   - ratio: The number of retries that each first attempt earns.
  ///   - minimum: The number of retries that the budget allows within a period in addition, so that a program
  ///     with few calls can retry.
  ///   - duration: The length of the period.
  /// - Precondition: The ratio and the minimum aren't negative, and the duration is more than zero.
  public init(
    _ name: String = "",
    ratio: Double = 0.2,
    minimum: Int = 10,
    per duration: Duration = .seconds(10)
  ) {
    guard ratio >= 0, minimum >= 0, duration > .zero else {
      trap(
        "RetryBudget “\(name)” was created with the ratio \(ratio), the minimum \(minimum) and the period "
          + "\(duration.readable). Give a ratio and a minimum that aren't negative, and a period of "
          + "more than zero."
      )
    }
    self.name = name
    rule = RetryWindow.Rule(ratio: ratio, minimum: minimum, duration: duration)
  }

  /// Changes the attempts of the operations of a clock.
  func change<Result>(_ clock: OperationClock, _ body: (inout RetryWindow) -> Result) -> Result {
    let number = clock.identity.number
    return windows.withLock { windows in
      if let index = windows.firstIndex(where: { $0.clock == number }) {
        return body(&windows[index].attempts)
      }
      if windows.count == Self.clockCount { windows.removeFirst() }
      windows.append((number, RetryWindow(rule)))
      return body(&windows[windows.count - 1].attempts)
    }
  }
}

/// The first attempts and the retries of the last period, as a value without a clock.
package struct RetryWindow: Sendable {
  package struct Rule: Sendable {
    let ratio: Double
    let minimum: Int
    let duration: Duration

    package init(ratio: Double, minimum: Int, duration: Duration) {
      self.ratio = ratio
      self.minimum = minimum
      self.duration = duration
    }
  }

  private let rule: Rule
  /// The first attempts, and the retries.
  private var counts: RecentCounts

  package init(_ rule: Rule) {
    self.rule = rule
    counts = RecentCounts(period: rule.duration)
  }

  /// Counts the first attempt of an operation.
  package mutating func firstAttempt(at now: Duration) { counts.add(1, 0, at: now) }

  /// Spends a retry; returns false if there is none.
  package mutating func spend(at now: Duration) -> Bool {
    let (earned, spent) = counts.sums(at: now)
    let allowed = Double(rule.minimum) + rule.ratio * Double(earned)
    guard Double(spent + 1) <= allowed else { return false }
    counts.add(0, 1, at: now)
    return true
  }

  /// Returns a retry that was spent at a time and doesn't begin.
  package mutating func giveBack(spentAt time: Duration) { counts.takeBack(0, 1, at: time) }
}

/// The numbers of two kinds of events in the last period, which are counted in tenths of the period.
struct RecentCounts: Sendable {
  private struct Slice {
    let number: Int128
    var first = 0
    var second = 0
  }

  private static let sliceCount = 10
  /// A tenth of the period.
  private let slice: Duration
  /// The slices with events, the oldest first.
  private var slices: [Slice] = []

  init(period: Duration) { slice = max(period / Self.sliceCount, Duration(attoseconds: 1)) }

  mutating func add(_ first: Int, _ second: Int, at now: Duration) {
    let number = number(of: now)
    forget(before: number)
    // A thread that read the clock earlier may arrive later.
    if slices.last.map({ $0.number < number }) ?? true { slices.append(Slice(number: number)) }
    slices[slices.count - 1].first += first
    slices[slices.count - 1].second += second
  }

  /// Subtracts events that were added at a time, unless they are forgotten.
  mutating func takeBack(_ first: Int, _ second: Int, at time: Duration) {
    let number = number(of: time)
    guard let index = slices.lastIndex(where: { $0.number == number }) else { return }
    slices[index].first -= first
    slices[index].second -= second
  }

  mutating func sums(at now: Duration) -> (first: Int, second: Int) {
    forget(before: number(of: now))
    return slices.reduce((0, 0)) { ($0.0 + $1.first, $0.1 + $1.second) }
  }

  private func number(of time: Duration) -> Int128 { time.attoseconds / slice.attoseconds }

  private mutating func forget(before number: Int128) {
    slices.removeAll { $0.number <= number - Int128(Self.sliceCount) }
  }
}
