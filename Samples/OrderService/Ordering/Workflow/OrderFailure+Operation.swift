import AdvancedOperations
import ServiceSupport

extension OperationFailure {
  /// An error of the store that a step has failed with, by itself or while it was recorded.
  func ofStore<StoreError: Error>(_ type: StoreError.Type) -> StoreError? {
    first(type) ?? first(OperationJournalError.self)?.underlying as? StoreError
  }
}

extension OrderFailure {
  /// Creates the failure of an order that was cancelled.
  public init(cancelledBecause reason: String) {
    self.init(kind: .cancelled, step: nil, reason: reason, tree: "cancelled: \(reason)")
  }

  /// What is kept of a step's failure.
  ///
  /// - Parameters:
  ///   - step: The name of the step's operation.
  ///   - failure: How that has ended.
  ///   - limit: The time limit of the step if that was over; it is named in the reason.
  init(step: String, failure: OperationFailure, limit: Duration? = nil) {
    let causes = failure.rootCauses.map(\.error)
    // Of several attempts, the last says how things are now.
    let cause = causes.first { Self.isOwn($0) } ?? causes.last
    var reason = cause.map { "\($0)" } ?? "“\(step)” failed"
    if let limit, cause.map(Self.isOwn) != true {
      let text = DurationText.text(limit)
      reason = "\(reason.withoutFullStop). The time limit of \(text) for “\(step)” is over."
    }
    self.init(
      kind: Self.kind(of: cause, in: step),
      step: step,
      reason: reason,
      tree: "\(step)\n\(failure.indented(by: 1))"
    )
  }

  /// Whether an error is the shop's own verdict, and no trouble on the way to it.
  private static func isOwn(_ error: any Error) -> Bool {
    error is OutOfStock || error is CardDeclined || error is ItemWithdrawn
      || error is ChargeTakenBack
  }

  private static func kind(of cause: (any Error)?, in step: String) -> Kind {
    switch cause {
    case is OutOfStock, is ItemWithdrawn: .outOfStock
    case is CardDeclined: .declined
    case is OperationJournalError, is RollbackHasBegun: .other
    default:
      switch OrderStep(key: step) {
      case .charge: .providerUnavailable
      case .ship: .notShipped
      case .validate, .reserve, .confirm, nil: .other
      }
    }
  }
}
