/// A value that describes the progress of an operation, of a group's children, or of a queue's or
/// an observer's operations.
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
  /// The number of completed units.
  public let completedUnitCount: Int64
  /// The total number of units.
  public let totalUnitCount: Int64
  /// The completed fraction of the work, from 0 to 1; 0 if there are no units.
  ///
  /// The fraction is greater than the quotient of the counts if parts of other units are completed
  /// as well.
  public let fractionCompleted: Double

  /// Creates a progress value.
  ///
  /// - Parameters:
  ///   - completedUnitCount: The number of completed units.
  ///   - totalUnitCount: The total number of units.
  ///   - fractionCompleted: The completed fraction, including parts of units; the quotient of the
  ///     counts if nil. The value is limited to the range from 0 to 1. It is 0 if it isn't a
  ///     number.
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

/// An object that reports the progress of a queue, counted in operations.
///
/// The object has two counts: the number of operations that were added to the queue, and the number
/// of operations that have left the queue. When an operation is added to an empty queue, both counts
/// begin at 0 again. If you set a total, the counts continue even if the queue becomes empty, until
/// you set another total.
///
/// ```swift
/// let progress = queue.progress
/// print("\(Int(progress.fractionCompleted * 100)) %")
/// ```
public final class OperationQueueProgress: Sendable {
  private let scheduler: Scheduler
  private let ownTotal = Locked<Int64?>(nil)

  init(scheduler: Scheduler) { self.scheduler = scheduler }

  /// The total number of operations; the number of added operations, unless a total was set.
  ///
  /// If you will add more operations later, set the total before you add the first operation. The
  /// total stays until you set it again or call ``resetTotalUnitCount()``. In the meantime, the
  /// counts continue even if the queue becomes empty. If the queue is empty when you set the total,
  /// the queue counts from 0 again.
  public var totalUnitCount: Int64 {
    get { ownTotal.withLock { $0 } ?? scheduler.progress.added }
    set {
      ownTotal.withLock { $0 = newValue }
      scheduler.totalChanged(isSet: true)
    }
  }

  /// Makes ``totalUnitCount`` the number of added operations again, after a total was set.
  public func resetTotalUnitCount() {
    ownTotal.withLock { $0 = nil }
    scheduler.totalChanged(isSet: false)
  }

  /// The number of operations that have left the queue.
  public var completedUnitCount: Int64 { scheduler.progress.left }

  /// The completed fraction of the work, from 0 to 1; 0 if there are no operations.
  public var fractionCompleted: Double { value.fractionCompleted }

  /// The counts and the fraction at one moment.
  public var value: OperationProgress {
    // Between two reads, the queue may have become empty and counted from 0 again.
    let (added, left) = scheduler.progress
    let total = ownTotal.withLock { $0 } ?? added
    return OperationProgress(completedUnitCount: left, totalUnitCount: total)
  }
}
