import AdvancedOperations
import Synchronization

extension OrderRun {
  /// Registers what undoes a step that may have had an effect; once for each.
  func registerRollback(of step: OrderStep) {
    guard state.withLock({ $0.registered.insert(step.key).inserted }) else { return }
    let (tools, id) = (tools, order.id)
    switch step {
    case .validate, .confirm: break
    case .reserve(let sku):
      guard let line = order.draft.lines.first(where: { $0.sku == sku }) else { return }
      group.onRollback {
        try await self.undo("release \(sku)") {
          ResultOperation(name: "release") { try await tools.store.release(line, of: id) }
        }
      }
    case .charge:
      group.onRollback {
        try await self.undo("refund") {
          let request = ResultOperation(name: "refund request") {
            let total = try await self.journal.recorded(Money.self, of: .validate)
            let charge = Charge(of: id, amount: total)
            try charge.checkRefund(try await tools.payments.refund(charge))
            try await tools.store.undone(.charge, of: id)
          }
          self.goesToProvider(request)
          return request
        }
      }
    case .ship:
      group.onRollback {
        try await self.undo("recall") {
          ResultOperation(name: "recall request") {
            try await tools.shipping.recall(id)
            try await tools.store.undone(.ship, of: id)
          }
        }
      }
    }
  }

  /// Undoes one thing, with as many attempts as that takes, unless the order isn't rolled back.
  private func undo(
    _ name: String,
    make: @escaping @Sendable () -> ResultOperation<Void>
  ) async throws {
    guard try await isRolledBack() else { return }
    do {
      try await repeatingForever(name, make: make)
    } catch {
      state.withLock { state in
        // What was interrupted goes on after the restart.
        if !state.isInterrupted { state.problems.append("\(name): \(error)") }
      }
      throw error
    }
  }

  /// Whether the order is to be rolled back; has the store know why, before anything is undone.
  private func isRolledBack() async throws -> Bool {
    switch state.withLock({ $0.isInterrupted ? .isLeft : $0.rollback }) {
    case .goesOn: return true
    case .isLeft, .isOver: return false
    case .undecided: break
    }
    guard let cause else {
      state.withLock { $0.rollback = .isLeft }
      return false
    }
    let (store, id) = (tools.store, order.id)
    let isOpen = try await repeatingForever("note the cause") {
      ResultOperation(name: "note the cause") {
        try await store.beginRollback(of: id, because: cause)
      }
    }
    state.withLock { $0.rollback = isOpen ? .goesOn : .isOver }
    return isOpen
  }

  /// Why the order comes to nothing; nil when it is only interrupted.
  private var cause: OrderFailure? {
    let reason = group.cancellationReason
    if reason is OperationQueueClosed || reason is LeaseLost { return nil }
    if state.withLock({ $0.isLeaseLost }) { return nil }
    if let recorded = reason as? OrderFailure { return recorded }
    if let failure = state.withLock({ $0.failure }) { return failure }
    if storeTrouble != nil { return nil }
    return OrderFailure(cancelledBecause: reason.map { "\($0)" } ?? "without a reason")
  }

  /// All is undone that can be.
  func finishRollback() async throws {
    guard try await isRolledBack() else { return }
    let (store, id, problems) = (tools.store, order.id, state.withLock { $0.problems })
    try await repeatingForever("finish") {
      ResultOperation(name: "finish") {
        try await store.finishRollback(of: id, problems: problems)
      }
    }
  }

  /// The program stops: what undoes something now ends, and nothing more is undone in this life.
  func interrupt() { interrupt(because: RollbackInterrupted()) }

  /// Another instance goes on with the order: what is done here ends, a rollback too.
  ///
  /// The other one undoes what is left; of two that do so, each would make the provider's requests.
  func leave() {
    let reason = LeaseLost(order: order.id)
    state.withLock { $0.isLeaseLost = true }
    interrupt(because: reason)
    group.cancel(withError: reason)
  }

  /// Whether the work on the order ended without an outcome: the program stops, another instance goes on
  /// with it, or the store could not keep what was done.
  var isLeft: Bool {
    state.withLock { state in
      state.isInterrupted || state.rollback == .isLeft || state.isLeaseLost
    }
  }

  private func interrupt(because reason: any Error) {
    let undoing = state.withLock { state in
      state.isInterrupted = true
      return state.undoing
    }
    undoing?.cancel(withError: reason)
  }
}
