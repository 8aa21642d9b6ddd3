import AdvancedOperations
import Synchronization

extension OrderDesk {
  /// The order of a key that came before; nil if there is none.
  func known(_ draft: OrderDraft, key: String) async throws -> Submission? {
    guard let order = try await store.order(forKey: key) else { return nil }
    guard order.draft == draft else { throw OrderRefusal.keyReused(order.id) }
    return Submission(order: order, isNew: false)
  }

  /// Keeps an order for which there is room, and begins it.
  func accept(_ draft: OrderDraft, key: String) async throws -> Submission {
    if let refusal = state.withLock({ $0.admit(limit: options.maximumOpenOrders) }) {
      throw refusal
    }
    let submission: Submission
    let id = OrderID(random: queue.environment.random())
    state.withLock { $0.acceptances[id] = DeskState.Acceptance() }
    defer { isAccepted(id) }
    do {
      submission = try await store.accept(draft, id: id, key: key)
    } catch {
      state.withLock { $0.withdrawn() }
      throw error
    }
    storeKeeps()
    // Another request with the key may have come at the same time.
    guard submission.isNew else {
      state.withLock { $0.withdrawn() }
      guard submission.order.draft == draft else {
        throw OrderRefusal.keyReused(submission.order.id)
      }
      return submission
    }
    begin(submission.order)
    return submission
  }

  /// An order has its operation, or wasn't accepted.
  private func isAccepted(_ id: OrderID) {
    let acceptance = state.withLock { $0.acceptances.removeValue(forKey: id) }
    if let cancel = acceptance?.cancel { operation(of: id)?.cancel(withError: cancel) }
    for continuation in acceptance?.waiting ?? [] { continuation.resume() }
  }

  /// Waits while an order is known to the store and has no operation yet.
  func untilAccepted(_ id: OrderID) async {
    await withCheckedContinuation { continuation in
      let isAccepted = state.withLock { state in
        state.acceptances[id]?.waiting.append(continuation)
        return state.acceptances[id] == nil
      }
      if isAccepted { continuation.resume() }
    }
  }

  /// Puts the operation of an order into the queue.
  ///
  /// In a queue that is closed it leaves at once, and the store keeps the order for the next program.
  func begin(_ order: Order) {
    let run = OrderRun(order, tools)
    run.prepare()
    state.withLock { $0.began(run) }
    run.group.onFinish { [weak self, weak run] _, _ in
      if let self, let run { ended(run) }
    }
    queue.addOperation(run.group)
  }

  private func ended(_ run: OrderRun) {
    if let reason = run.storeTrouble, !isDraining { return recover(run, because: reason) }
    forget(run.order.id, isInterrupted: run.isLeft && run.group.outcome?.isSuccess != true)
  }

  /// An order is over here, or is left to the next program.
  func forget(_ id: OrderID, isInterrupted: Bool) {
    let forgotten = state.withLock { state in
      state.ended(id, isInterrupted: isInterrupted, remembered: options.rememberedOrders)
    }
    withExtendedLifetime(forgotten) {}
    leases?.leave(id)
  }

  /// The time for rollbacks is over, and that for a store that fails.
  func interruptRollbacks() {
    tools.trouble.giveUp()
    for run in state.withLock({ Array($0.runs.values) }) { run.interrupt() }
  }
}
