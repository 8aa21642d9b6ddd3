import AdvancedOperations
import OrderWorkflow

/// How an operation ended, in words of a bounded number: labels of metrics, attributes of spans.
struct OutcomeCause: Equatable, Sendable {
  /// `succeeded`, `recorded` (it was done before a restart), `failed`, `cancelled` or `skipped`.
  var outcome: String
  /// What it comes down to; empty for a success.
  var cause: String

  init(of operation: AdvancedOperation) {
    switch operation.outcome {
    case .succeeded: (outcome, cause) = (operation.isFromJournal ? "recorded" : "succeeded", "")
    case .failed(let failure): (outcome, cause) = ("failed", Self.cause(of: failure))
    case .cancelled(let failure): (outcome, cause) = ("cancelled", Self.cause(of: failure))
    case .skipped: (outcome, cause) = ("skipped", "")
    case nil: (outcome, cause) = ("unfinished", "")
    }
  }

  static func cause(of failure: OperationFailure) -> String {
    if failure.isTimeout { return "timeout" }
    if failure.first(OrderCancelled.self) != nil { return "order cancelled" }
    if failure.first(OperationQueueClosed.self) != nil { return "shutdown" }
    switch failure.first(PaymentProviderError.self) {
    case .noAnswer: return "no answer"
    case .unavailable: return "provider unavailable"
    case .unconfirmed: return "answer not confirmed"
    case .refused: return "provider refused"
    case nil: break
    }
    if failure.first(OutOfStock.self) != nil { return "out of stock" }
    if let kind = failure.first(OrderFailure.self)?.kind { return kind.rawValue }
    guard let root = failure.rootCauses.first else { return "unknown" }
    return root.error is OperationFailure ? "dependency" : "\(type(of: root.error))"
  }
}
