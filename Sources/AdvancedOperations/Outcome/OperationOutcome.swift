/// The outcome of an operation, which is decided once and doesn't change.
///
/// ```swift
/// switch operation.outcome {
/// case .succeeded: print("done")
/// case .failed(let failure), .cancelled(let failure): print(failure)
/// case .skipped(let reason): print("nothing to do: \(reason)")
/// case nil: print("still going")
/// }
/// ```
public enum OperationOutcome: Sendable {
  /// The operation ran and reported no error.
  case succeeded
  /// The operation, or an operation that it needed, failed.
  case failed(OperationFailure)
  /// The operation was cancelled before its outcome was decided; the failure has the reasons and other
  /// errors.
  case cancelled(OperationFailure)
  /// The operation had nothing to do, which isn't an error.
  ///
  /// A condition, a claim, the operation that provides the input, or the body of the operation gave the
  /// reason.
  case skipped(reason: String)

  /// The case of an outcome, without its failure or reason.
  ///
  /// ```swift
  /// let counts = Dictionary(grouping: outcomes, by: \.kind).mapValues(\.count)
  /// ```
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The operation ran and reported no error.
    case succeeded
    /// The operation, or an operation that it needed, failed.
    case failed
    /// The operation was cancelled.
    case cancelled
    /// The operation was skipped because there was nothing to do.
    case skipped
  }

  /// The case of the outcome.
  public var kind: Kind {
    switch self {
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    case .skipped: .skipped
    }
  }

  /// A Boolean value that indicates whether the outcome is ``succeeded``.
  public var isSuccess: Bool { kind == .succeeded }

  /// A Boolean value that indicates whether the outcome is ``failed(_:)``; false for ``cancelled(_:)``.
  public var isFailed: Bool { kind == .failed }

  /// A Boolean value that indicates whether the outcome is ``cancelled(_:)``.
  public var isCancelled: Bool { kind == .cancelled }

  /// A Boolean value that indicates whether the outcome is ``skipped(reason:)``.
  public var isSkipped: Bool { kind == .skipped }

  /// The description on one line.
  var inOneLine: String {
    switch self {
    case .succeeded: "succeeded"
    case .skipped(let reason): "skipped: \(reason.inOneLine)"
    case .failed(let failure): "failed: \(failure.summary())"
    case .cancelled(let failure):
      failure.elements.isEmpty ? "cancelled" : "cancelled: \(failure.summary())"
    }
  }

  /// The case as the predicate of a sentence about the operation.
  var predicate: String {
    switch self {
    case .succeeded, .failed: kind.rawValue
    case .cancelled, .skipped: "was \(kind.rawValue)"
    }
  }

  /// A Boolean value that indicates whether all errors of the operation are inherited, so that it never ran
  /// because of its dependencies.
  public var isInherited: Bool { failure?.isInherited ?? false }

  /// The failure; nil for ``succeeded`` and ``skipped(reason:)``.
  public var failure: OperationFailure? {
    switch self {
    case .failed(let failure), .cancelled(let failure): failure
    case .succeeded, .skipped: nil
    }
  }
}

extension OperationOutcome: CustomStringConvertible {
  /// A word for the outcome, and the reason or the failure if there is one.
  public var description: String {
    switch self {
    case .succeeded: "succeeded"
    case .skipped(let reason): "skipped: \(reason)"
    case .failed(let failure): "failed\n\(failure.indented(by: 1))"
    case .cancelled(let failure):
      failure.elements.isEmpty ? "cancelled" : "cancelled\n\(failure.indented(by: 1))"
    }
  }
}

/// An error that a body throws to end its operation as skipped, because there is nothing to do.
///
/// ```swift
/// let download = ResultOperation(name: "download") {
///   let response = try await feed.download(ifNewerThan: lastChange)
///   if response.isNotModified { throw OperationSkipped(reason: "not modified") }
///   return response.body
/// }
/// ```
///
/// A skip isn't a failure. The outcome is ``OperationOutcome/skipped(reason:)``, as after a condition that
/// skips. Operations that were created with ``ResultOperation/then(name:retry:body:)`` are skipped with the
/// same reason. Other dependents continue, a group has no error, and a retry policy isn't consulted. If the
/// operation was cancelled before, its outcome is cancelled.
///
/// In an override of ``AdvancedOperation/execute()``, call ``AdvancedOperation/skip(reason:)``, or pass the
/// error to ``AdvancedOperation/finish(withError:)``.
///
/// If an operation was skipped, its ``ResultOperation/value`` throws an ``OperationFailure`` with this error
/// and a ``OperationFailure/skipReason``. A body that awaits the value and doesn't catch that failure fails,
/// because it needs a value that doesn't exist.
public struct OperationSkipped: Error, Hashable, CustomStringConvertible {
  /// The reason why there is nothing to do.
  public var reason: String
  /// Creates the error.
  public init(reason: String) { self.reason = reason }
  /// A sentence with the reason.
  public var description: String { "The operation was skipped: \(reason)." }
}

extension OperationFailure.Element {
  /// The reason of the skip, if the body of the operation itself threw the error.
  var skipReasonOfBody: String? {
    guard let skipped = error as? OperationSkipped, origin == .body else { return nil }
    return skipped.reason
  }
}
