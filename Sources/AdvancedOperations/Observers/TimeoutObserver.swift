import CoreOperations

/// An observer that cancels an operation after a time limit, with an ``OperationTimeout`` as the reason.
///
/// The operation then ends as after any other cancel: its body receives the cancel and has to stop by itself.
/// The clock of the operation's environment measures the time.
///
/// A group executes until its rollbacks have run. If the limit passes during the rollbacks of a failed group,
/// the group is cancelled and keeps the errors of its children.
///
/// The time of ``Phase/waiting`` and ``Phase/all`` begins when the operation is enqueued, even if you attach
/// the observer later. If the time is over by then, the operation is cancelled immediately. If you attach a
/// limit of ``Phase/evaluating`` or ``Phase/executing`` during its phase, its time begins at that moment.
///
/// ```swift
/// download.addObserver(TimeoutObserver(.seconds(30)))
/// ```
public struct TimeoutObserver: OperationObserver {
  /// The part of an operation's run that a time limit measures.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Phase: Sendable, CaseIterable {
    /// The limit measures the time from being enqueued to the start of execution.
    case waiting
    /// The limit measures the time in which the operation evaluates its conditions.
    case evaluating
    /// The limit measures the time from the start of execution to the end of the operation.
    case executing
    /// The limit measures the time from being enqueued or started manually to the end of the operation.
    case all

    func covers(_ state: AdvancedOperation.State) -> Bool {
      switch self {
      case .waiting: state < .executing
      case .evaluating: state == .evaluatingConditions
      case .executing: state == .executing
      case .all: state < .finishing
      }
    }
  }

  let kind: OperationTimeout.Kind
  /// The longest time; for a deadline, a time of the clock.
  let duration: Duration
  let phase: Phase
  /// Whether the time without progress is measured.
  var isStallLimit: Bool { kind == .stallLimit }

  /// Creates an observer, which may be attached to many operations.
  ///
  /// - Parameters:
  ///   - duration: The longest time for the phase. If it isn't positive, the operation is cancelled as soon
  ///     as the phase has begun, on another thread.
  ///   - phase: The part of the operation's run that the limit measures.
  public init(_ duration: Duration, of phase: Phase = .executing) {
    self.duration = duration
    self.phase = phase
    kind = .timeLimit
  }

  /// Creates an observer that cancels an operation at a time of its clock.
  init(deadline: Duration) {
    duration = deadline
    phase = .all
    kind = .deadline
  }

  /// Creates an observer that cancels an operation which makes no progress for some time.
  ///
  /// ```swift
  /// upload.addObserver(TimeoutObserver(withoutProgressFor: .seconds(60)))
  /// ```
  ///
  /// The time begins when the operation starts to execute. It begins again at each of these events:
  ///
  /// - An attempt of the operation begins.
  /// - ``AdvancedOperation/updateProgress(completed:total:)`` is called with other numbers than
  ///   before in this attempt. A report with the same numbers isn't progress.
  /// - A child of the operation ends, or changes the progress of its group. The rounds of a
  ///   ``RetryOperation`` or ``RepeatOperation`` are children, too.
  ///
  /// The limit doesn't measure the operation's own delays between attempts or rounds, its waits for slots and
  /// claims, and its rollbacks. The limit of a group measures the waits of its children. Operations that the
  /// body runs itself, for example with `run(_:)` or ``withOperations(maxConcurrentOperationCount:deadline:environment:_:)``, aren't children. If
  /// the machine sleeps for longer than the limit, the time begins again.
  ///
  /// - Parameter duration: The time without progress after which the operation is cancelled. If it isn't
  ///   positive, the operation is cancelled as soon as it executes, on another thread.
  public init(withoutProgressFor duration: Duration) {
    self.duration = duration
    phase = .executing
    kind = .stallLimit
  }

  /// Returns the reason with which an operation is cancelled.
  ///
  /// - Parameter begin: The time at which the operation was enqueued, for a deadline.
  /// - Returns: The reason.
  func element(since begin: Duration) -> OperationFailure.Element {
    let allowed = kind == .deadline ? duration.saturatingSubtracting(begin) : duration
    return .timeout(OperationTimeout(duration: allowed, kind: kind))
  }
}

extension OperationFailure.Element {
  static func timeout(_ timeout: OperationTimeout) -> Self {
    Self(origin: .timeout, error: timeout)
  }
}

extension OperationTimeout {
  /// The failure of a call that exceeded the limit.
  var failure: OperationFailure { OperationFailure(elements: [.timeout(self)]) }
}

/// The error of an operation that was cancelled because of a time limit.
public struct OperationTimeout: Error, Hashable, CustomStringConvertible {
  /// The kind of a time limit.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: Hashable, Sendable {
    /// The operation, or one of its attempts, took too long.
    case timeLimit
    /// The operation made no progress for too long.
    case stallLimit
    /// The deadline passed.
    case deadline
  }

  /// The time that the operation was allowed to take.
  ///
  /// For a deadline, it is the time from the moment at which the operation was enqueued until the deadline.
  /// It is negative if the deadline had passed before.
  public var duration: Duration
  /// The kind of the limit.
  public var kind: Kind

  /// Creates the error of an operation that exceeded a limit.
  public init(duration: Duration, kind: Kind = .timeLimit) {
    self.duration = duration
    self.kind = kind
  }

  /// The limit that was exceeded, in one sentence with the duration.
  public var description: String {
    switch kind {
    case .timeLimit: "The time limit of \(duration.readable) was exceeded."
    case .stallLimit: "No progress was made for \(duration.readable)."
    case .deadline where duration > .zero: "The deadline passed after \(duration.readable)."
    case .deadline where duration == .zero: "The deadline had passed when the operation was added."
    case .deadline:
      "The deadline had passed \((.zero - duration).readable) before the operation was added."
    }
  }
}
