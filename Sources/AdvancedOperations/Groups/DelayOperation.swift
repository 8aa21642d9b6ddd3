import CoreOperations

/// An operation that finishes after a duration.
///
/// ```swift
/// let pause = DelayOperation(.seconds(30))
/// second.addDependency(pause)
/// pause.addDependency(first)
/// queue.addOperations([first, pause, second])
/// ```
///
/// The duration is measured with the clock of the environment. The delay begins when the operation starts,
/// after dependencies, conditions and the wait for a slot. The delay doesn't block a thread or suspend a
/// task. However, it takes its slot for the whole duration, so in a queue with a small limit it keeps other
/// operations from starting. A cancelled delay finishes immediately.
public final class DelayOperation: AdvancedOperation, @unchecked Sendable {
  // Sendable: `waiting` has a lock.
  private struct Waiting {
    var timer: OperationTimer?
    var end: Duration?
    var isOver = false
  }

  /// The duration of the delay.
  public let duration: Duration
  private let waiting = Locked(Waiting())
  /// The time at which the delay ends, by the clock of its environment; nil before the delay has begun.
  var end: Duration? { waiting.withLock { $0.end } }

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - name: The name of the operation.
  ///   - duration: The duration of the delay. If it isn't positive, the operation finishes immediately.
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
