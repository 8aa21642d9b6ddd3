import CoreOperations

/// An operation that is done after a time.
///
/// ```swift
/// let pause = DelayOperation(.seconds(30))
/// second.addDependency(pause)
/// pause.addDependency(first)
/// queue.addOperations([first, pause, second])
/// ```
///
/// The time is that of the environment's clock, and counts from the start: after dependencies,
/// conditions and the wait for a slot. No thread and no task wait; the slot is taken for the whole
/// time, so in a queue with a small limit a delay stands in the way of others. A cancel ends it at
/// once.
public final class DelayOperation: AdvancedOperation, @unchecked Sendable {
  // Sendable: `waiting` has a lock.
  private struct Waiting {
    var timer: OperationTimer?
    var end: Duration?
    var isOver = false
  }

  /// How long it takes.
  public let duration: Duration
  private let waiting = Locked(Waiting())
  /// When it ends, by its environment's clock; nil before it has begun.
  var end: Duration? { waiting.withLock { $0.end } }

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - duration: How long it takes; it ends at once when this isn't positive.
  public init(name: String? = nil, _ duration: Duration) {
    self.duration = duration
    super.init()
    if let name { self.name = name }
  }

  /// Starts the timer.
  public override func execute() {
    guard duration > .zero else {
      finish()
      return
    }
    let clock = environment.clock
    let end = clock.now.saturatingAdding(duration)
    let timer = clock.schedule(at: end) { self.finish() }
    let isOver = waiting.withLock { waiting in
      waiting.end = end
      if !waiting.isOver { waiting.timer = timer }
      return waiting.isOver
    }
    if isOver { timer.cancel() }
  }

  override func releaseResources() {
    let timer = waiting.withLock { waiting in
      waiting.isOver = true
      return waiting.timer.take()
    }
    timer?.cancel()
  }
}
