import AdvancedOperations
import Synchronization

/// Where several instances share a store, the desk keeps its orders by heartbeats.
extension OrderDesk {
  /// The store, if several instances share it.
  var leases: (any OrderLeases)? { store as? any OrderLeases }

  /// Begins to beat and to listen: operations in a queue of its own, which the drain of orders doesn't
  /// end.
  func keep(_ leases: any OrderLeases) {
    let clock = queue.environment.clock
    let keeper = ResultOperation(name: "leases of \(leases.instance)") { [weak self] in
      var (call, next): (Int?, Duration) = (nil, clock.now)
      while true {
        // A heartbeat that takes long doesn't delay the next one.
        next = max(next + leases.heartbeat, clock.now)
        try await clock.sleep(until: next)
        guard let self else { return }
        call = await beat(leases, call)
      }
    }
    let signals = leases.cancelSignals
    let listener = ResultOperation(name: "cancels of \(leases.instance)") { [weak self] in
      for await _ in signals {
        // What can't be learned now is learned with a heartbeat.
        try? await self?.cancelAsRequested(leases)
      }
    }
    state.withLock { $0.keepers = [keeper, listener] }
    for operation in [keeper, listener] { leaseQueue.addOperation(operation) }
  }

  /// Says that this instance lives; leaves orders that were taken from it, and takes those that were
  /// left by others.
  ///
  /// - Parameters:
  ///   - leases: The store.
  ///   - call: The number of the trouble with the last heartbeat; nil when that was heard.
  /// - Returns: The number of the trouble with this one.
  private func beat(_ leases: any OrderLeases, _ call: Int?) async -> Int? {
    do {
      for id in try await leases.beat() {
        let (run, recovery) = state.withLock { ($0.runs[id], $0.recoveries[id]?.operation) }
        run?.leave()
        recovery?.cancel()
      }
      try await cancelAsRequested(leases)
      let room = options.maximumOpenOrders - openCount
      if room > 0, !isDraining {
        for order in try await leases.takeOver(limit: min(room, options.takeOverLimit)) {
          state.withLock { $0.admitKnown() }
          begin(order)
        }
        reportUnreadable()
      }
      if let call { tools.trouble.isOver(call) }
      return nil
    } catch {
      return tools.trouble.failed(call, because: "\(error)")
    }
  }

  /// The desk has closed: others may take what is left, without waiting for heartbeats.
  func resign() async {
    guard let leases else { return }
    for keeper in state.withLock({ $0.keepers }) { keeper.cancel() }
    // Without it, the others wait until heartbeats are missed.
    try? await leases.resign()
  }

  /// Waits for an order that another instance may work on.
  func outcome(
    of id: OrderID,
    until deadline: Duration,
    _ leases: any OrderLeases
  ) async throws -> Order? {
    let (clock, store) = (queue.environment.clock, store)
    // Listens before it looks, so that nothing is missed in between.
    let signals = leases.signals(of: id)
    let order = try await store.order(id)
    guard let order, !order.state.isFinal, clock.now < deadline else { return order }
    try await withThrowingTaskGroup { group in
      group.addTask { try await clock.sleep(until: deadline) }
      group.addTask {
        for await _ in signals {
          if try await store.order(id)?.state.isFinal ?? true { return }
        }
        // The wait was cancelled.
        try Task.checkCancellation()
      }
      try await group.next()
      group.cancelAll()
    }
    return try await store.order(id)
  }
}
