import CoreOperations

/// The one timer of a bucket.
struct BucketTimer {
  /// When it is due; nil when there is none.
  private(set) var deadline: Duration?
  /// Tells one that was set from the next.
  private(set) var number: UInt64 = 0
  private var timer: OperationTimer?

  /// It is to be due at another time, or never.
  ///
  /// - Parameters:
  ///   - deadline: The time.
  ///   - number: Tells it from all that were set before.
  /// - Returns: The one that was set before, to be cancelled.
  mutating func set(_ deadline: Duration?, number: UInt64) -> OperationTimer? {
    self.deadline = deadline
    self.number = number
    defer { timer = nil }
    return timer
  }

  /// One was made; false when it isn't wanted any more.
  mutating func made(_ timer: OperationTimer, number: UInt64) -> Bool {
    guard self.number == number, deadline != nil else { return false }
    self.timer = timer
    return true
  }
}
