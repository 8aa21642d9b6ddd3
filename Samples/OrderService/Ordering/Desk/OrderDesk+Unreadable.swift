import Synchronization

/// Orders that this version of the program can't read are left alone; all others go on.
extension OrderDesk {
  /// What is wrong with orders that aren't final and that are left alone: as a newer version of the
  /// program has written them, or somebody by hand.
  ///
  /// It says what was found when orders were taken up or over last.
  public var unreadableOrders: [OrderID: String] { store.unreadableOrders }

  /// Has a closure called for each order that is left alone, when it is found.
  ///
  /// - Parameter body: Gets the order and what is wrong with it; called without a lock.
  public func onUnreadable(_ body: @escaping @Sendable (_ id: OrderID, _ reason: String) -> Void) {
    state.withLock { $0.onUnreadable = body }
  }

  /// Says which orders are left alone that weren't before.
  func reportUnreadable() {
    let unreadable = unreadableOrders
    let (new, body) = state.withLock { ($0.found(unreadable: unreadable), $0.onUnreadable) }
    for (id, reason) in new { body?(id, reason) }
  }
}
