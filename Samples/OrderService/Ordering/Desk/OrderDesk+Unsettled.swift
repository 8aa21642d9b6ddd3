import Synchronization

/// Orders that are being rolled back, and whose money isn't given back yet.
extension OrderDesk {
  /// The orders whose money isn't settled, the first accepted first, at whichever instance.
  public func unsettledOrders(limit: Int) async throws -> [Order] {
    try await store.unsettledOrders(limit: limit)
  }

  /// The orders of this instance whose money isn't settled, with the last repetition of each refund.
  ///
  /// The repetition is nil as long as the first attempt hasn't failed.
  public var unsettled: [(id: OrderID, refund: OrderRetry?)] {
    state.withLock { Array($0.runs.values) }
      .filter(\.isUnsettled)
      .sorted { $0.order.acceptedAt < $1.order.acceptedAt }
      .map { ($0.order.id, $0.retries.latest["refund"]) }
  }

  /// Has a closure called when the provider has refused a refund often.
  ///
  /// - Parameter body: Gets the order and the last answer; called without a lock.
  public func onRefusedRefund(_ body: @escaping @Sendable (RefusedRefund) -> Void) {
    tools.reports.set(onRefusedRefund: body)
  }
}
