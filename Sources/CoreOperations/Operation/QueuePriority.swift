extension Operation {
  /// How early a ready operation is started, relative to the others in its queue.
  ///
  /// Priorities order what is ready; they never make an operation overtake its dependencies.
  /// Among the ready operations of one priority, the one that was added first starts first.
  ///
  /// ```swift
  /// let alert = BlockOperation { ring() }
  /// alert.queuePriority = .veryHigh
  /// queue.addOperation(alert)
  /// ```
  public enum QueuePriority: Int, Sendable, CaseIterable, Comparable {
    /// After everything else.
    case veryLow = -8
    /// After operations of normal priority.
    case low = -4
    /// The default.
    case normal = 0
    /// Before operations of normal priority.
    case high = 4
    /// Before everything else that is ready and not started.
    case veryHigh = 8

    /// The priority nearest to a raw value, moving towards ``normal`` and stopping at the first.
    ///
    /// As documented for `NSOperation.queuePriority`: -10 gives ``veryLow``, 10 ``veryHigh``, and a
    /// value between two constants the one that is nearer to ``normal``.
    ///
    /// ```swift
    /// let priority = Operation.QueuePriority(clamping: 7)   // .high
    /// ```
    ///
    /// - Parameter rawValue: Any number.
    public init(clamping rawValue: Int) {
      switch rawValue {
      case ...(-8): self = .veryLow
      case -7 ... -4: self = .low
      case -3...3: self = .normal
      case 4...7: self = .high
      default: self = .veryHigh
      }
    }

    /// Whether the first is started later than the second.
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }
}
