/// What a ``ResultOperation`` has, whatever its value is.
struct ResultWork {
  /// What few operations have.
  struct Rare: Sendable {
    var retry: RetryPolicy?
    var predecessors: [AdvancedOperation] = []
    /// Whether the body runs also when a predecessor failed.
    var recovers = false
    /// Where the value is recorded.
    var journal: JournalEntry?
  }

  /// A value behind one reference, so that operations without it pay eight bytes.
  final class Boxed: Sendable {
    let value: Rare
    init(_ value: Rare) { self.value = value }
  }

  /// Nil without any of it.
  private(set) var rare: Boxed?
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

  init(retry: RetryPolicy?, captured: CapturedTask?) {
    self.captured = captured
    if let retry { rare = Boxed(Rare(retry: retry)) }
  }

  /// Sets some of what few operations have, and keeps the rest, which a subclass may have chosen
  /// that overrides the designated initialiser.
  mutating func changeRare(_ body: (inout Rare) -> Void) {
    var value = rare?.value ?? Rare()
    body(&value)
    rare = Boxed(value)
  }

  mutating func takeRare() -> Boxed? { rare.take() }

  /// What isn't needed when the operation is over.
  struct Means: ~Copyable {
    let rare: Boxed?
    let captured: CapturedTask?
    let task: Task<Void, Never>?
  }

  /// Takes out what isn't needed any more, to be let go of without the lock.
  mutating func takeMeans() -> Means {
    Means(rare: rare.take(), captured: captured.take(), task: task.take())
  }
}
