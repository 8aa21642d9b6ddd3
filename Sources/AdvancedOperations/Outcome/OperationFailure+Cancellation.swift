extension OperationFailure {
  /// What cancelled an operation.
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
    /// A plain ``AdvancedOperation/cancel()``.
    case withoutReason
    /// ``AdvancedOperation/cancel(withError:)``, with this reason.
    case reason(any Error)
    /// A time limit: a ``TimeoutObserver``, or that of an attempt.
    case timeout(OperationTimeout)
    /// What the operation is a child of, with the reason that this had or gave.
    ///
    /// That is a group that was cancelled or whose other child failed
    /// (``GroupOperation/SiblingFailed``), a ``RetryOperation`` or a ``RepeatOperation``.
    case parent(reason: (any Error)?)
  }

  /// Who gave the first cancel.
  enum Canceller: UInt8, Sendable {
    case caller, timeout, parent
  }

  /// What cancelled the operation; nil unless ``isCancellation``.
  ///
  /// Of several cancels the first, with the first reason that one of them gave. For an operation
  /// that failed only because others were cancelled, what cancelled the first of these.
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

  /// Whether the operation was cancelled, or failed only because others were.
  ///
  /// True after a cancel whatever else went wrong; ``cancellation`` says what cancelled it. Without
  /// one, true if all ``rootCauses`` are cancels of dependencies or children; of several attempts
  /// the last one counts. A `CancellationError` that a body throws without having been cancelled is
  /// an error like others.
  public var isCancellation: Bool { cancellation != nil }

  /// Whether a time limit is what the failure comes down to.
  ///
  /// True if an ``OperationTimeout`` is among the ``rootCauses``, whether it cancelled the
  /// operation, something that it needed, or an attempt; of several attempts the last one counts.
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

  /// Why there was nothing to do, if the operation was skipped and has no value therefore; nil
  /// otherwise.
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
    case .caller: return reason.map { .reason($0) } ?? .withoutReason
    case .parent: return .parent(reason: reason)
    case .timeout:
      let timeout = elements.first { $0.origin == .timeout }?.error
      if let timeout = timeout as? OperationTimeout { return .timeout(timeout) }
      return timeout.map { .reason($0) } ?? .withoutReason
    }
  }
}

extension OperationFailure.Element {
  /// Whether the error is a reason that was given with a cancel.
  fileprivate var isOfCancel: Bool { origin.cause == .cancel }

  /// What cancelled the operation that this comes from; nil if it wasn't cancelled.
  fileprivate var cancellation: OperationFailure.Cancellation? {
    switch origin.cause {
    // A group reports a child that was cancelled without a reason with this error.
    case .cancel: return error is CancellationError ? .withoutReason : .reason(error)
    case .timeout:
      // An attempt that takes too long has failed; other limits cancel.
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
