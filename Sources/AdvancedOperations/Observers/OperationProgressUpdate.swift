/// How far an operation is, as reported with
/// ``AdvancedOperation/updateProgress(completed:total:)``.
///
/// The members have the names that the progress of a queue has, and that of a ``ProgressObserver``.
///
/// ```swift
/// let copy = ResultOperation(name: "copy") {
///   for row in rows {
///     AdvancedOperation.current?.updateProgress(completed: Int64(row), total: Int64(rows.count))
///   }
/// }
/// copy.addObserver(
///   BlockObserver(didUpdateProgress: { _, update in print(update.fractionCompleted) })
/// )
/// ```
public struct OperationProgressUpdate: Sendable, Hashable {
  /// How many units are done.
  public var completedUnitCount: Int64
  /// How many units there are in all.
  public var totalUnitCount: Int64

  /// Creates an update.
  ///
  /// - Parameters:
  ///   - completedUnitCount: How many units are done.
  ///   - totalUnitCount: How many units there are in all.
  public init(completedUnitCount: Int64, totalUnitCount: Int64) {
    self.completedUnitCount = completedUnitCount
    self.totalUnitCount = totalUnitCount
  }

  /// How much is done, from 0 to 1; 0 when there are no units.
  public var fractionCompleted: Double {
    guard totalUnitCount > 0 else { return 0 }
    return min(max(Double(completedUnitCount) / Double(totalUnitCount), 0), 1)
  }
}
