/// An operation did not get, or had to give up, what it claims.
///
/// ```swift
/// upload.onFinish { _, errors in
///   for case let error as OperationConditionError in errors {
///     if case .busy(let holders) = error.underlying as? OperationClaimError { print(holders) }
///   }
/// }
/// ```
public enum OperationClaimError: Error, Hashable, CustomStringConvertible {
  /// The claim is held by these operations, and was not to be waited for.
  case busy(holders: [String])
  /// Another operation, of this name, took the claim over.
  case preempted(by: String)
  /// More units are needed than the pool has, so that waiting would never end.
  case exceedsCapacity(needed: Int, capacity: Int)
  /// As many operations as may have started within this time, and it was not to be waited for.
  case rateExceeded(count: Int, duration: Duration)

  /// One sentence with the operations or numbers involved.
  public var description: String {
    switch self {
    case .busy(let holders):
      holders.isEmpty
        ? "Others wait for it." : "It is held by \(holders.joined(separator: ", "))."
    case .preempted(let name): "Operation “\(name)” took over what this one held."
    case .exceedsCapacity(let needed, let capacity):
      "It has \(capacity) units in all, and \(needed) are needed."
    case .rateExceeded(let count, let duration):
      "No more than \(count) may start within \(duration.readable)."
    }
  }
}
