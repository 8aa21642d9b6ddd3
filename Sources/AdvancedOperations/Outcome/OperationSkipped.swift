/// There is nothing to do: what a body throws to end its operation as skipped.
///
/// ```swift
/// let download = ResultOperation(name: "download") {
///   let response = try await feed.download(ifNewerThan: lastChange)
///   if response.isNotModified { throw OperationSkipped(reason: "not modified") }
///   return response.body
/// }
/// ```
///
/// That is no error. The outcome is ``OperationOutcome/skipped(reason:)``, as after a condition
/// that skips: operations that were made with ``ResultOperation/then(name:retry:body:)`` are
/// skipped with the same reason, other dependents go on, a group has no error of it, and a retry
/// policy isn't consulted. When the operation was cancelled before, it is cancelled.
///
/// An override of ``AdvancedOperation/execute()`` calls ``AdvancedOperation/skip(reason:)``, or
/// gives the error to ``AdvancedOperation/finish(withError:)``.
///
/// It is also the error of ``ResultOperation/value`` of an operation that was skipped, in an
/// ``OperationFailure`` whose ``OperationFailure/skipReason`` isn't nil. A body that doesn't catch
/// that one fails: it needed a value that isn't there.
public struct OperationSkipped: Error, Hashable, CustomStringConvertible {
  /// Why there was nothing to do.
  public var reason: String
  /// Creates the error.
  public init(reason: String) { self.reason = reason }
  /// One sentence with the reason.
  public var description: String { "It was skipped: \(reason)." }
}

extension OperationFailure.Element {
  /// Why there was nothing to do, if the body of the operation itself said so.
  var skipReasonOfBody: String? {
    guard let skipped = error as? OperationSkipped, origin == .body else { return nil }
    return skipped.reason
  }
}
