/// The state of a ``ResultOperation`` except for its body, independent of the type of its value.
///
/// The lock of the operation guards it. `AdvancedCore` and the operation refer to it.
final class ResultWork: @unchecked Sendable {
  // Sendable: the variables are only used with the operation's lock held.

  /// A result operation's rare properties, replaced as a whole.
  final class ResultExtra: Sendable {
    let retry: RetryPolicy?
    let predecessors: [AdvancedOperation]
    /// Whether the body runs even if a predecessor failed.
    let recovers: Bool
    /// The place in a journal where the value is recorded.
    let journal: JournalEntry?

    init(
      retry: RetryPolicy? = nil,
      predecessors: [AdvancedOperation] = [],
      recovers: Bool = false,
      journal: JournalEntry? = nil
    ) {
      (self.retry, self.predecessors) = (retry, predecessors)
      (self.recovers, self.journal) = (recovers, journal)
    }
  }

  /// Nil for most operations.
  private(set) var extra: ResultExtra?
  /// The task that was created with the operation and isn't used yet.
  var captured: CapturedTask?
  var task: Task<Void, Never>?
  /// The value from the body or the journal.
  ///
  /// The property is type-erased: each access to an optional whose type isn't known at compile time would
  /// look up the type, 300 instructions (callgrind).
  var output: (any Sendable)?
  /// The current wait between two attempts or rounds; nil if there is none.
  var pause: OperationPause?
  /// The time at which the body began, in nanoseconds of the environment's clock.
  ///
  /// A `Duration` would take 16 bytes.
  private var beginning = Int64.min
  /// Whether the body won't run any more, and has been released.
  private(set) var isReleased = false

  init(retry: RetryPolicy?, captured: CapturedTask?) {
    self.captured = captured
    if let retry { extra = ResultExtra(retry: retry) }
  }

  /// The time at which the body began; nil before that.
  var begin: Duration? { beginning == .min ? nil : .nanoseconds(beginning) }

  /// Records that the body begins.
  ///
  /// - Returns: The task that was captured for the body, if any.
  func bodyBegins(at time: Int64) -> CapturedTask? {
    beginning = time
    return captured.take()
  }

  /// Sets the predecessors, and keeps the retry policy and the journal, which a subclass may have chosen by
  /// overriding the designated initializer.
  func receive(from predecessors: [AdvancedOperation], recovering: Bool) {
    extra = ResultExtra(
      retry: extra?.retry,
      predecessors: predecessors,
      recovers: recovering,
      journal: extra?.journal
    )
  }

  func use(_ journal: JournalEntry) {
    extra = ResultExtra(
      retry: extra?.retry,
      predecessors: extra?.predecessors ?? [],
      recovers: extra?.recovers ?? false,
      journal: journal
    )
  }

  func takeExtra() -> ResultExtra? { extra.take() }

  /// The objects that aren't needed when the operation is idle.
  struct Means: ~Copyable {
    let extra: ResultExtra?
    let captured: CapturedTask?
    let task: Task<Void, Never>?
    let output: (any Sendable)?
  }

  /// Takes out the objects that aren't needed any more, so that the caller releases them without the lock.
  ///
  /// - Parameter keepsOutput: Whether the operation has succeeded, so that its value may be read.
  /// - Returns: The objects.
  func takeMeans(keepsOutput: Bool) -> Means {
    isReleased = true
    return Means(
      extra: extra.take(),
      captured: captured.take(),
      task: task.take(),
      output: keepsOutput ? nil : output.take()
    )
  }
}
