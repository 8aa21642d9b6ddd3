/// The state of a ``ResultOperation`` besides its body, whatever the type of its value.
///
/// Guarded by the lock of the operation: `AdvancedCore` refers to it, and so does the operation itself.
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
  /// Made with the operation, and not used yet.
  var captured: CapturedTask?
  var task: Task<Void, Never>?
  /// The value that the body or the journal has given.
  ///
  /// Of no type: an optional of a type that isn't known before it runs is looked up at each access,
  /// 300 instructions (callgrind).
  var output: (any Sendable)?
  /// The wait between two attempts or rounds; nil while there is none.
  var pause: OperationPause?
  /// When the body began, in nanoseconds of the environment's clock; a `Duration` takes 16 bytes.
  private var beginning = Int64.min
  /// Whether the body won't run any more, and has been released.
  private(set) var isReleased = false

  init(retry: RetryPolicy?, captured: CapturedTask?) {
    self.captured = captured
    if let retry { extra = ResultExtra(retry: retry) }
  }

  /// The beginning of the body; nil before.
  var begin: Duration? { beginning == .min ? nil : .nanoseconds(beginning) }

  /// The body begins.
  ///
  /// - Returns: The task that was captured for it, if any.
  func bodyBegins(at time: Int64) -> CapturedTask? {
    beginning = time
    return captured.take()
  }

  /// Sets the predecessors, and keeps what a subclass may have chosen that overrides the designated
  /// initializer.
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

  /// Takes out what isn't needed any more, to be released without the lock.
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
