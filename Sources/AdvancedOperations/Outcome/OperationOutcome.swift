/// How an operation ended: the one terminal answer, decided at the first accepted finish.
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
  /// It ran and reported no error.
  case succeeded
  /// It, or something that it needed, failed.
  case failed(OperationFailure)
  /// It was cancelled before its end was decided; the reasons and what else went wrong.
  case cancelled(OperationFailure)
  /// There was nothing to do, and no error: a condition, a claim, a predecessor or the body said
  /// so.
  case skipped(reason: String)

  /// The case of an outcome, without its failure or reason.
  ///
  /// ```swift
  /// let counts = Dictionary(grouping: outcomes, by: \.kind).mapValues(\.count)
  /// ```
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The operation ran and reported no error.
    case succeeded
    /// The operation, or something that it needed, failed.
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

  /// Whether this is ``succeeded``.
  public var isSuccess: Bool { kind == .succeeded }

  /// Whether this is ``failed(_:)``; false for ``cancelled(_:)``.
  public var isFailed: Bool { kind == .failed }

  /// Whether this is ``cancelled(_:)``.
  public var isCancelled: Bool { kind == .cancelled }

  /// Whether this is ``skipped(reason:)``.
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

  /// The case, behind the name of an operation in a sentence.
  var predicate: String {
    switch self {
    case .succeeded, .failed: kind.rawValue
    case .cancelled, .skipped: "was \(kind.rawValue)"
    }
  }

  /// Whether the operation never ran because of its dependencies: all that went wrong was
  /// inherited.
  public var isInherited: Bool { failure?.isInherited ?? false }

  /// What went wrong; nil for ``succeeded`` and ``skipped(reason:)``.
  public var failure: OperationFailure? {
    switch self {
    case .failed(let failure), .cancelled(let failure): failure
    case .succeeded, .skipped: nil
    }
  }
}

extension OperationOutcome: CustomStringConvertible {
  /// One word, and the reason or failure when there is one.
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
