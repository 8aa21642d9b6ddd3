extension GroupOperation {
  /// Why a child was cancelled: another child failed, and the group's policy is
  /// ``ErrorPolicy/failFast``.
  ///
  /// ```swift
  /// if let reason = upload.cancellationReason as? GroupOperation.SiblingFailed {
  ///   print("given up, because “\(reason.sibling)” failed: \(reason.failure.summary())")
  /// }
  /// ```
  public struct SiblingFailed: Error, ConsequentialError, CustomStringConvertible {
    /// The name of the child that failed first.
    public var sibling: String
    /// What went wrong with it.
    public var failure: OperationFailure

    /// Creates the error.
    ///
    /// - Parameters:
    ///   - sibling: The name of the child that failed.
    ///   - failure: What went wrong with it.
    public init(sibling: String, failure: OperationFailure) {
      self.sibling = sibling
      self.failure = failure
    }

    var step: OperationFailure.Origin.Step? { .operation(sibling) }

    /// One sentence with the name of the child.
    public var description: String {
      "“\(sibling)”, of the same group, \(failure.isCancellation ? "was cancelled" : "failed")."
    }
  }
}
