import CoreOperations

/// Cancels an operation that takes longer than it may, with an ``OperationTimeout`` as the reason.
///
/// The operation then ends as after any other cancel: its body is told, and has to stop by itself.
/// Time is that of the operation's environment. A group executes until its rollbacks have run: one
/// that has failed is cancelled by a limit that comes meanwhile, and keeps the errors of its
/// children.
///
/// A limit that is attached late still counts from the moment at which the operation was enqueued,
/// if that is what it measures. If the time is over by then, the operation is cancelled immediately.
/// A limit of ``Phase/evaluating`` or ``Phase/executing`` that is attached during its phase counts
/// from that moment.
///
/// ```swift
/// download.addObserver(TimeoutObserver(.seconds(30)))
/// ```
public struct TimeoutObserver: OperationObserver {
  /// Which part of the operation's life is measured.
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Phase: Sendable, CaseIterable {
    /// From being enqueued to the start of its work.
    case waiting
    /// While its conditions are asked.
    case evaluating
    /// From the start of its work to its end.
    case executing
    /// From being enqueued, or started manually, to its end.
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

  let duration: Duration
  let phase: Phase
  /// Whether the time without progress is measured.
  let isStallLimit: Bool

  /// Creates an observer; the same one may be attached to many operations.
  ///
  /// - Parameters:
  ///   - duration: How long the phase may take. When it isn't positive, the operation is cancelled
  ///     as soon as the phase has begun, on another thread.
  ///   - phase: What is measured.
  public init(_ duration: Duration, of phase: Phase = .executing) {
    self.duration = duration
    self.phase = phase
    isStallLimit = false
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
  ///   before. A report with the same numbers isn't progress.
  /// - A child of the operation ends, or changes the progress of its group. The rounds of a
  ///   ``RetryOperation`` or ``RepeatOperation`` are children, too.
  ///
  /// The limit doesn't measure delays between attempts or rounds, waits for slots and claims, and
  /// rollbacks. If the machine sleeps for longer than the limit, the time begins again.
  ///
  /// - Parameter duration: The time without progress after which the operation is cancelled.
  public init(withoutProgressFor duration: Duration) {
    self.duration = duration
    phase = .executing
    isStallLimit = true
  }

  /// The reason of the cancel.
  var element: OperationFailure.Element {
    var timeout = OperationTimeout(duration: duration)
    timeout.isStall = isStallLimit
    return OperationFailure.Element(origin: .timeout, error: timeout)
  }
}

/// An operation was cancelled because it took longer than it may.
public struct OperationTimeout: Error, Hashable, CustomStringConvertible {
  /// How long it was allowed to take.
  public var duration: Duration
  /// Whether the operation was cancelled because it made no progress for this time.
  public var isStall = false

  /// Creates the error.
  public init(duration: Duration) { self.duration = duration }

  /// One sentence with the duration.
  public var description: String {
    isStall
      ? "It made no progress for \(duration.readable)."
      : "It took longer than \(duration.readable)."
  }
}
