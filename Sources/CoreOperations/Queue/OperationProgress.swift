/// How far something is: an operation, the children of a group, the operations of a queue or of an
/// observer.
///
/// ```swift
/// let copy = ResultOperation(name: "copy") {
///   for row in rows {
///     AdvancedOperation.current?.updateProgress(completed: Int64(row), total: Int64(rows.count))
///   }
/// }
/// copy.addObserver(
///   BlockObserver(didUpdateProgress: { _, progress in print(progress.fractionCompleted) })
/// )
/// ```
public struct OperationProgress: Sendable, Hashable {
  /// How many units are done.
  public let completedUnitCount: Int64
  /// How many units there are in all.
  public let totalUnitCount: Int64
  /// How much is done, from 0 to 1; 0 when there are no units.
  ///
  /// More than the units that are done if parts of others are done as well.
  public let fractionCompleted: Double

  /// Creates a progress.
  ///
  /// - Parameters:
  ///   - completedUnitCount: How many units are done.
  ///   - totalUnitCount: How many units there are in all.
  ///   - fractionCompleted: How much is done, with parts of units; the quotient of the counts if nil.
  ///     Limited to the range from 0 to 1; 0 if it isn't a number.
  public init(
    completedUnitCount: Int64,
    totalUnitCount: Int64,
    fractionCompleted: Double? = nil
  ) {
    self.completedUnitCount = completedUnitCount
    self.totalUnitCount = totalUnitCount
    let quotient = totalUnitCount > 0 ? Double(completedUnitCount) / Double(totalUnitCount) : 0
    let fraction = fractionCompleted ?? quotient
    // Not `max(fraction, 0)`, which keeps a fraction that isn't a number.
    self.fractionCompleted = fraction > 0 ? min(fraction, 1) : 0
  }
}

/// How much of a queue's work is done, counted in operations.
///
/// Counts what was added and what has left since the queue was last empty; with a total that was
/// set, until another one is.
///
/// ```swift
/// let progress = queue.progress
/// print("\(Int(progress.fractionCompleted * 100)) %")
/// ```
public final class OperationQueueProgress: Sendable {
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
  public var fractionCompleted: Double { value.fractionCompleted }

  /// The counts and the fraction of one moment.
  public var value: OperationProgress {
    // In between two reads, the queue may have been empty, and begun to count anew.
    let (added, left) = scheduler.progress
    let total = ownTotal.withLock { $0 } ?? added
    return OperationProgress(completedUnitCount: left, totalUnitCount: total)
  }
}
