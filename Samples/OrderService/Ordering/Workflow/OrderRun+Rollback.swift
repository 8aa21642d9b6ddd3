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
            try await self.requestRefund()
            try await tools.store.undone(.charge, of: id)
            self.state.withLock { $0.isRefunded = true }
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

  /// Has the provider give the money back.
  ///
  /// - Throws: ``PaymentProviderError``, unless an answer confirms that the card isn't charged anymore.
  private func requestRefund() async throws {
    let payments = tools.payments
    let total = try await journal.recorded(Money.self, of: .validate)
    if isChargeInDoubt {
      let charge = Charge(of: order.id, amount: total)
      do {
        if let known = try await payments.lookUp(charge) { noteCharged(by: known, charge) }
      } catch PaymentProviderError.refused {
        // A ledger that can't be read keeps no refund from being requested.
      }
    }
    let charged = state.withLock { $0.charged }
    let charge = Charge(of: order.id, amount: charged ?? total)
    let wasCharged = charged != nil || isChargeDone
    let answer = try await payments.refund(charge)
    try charge.checkRefund(answer, wasCharged: wasCharged)
    // Nothing was charged, as this answer says. The ledger has to say the same.
    guard answer.status != .refunded, let known = try await payments.lookUp(charge) else { return }
    noteCharged(by: known, charge)
    let wasChargedAfterAll = state.withLock { $0.charged != nil }
    try charge.checkRefund(known, wasCharged: wasChargedAfterAll)
  }

  /// Whether an earlier run of the program has confirmed the charge.
  private var isChargeDone: Bool {
    order.steps.contains(StepRecord(key: OrderStep.charge.key, state: .done))
  }

  /// Whether the card may have been charged with another sum than that of the order.
  ///
  /// The answer of an earlier run isn't known, and one of this run may have named a wrong sum.
  private var isChargeInDoubt: Bool {
    if isChargeDone { return false }
    let (charged, isConfirmed) = state.withLock { ($0.charged, $0.isChargeConfirmed) }
    if isConfirmed { return false }
    return charged != nil
      || order.steps.contains(StepRecord(key: OrderStep.charge.key, state: .begun))
  }

  /// Notes the sum that the card was charged with, if an answer names one.
  func noteCharged(by answer: ChargeAnswer, _ charge: Charge) {
    guard let sum = charge.sum(chargedBy: answer) else { return }
    state.withLock { $0.charged = sum }
  }

  /// Whether the order is being rolled back, and its money isn't given back yet.
  var isUnsettled: Bool {
    state.withLock { state in
      guard state.rollback == .goesOn, !state.isRefunded, !state.isInterrupted else { return false }
      return state.registered.contains(OrderStep.charge.key)
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
