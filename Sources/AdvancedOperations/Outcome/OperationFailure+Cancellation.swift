extension OperationFailure {
  /// The source of the cancel of an operation.
  ///
  /// ```swift
  /// switch failure.cancellation {
  /// case .timeout(let limit): print("\(limit)")
  /// case .reason(let error): print("cancelled because of \(error)")
  /// case nil: print("\(failure.summary())")
  /// default: print("cancelled")
  /// }
  /// ```
  ///
  /// Later versions may add cases, so a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Cancellation: Sendable {
    /// The operation was cancelled with a plain ``AdvancedOperation/cancel()``.
    case withoutReason
    /// The operation was cancelled with ``AdvancedOperation/cancel(withError:)`` and this reason.
    case reason(any Error)
    /// A time limit or a deadline cancelled the operation.
    ///
    /// The limit is a ``TimeoutObserver``, or the time limit of an attempt. The deadline is the deadline of the
    /// operation, of its scope or of the call that ran it.
    case timeout(OperationTimeout)
    /// The parent of the operation cancelled it, with the parent's reason.
    ///
    /// The parent is a ``RetryOperation``, a ``RepeatOperation`` or a group. A group cancels a child if the
    /// group is cancelled or another child fails (``GroupOperation/SiblingFailed``).
    case parent(reason: (any Error)?)
  }

  /// The kind of source of the first cancel.
  enum Canceller: UInt8, Sendable {
    case caller, timeout, parent
  }

  /// The source of the cancel; nil unless ``isCancellation`` is true.
  ///
  /// After several cancels, the value is the first cancel, with the first reason of any of them. If an
  /// operation failed only because other operations were cancelled, the value is the source of the first of
  /// those cancels.
  public var cancellation: Cancellation? {
    if let canceller { return cancellation(by: canceller) }
    if elements.isEmpty { return .withoutReason }
    var first: Cancellation?
    var search = CauseSearch(self, decidingOnly: true)
    while let cause = search.next(orFailure: { $0.isOfCancel || $1.canceller != nil }) {
      guard let cancellation = cause.cancellation else { return nil }
      first = first ?? cancellation
    }
    return first
  }

  /// A Boolean value that indicates whether the operation was cancelled, or failed only because others were
  /// cancelled.
  ///
  /// The value is true after a cancel, even if other errors occurred; ``cancellation`` is the source of the
  /// cancel. Without a cancel, the value is true if all ``rootCauses`` are cancels of dependencies or
  /// children. Of several attempts, only the last one counts. If a body throws a `CancellationError` without
  /// having been cancelled, the error counts as an ordinary failure.
  public var isCancellation: Bool { cancellation != nil }

  /// A Boolean value that indicates whether a root cause of the failure is a time limit.
  ///
  /// The value is true if an ``OperationTimeout`` is among the ``rootCauses``. The timeout may have cancelled
  /// the operation, an operation that it needs, or an attempt. Of several attempts, only the last one counts.
  public var isTimeout: Bool {
    if let canceller { return isTimeout(cancelledBy: canceller) }
    var search = CauseSearch(self, decidingOnly: true)
    while let cause = search.next(orFailure: { $1.canceller != nil }) {
      if let failure = cause.error as? OperationFailure, let canceller = failure.canceller {
        if failure.isTimeout(cancelledBy: canceller) { return true }
      } else if cause.origin.cause == .timeout || cause.error is OperationTimeout {
        return true
      }
    }
    return false
  }

  /// The reason for a skip, if the operation was skipped and therefore has no value; nil otherwise.
  public var skipReason: String? {
    let elements = elements
    guard elements.count == 1, elements[0].origin.first == nil,
      case .skipped(let reason) = elements[0].origin.cause
    else { return nil }
    return reason
  }

  private func isTimeout(cancelledBy canceller: Canceller) -> Bool {
    let reason = reasonOfCancel
    return canceller == .timeout || reason is OperationTimeout
      || (reason as? OperationFailure)?.canceller == .timeout
  }

  private var reasonOfCancel: (any Error)? { elements.first { $0.origin == .cancel }?.error }

  private func cancellation(by canceller: Canceller) -> Cancellation {
    let reason = reasonOfCancel
    switch canceller {
    case .caller:
      if let timeout = reason as? OperationTimeout { return .timeout(timeout) }
      return reason.map { .reason($0) } ?? .withoutReason
    case .parent: return .parent(reason: reason)
    case .timeout:
      let timeout = elements.first { $0.origin == .timeout }?.error
      if let timeout = timeout as? OperationTimeout { return .timeout(timeout) }
      return timeout.map { .reason($0) } ?? .withoutReason
    }
  }
}

extension OperationFailure.Element {
  /// A Boolean value that indicates whether the error is the reason of a cancel.
  fileprivate var isOfCancel: Bool { origin.cause == .cancel }

  /// The source of the cancel of the operation in which the error originates; nil if it wasn't cancelled.
  fileprivate var cancellation: OperationFailure.Cancellation? {
    switch origin.cause {
    // If a child was cancelled without a reason, its group reports a `CancellationError`.
    case .cancel: return error is CancellationError ? .withoutReason : .reason(error)
    case .timeout:
      // A time limit of an attempt fails the attempt. Other time limits cancel the operation.
      if case .attempt? = origin.path.last { return nil }
      return (error as? OperationTimeout).map { .timeout($0) }
    case .condition, .body, .dependency, .skipped:
      let error = (error as? OperationConditionError)?.underlying ?? error
      guard let failure = error as? OperationFailure,
        failure.canceller != nil || failure.elements.isEmpty
      else { return nil }
      return failure.cancellation
    }
  }
}
