extension Operation {
  /// A priority that determines the order in which a queue starts its ready operations.
  ///
  /// Priorities order ready operations. They never make an operation overtake its dependencies.
  /// Among the ready operations of one priority, the operation that was added first starts first.
  ///
  /// ```swift
  /// let alert = BlockOperation { ring() }
  /// alert.queuePriority = .veryHigh
  /// queue.addOperation(alert)
  /// ```
  public enum QueuePriority: Int, Sendable, CaseIterable, Comparable {
    /// The operation starts after all other ready operations.
    case veryLow = -8
    /// The operation starts after ready operations of normal priority.
    case low = -4
    /// The operation has the default priority.
    case normal = 0
    /// The operation starts before ready operations of normal priority.
    case high = 4
    /// The operation starts before all other operations that are ready and not started.
    case veryHigh = 8

    /// Creates the priority nearest to a raw value, in the direction of ``normal``.
    ///
    /// The conversion follows the documentation of `NSOperation.queuePriority`. For example, -10
    /// results in ``veryLow``, and 10 in ``veryHigh``. A value between two constants results in the
    /// constant that is nearer to ``normal``.
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

    /// Returns whether the first priority starts later than the second priority.
    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }
}
