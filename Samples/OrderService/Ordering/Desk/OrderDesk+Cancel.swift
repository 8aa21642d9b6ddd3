import AdvancedOperations
import Synchronization

extension OrderDesk {
  /// Has an order cancelled, wherever it is worked on: what was done is undone, and the reason is kept.
  ///
  /// When this has returned, a crash can't lose the request. The instance that holds the order learns
  /// of it at once, or with its next heartbeat, and so does one that takes the order over; before one
  /// of them has, the order can't be confirmed any more.
  ///
  /// - Parameters:
  ///   - id: The order.
  ///   - reason: Why, for people; the first reason stays.
  /// - Returns: Whether the order is to be cancelled; false when it is over, or is being undone.
  /// - Throws: An error of the store: then it isn't known whether the request was noted.
  public func requestCancel(of id: OrderID, because reason: String) async throws -> Bool {
    guard try await store.requestCancel(of: id, because: reason) else { return false }
    cancel(id, because: reason)
    return true
  }

  /// Cancels an order that goes on here, at once; the request isn't noted, see
  /// ``requestCancel(of:because:)``.
  ///
  /// - Parameters:
  ///   - id: The order.
  ///   - reason: Why, for people.
  /// - Returns: Whether the order was going on here; false when it is over, or was cancelled before.
  ///   One that is confirmed at the same moment stays so: ``outcome(of:within:)`` says how it ended.
  @discardableResult
  public func cancel(_ id: OrderID, because reason: String) -> Bool {
    let cancel = OrderCancelled(reason: reason)
    if state.withLock({ $0.keepCancel(id, cancel) }) { return true }
    guard let operation = operation(of: id), !operation.isFinished, !operation.isCancelled else {
      return false
    }
    operation.cancel(withError: cancel)
    return true
  }

  /// Cancels the orders of this instance for which another one has noted that.
  func cancelAsRequested(_ leases: any OrderLeases) async throws {
    for (id, reason) in try await leases.requestedCancels() { cancel(id, because: reason) }
  }
}
