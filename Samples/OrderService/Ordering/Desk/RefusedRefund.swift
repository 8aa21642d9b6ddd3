import Synchronization

/// The provider has refused the refund of an order often; from now on the refund is repeated slowly.
public struct RefusedRefund: Hashable, Sendable {
  /// The order, which is being rolled back.
  public var order: OrderID

  /// The number of refusals in a row.
  public var count: Int

  /// The provider's last answer.
  public var reason: String
}

/// The closure that a desk calls about refunds.
final class DeskReports: Sendable {
  /// The closure, in a struct: a bare closure would become two calls deeper at each access of the lock.
  private struct Reports {
    var refused: (@Sendable (RefusedRefund) -> Void)?
  }

  private let reports = Mutex(Reports())

  /// Sets the closure.
  func set(onRefusedRefund body: @escaping @Sendable (RefusedRefund) -> Void) {
    reports.withLock { $0.refused = body }
  }

  /// A refund was refused often.
  func refused(_ refund: RefusedRefund) { reports.withLock { $0.refused }?(refund) }
}
