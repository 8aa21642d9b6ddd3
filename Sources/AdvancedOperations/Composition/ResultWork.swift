/// What a ``ResultOperation`` has, whatever its value is.
struct ResultWork {
  /// What few operations have.
  final class Rare: Sendable {
    let retry: RetryPolicy?
    let predecessors: [AdvancedOperation]
    /// Whether the body runs also when a predecessor failed.
    let recovers: Bool
    /// Where the value is recorded.
    let journal: JournalEntry?

    /// Nil without any of it.
    init?(
      retry: RetryPolicy?,
      predecessors: [AdvancedOperation] = [],
      recovers: Bool = false,
      journal: JournalEntry? = nil
    ) {
      if retry == nil && predecessors.isEmpty && journal == nil { return nil }
      self.retry = retry
      self.predecessors = predecessors
      self.recovers = recovers
      self.journal = journal
    }
  }

  var rare: Rare?
  /// Made with the operation, and not used yet.
  var captured: CapturedTask?
  var task: Task<Void, Never>?
  /// What the body has given.
  ///
  /// Of no type: an optional of one that isn't known before it runs is looked up at each access,
  /// 300 instructions (callgrind).
  var output: (any Sendable)?
  /// The wait between two attempts or rounds; nil while there is none.
  var pause: OperationPause?
  /// Whether the outcome is decided: there is a failure from then on, or an output.
  var isDecided = false
  var failure: OperationFailure?
  /// When the body began, in nanoseconds of the environment's clock; a `Duration` takes 16 bytes.
  var begin = Self.notBegun
  static var notBegun: Int64 { .min }

  init(_ rare: Rare?, captured: CapturedTask?) {
    self.rare = rare
    self.captured = captured
  }

  /// Sets some of what few operations have, and keeps the rest, which a subclass may have chosen
  /// that overrides the designated initialiser.
  mutating func setRare(
    predecessors: [AdvancedOperation]? = nil,
    recovers: Bool? = nil,
    journal: JournalEntry? = nil
  ) {
    rare = Rare(
      retry: rare?.retry,
      predecessors: predecessors ?? rare?.predecessors ?? [],
      recovers: recovers ?? rare?.recovers ?? false,
      journal: journal ?? rare?.journal
    )
  }

  /// What isn't needed when the operation is over.
  struct Means: ~Copyable {
    let rare: Rare?
    let captured: CapturedTask?
    let task: Task<Void, Never>?
  }

  /// Takes out what isn't needed any more, to be let go of without the lock.
  mutating func takeMeans() -> Means {
    Means(rare: rare.take(), captured: captured.take(), task: task.take())
  }
}
