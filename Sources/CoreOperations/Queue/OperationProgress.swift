/// How much of a queue's work is done, counted in operations.
///
/// Counts what was added and what has left since the queue was last empty; with a total that was
/// set, until another one is.
///
/// ```swift
/// let progress = queue.progress
/// print("\(Int(progress.fractionCompleted * 100)) %")
/// ```
public final class OperationProgress: Sendable {
  private let scheduler: Scheduler
  private let ownTotal = Locked<Int64?>(nil)

  init(scheduler: Scheduler) { self.scheduler = scheduler }

  /// How many operations there are in all; the number that was added, unless it was set.
  ///
  /// Set it when more will be added than are there, before the first is added: it stays until set
  /// again, or given back with ``resetTotalUnitCount()``, and the counts go on where the queue is
  /// empty in between. An empty queue counts from 0 again when it is set.
  public var totalUnitCount: Int64 {
    get { ownTotal.withLock { $0 } ?? scheduler.progress.added }
    set {
      ownTotal.withLock { $0 = newValue }
      scheduler.totalChanged(isSet: true)
    }
  }

  /// Makes ``totalUnitCount`` count what was added again, after it was set.
  public func resetTotalUnitCount() {
    ownTotal.withLock { $0 = nil }
    scheduler.totalChanged(isSet: false)
  }

  /// How many operations have left.
  public var completedUnitCount: Int64 { scheduler.progress.left }

  /// From 0 to 1; 0 when there is nothing to do.
  public var fractionCompleted: Double {
    // Both of one moment: in between, the queue may have been empty, and begun to count anew.
    let (added, left) = scheduler.progress
    let total = ownTotal.withLock { $0 } ?? added
    return total > 0 ? min(Double(left) / Double(total), 1) : 0
  }
}
