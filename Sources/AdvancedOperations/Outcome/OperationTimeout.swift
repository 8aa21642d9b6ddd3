/// An operation was cancelled because it took longer than it may.
public struct OperationTimeout: Error, Hashable, CustomStringConvertible {
  /// How long it was allowed to take.
  public var duration: Duration

  /// Creates the error.
  public init(duration: Duration) { self.duration = duration }

  /// One sentence with the duration.
  public var description: String { "It took longer than \(duration.readable)." }
}
