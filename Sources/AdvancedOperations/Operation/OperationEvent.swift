/// Something that happened to an operation.
public enum OperationEvent: Sendable {
  /// A queue took it in.
  case enqueued
  /// It began to execute.
  case started
  /// It added another operation to its queue.
  case produced(AdvancedOperation)
  /// It reported how far it is.
  case progress(OperationProgressUpdate)
  /// It was cancelled, with what is in `errors` at that time.
  case cancelled([any Error])
  /// Its end was decided.
  case willFinish([any Error])
  /// It is over.
  case finished(OperationOutcome)
}

/// How far an operation is, as it says itself.
public struct OperationProgressUpdate: Sendable, Hashable {
  /// How many units are done.
  public var completed: Int64
  /// How many units there are in all.
  public var total: Int64

  /// Creates an update.
  public init(completed: Int64, total: Int64) {
    self.completed = completed
    self.total = total
  }

  /// From 0 to 1; 0 when there is nothing to do.
  public var fraction: Double {
    total > 0 ? min(max(Double(completed) / Double(total), 0), 1) : 0
  }
}
