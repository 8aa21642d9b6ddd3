/// What a ``ResultOperation`` has, whatever its value is.
struct ResultWork {
  /// What few operations have.
  final class Rare: Sendable {
    let retry: RetryPolicy?
    let predecessors: [AdvancedOperation]

    /// Nil without any of it.
    init?(retry: RetryPolicy?, predecessors: [AdvancedOperation] = []) {
      if retry == nil && predecessors.isEmpty { return nil }
      self.retry = retry
      self.predecessors = predecessors
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
  /// Whether the task waits between two attempts.
  var isPausing = false
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

  /// What isn't needed when the operation is over.
  struct Means: ~Copyable {
    let rare: Rare?
    let captured: CapturedTask?
    let task: Task<Void, Never>?
  }

  mutating func takeMeans() -> Means {
    Means(rare: rare.take(), captured: captured.take(), task: task.take())
  }
}
