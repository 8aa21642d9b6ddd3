public import WorkflowDocument

/// Something that happened in a run, as `--format json` prints it and the run's folder keeps it.
///
/// As JSON it is one flat object, ``jsonLine``: the keys `time` (seconds) and `event` (the name of
/// the kind), and those of the kind.
public struct RunEvent: Sendable, Equatable {
  /// What happened.
  public enum Kind: Sendable, Equatable {
    /// The run begins, or goes on.
    case runStarted(run: String, workflow: String, steps: Int, isResumed: Bool)
    /// The step waits: for other steps, a resource, a rate, its turn. In words.
    case waiting(step: String, for: String)
    /// An attempt has begun.
    case started(step: String, attempt: Int, node: String?)
    /// It printed a line.
    case printed(step: String, line: String)
    /// Something that is to be known of what it printed.
    case notice(step: String, String)
    /// An attempt failed, and another one follows.
    case retrying(step: String, attempt: Int, after: Duration, because: String)
    /// The step has ended.
    case ended(step: String, StepEnd)
    /// A step that had succeeded is undone, or has been.
    case rollingBack(step: String)
    case rolledBack(step: String, error: String?)
    /// Somebody asked the run to end.
    case cancelling(because: String)
    /// All steps have ended.
    case runEnded(RunEnd)

    /// The step that it is about; nil: the run.
    public var step: String? {
      switch self {
      case .runStarted, .cancelling, .runEnded: nil
      case .waiting(let step, _), .started(let step, _, _), .printed(let step, _),
        .notice(let step, _), .retrying(let step, _, _, _), .ended(let step, _),
        .rollingBack(let step), .rolledBack(let step, _):
        step
      }
    }
  }

  /// When it happened, since the run, or what resumed it, began.
  public var time: Duration
  /// What happened.
  public var kind: Kind

  /// Creates an event.
  public init(time: Duration, kind: Kind) {
    self.time = time
    self.kind = kind
  }
}

/// How a step ended.
public struct StepEnd: Sendable, Codable, Equatable {
  /// How.
  public var outcome: OutcomeExpression.Outcome
  /// Why, if it didn't succeed: one line.
  public var reason: String?
  /// How many attempts there were.
  public var attempts: Int
  /// From the start of the first attempt to the end of the last one, without the time in which
  /// attempts waited for a machine.
  public var duration: Duration
  /// That time: in the queue of a cluster; nil if there was none.
  public var queued: Duration?
  /// The machine of the last attempt; nil: this one.
  public var node: String?
  /// What it gave to later steps.
  public var outputs: [String: String]
  /// Whether an earlier run had finished it.
  public var isFromJournal: Bool

  /// Creates an end.
  public init(
    outcome: OutcomeExpression.Outcome,
    reason: String? = nil,
    attempts: Int = 0,
    duration: Duration = .zero,
    queued: Duration? = nil,
    node: String? = nil,
    outputs: [String: String] = [:],
    isFromJournal: Bool = false
  ) {
    self.outcome = outcome
    self.reason = reason
    self.attempts = attempts
    self.duration = duration
    self.queued = queued
    self.node = node
    self.outputs = outputs
    self.isFromJournal = isFromJournal
  }
}

/// How a run ended.
public struct RunEnd: Sendable, Codable, Equatable {
  /// How many steps succeeded, in this run or an earlier one that it goes on with, and weren't
  /// undone.
  public var succeeded: Int
  /// How many failed.
  public var failed: Int
  /// How many had nothing to do.
  public var skipped: Int
  /// How many were cancelled, or never came to run.
  public var cancelled: Int
  /// How many steps had succeeded and were undone; nil: an earlier version of the program didn't say.
  public var undone: Int?
  /// How long it took.
  public var duration: Duration
  /// The tree of failures, in words; empty when there were none.
  public var failures: String

  /// How many steps there are.
  public var steps: Int { succeeded + failed + skipped + cancelled + (undone ?? 0) }
  /// Whether all has been done that was to be.
  public var isSuccess: Bool { succeeded + skipped == steps }

  /// Creates an end.
  public init(
    succeeded: Int,
    failed: Int,
    skipped: Int,
    cancelled: Int,
    undone: Int = 0,
    duration: Duration,
    failures: String
  ) {
    self.succeeded = succeeded
    self.failed = failed
    self.skipped = skipped
    self.cancelled = cancelled
    self.undone = undone
    self.duration = duration
    self.failures = failures
  }
}
