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
    do {
      let id = OrderID(random: queue.environment.random())
      submission = try await store.accept(draft, id: id, key: key)
    } catch {
      state.withLock { $0.withdrawn() }
      throw error
    }
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
    forget(run.order.id)
  }

  /// An order is over here, or is left to the next program.
  func forget(_ id: OrderID) {
    let forgotten = state.withLock { $0.ended(id, remembered: options.rememberedOrders) }
    withExtendedLifetime(forgotten) {}
  }

  /// The time for rollbacks is over.
  func interruptRollbacks() {
    for run in state.withLock({ Array($0.runs.values) }) { run.interrupt() }
  }
}
