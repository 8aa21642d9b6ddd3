/// An operation could not produce another one.
public enum OperationProduceError: Error, Hashable, CustomStringConvertible {
  /// It is not executing: not yet, or not any more.
  case notExecuting
  /// It is in no queue to which the other one could be added.
  case noQueue

  /// One sentence.
  public var description: String {
    switch self {
    case .notExecuting: "Only an operation that is executing can produce others."
    case .noQueue: "The operation was started by hand, so there is no queue for what it produces."
    }
  }
}
