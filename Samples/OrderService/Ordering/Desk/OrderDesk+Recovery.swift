import AdvancedOperations
import Synchronization

/// Orders that the store has kept from going on are taken up again.
extension OrderDesk {
  /// Why orders can't go on at the moment: the store's error; nil when it does what it is to do.
  ///
  /// While there is a reason, orders are better sent to another program. Those that are open here are
  /// tried again and again, and none of them fails for it.
  public var storeTrouble: String? {
    if let reason = tools.trouble.reason { return reason }
    return state.withLock { $0.recoveries.values.first?.reason ?? $0.refusedOrder?.reason }
  }

  /// The store didn't keep a new order: from now on it is tried whether it would, as nobody else may
  /// try that while orders are sent elsewhere.
  func storeRefused(because reason: String) {
    let (store, clock, delay) = (store, queue.environment.clock, options.recoveryDelay)
    let probe = ResultOperation(name: "probe of the store") {
      repeat {
        try await clock.sleep(for: delay)
      } while (try? await store.probe()) == nil
    }
    let isFirst = state.withLock { state in
      let isFirst = state.refusedOrder == nil && !state.isDraining
      if isFirst { state.refusedOrder = (reason, probe) }
      return isFirst
    }
    guard isFirst else { return }
    probe.onFinish { [weak self] operation, _ in self?.storeKeeps(probedBy: operation) }
    leaseQueue.addOperation(probe)
  }

  /// The store has kept an order, or would.
  ///
  /// - Parameter probe: What found out; nil: an order did.
  func storeKeeps(probedBy probe: AdvancedOperation? = nil) {
    let over = state.withLock { state -> AdvancedOperation? in
      guard let known = state.refusedOrder, probe == nil || known.probe === probe else {
        return nil
      }
      state.refusedOrder = nil
      return known.probe
    }
    over?.cancel()
  }

  /// Begins with an order again, after a while; it counts as open meanwhile.
  ///
  /// - Parameters:
  ///   - run: What was made of it before, and has ended without an outcome.
  ///   - reason: The store's error.
  func recover(_ run: OrderRun, because reason: String) {
    let (id, cancel) = (run.order.id, run.group.cancellationReason as? OrderCancelled)
    let (store, clock, delay) = (store, queue.environment.clock, options.recoveryDelay)
    let recovery = ResultOperation(name: "recovery of \(id)") {
      while true {
        try await clock.sleep(for: delay)
        // As long as the store can't be read either, there is nothing to begin with.
        if let order = try? await store.order(id) { return order }
      }
    }
    let waiting = DeskState.Recovery(operation: recovery, reason: reason, cancel: cancel)
    state.withLock { $0.recoveries[id] = waiting }
    recovery.onFinish { [weak self] recovery, _ in
      self?.recovered(id, try? recovery.result?.get())
    }
    queue.addOperation(recovery)
    if isDraining { recovery.cancel() }
  }

  private func recovered(_ id: OrderID, _ order: Order?) {
    if let order, !order.state.isFinal {
      begin(order)
    } else {
      forget(id, isInterrupted: order == nil)
    }
    // Afterwards, so that a cancel always finds one of both.
    let recovery = state.withLock { $0.recoveries.removeValue(forKey: id) }
    if let cancel = recovery?.cancel { operation(of: id)?.cancel(withError: cancel) }
  }

  /// The desk closes: the next program takes up what waits.
  func endRecoveries() {
    storeKeeps()
    for recovery in state.withLock({ Array($0.recoveries.values) }) { recovery.operation.cancel() }
  }
}
