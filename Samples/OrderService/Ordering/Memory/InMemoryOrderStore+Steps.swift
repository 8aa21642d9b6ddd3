import Synchronization

extension InMemoryOrderStore {
  /// Notes that a step may have an effect from now on.
  public func begin(_ step: OrderStep, of order: OrderID) throws {
    try contents.withLock { contents in
      try contents.mustGoOn(order)
      contents.note(step.key, of: order, as: .begun)
    }
  }

  /// The value of a step that is done.
  public func value(of step: OrderStep, of order: OrderID) -> String? {
    contents.withLock { $0.values[order]?[step.key] }
  }

  /// Keeps the value of a step.
  public func record(_ value: String, of step: OrderStep, of order: OrderID) throws {
    try contents.withLock { contents in
      // The steps that are done together with their effect are known already.
      if contents.values[order]?[step.key] == value { return }
      try contents.mustGoOn(order)
      contents.record(value, of: step.key, of: order)
    }
  }

  /// Sets items aside for an order.
  public func reserve(_ line: OrderLine, for order: OrderID) throws {
    try contents.withLock { contents in
      if contents.reservations[order]?[line.sku] != nil { return }
      try contents.mustGoOn(order)
      let stock = contents.items[line.sku]?.stock ?? 0
      guard stock >= line.quantity else {
        throw OutOfStock(sku: line.sku, stock: stock, needed: line.quantity)
      }
      contents.items[line.sku]?.stock = stock - line.quantity
      contents.reservations[order, default: [:]][line.sku] = line.quantity
      contents.record("true", of: OrderStep.reserve(sku: line.sku).key, of: order)
    }
  }

  /// Marks an order as confirmed.
  public func confirm(_ order: OrderID) throws {
    try contents.withLock { contents in
      if contents.orders[order]?.state == .confirmed { return }
      try contents.mustGoOn(order)
      if let reason = contents.orders[order]?.cancelReason { throw OrderCancelled(reason: reason) }
      contents.record("true", of: OrderStep.confirm.key, of: order)
      contents.orders[order]?.state = .confirmed
    }
  }

  /// Notes that an order is to be cancelled.
  public func requestCancel(of order: OrderID, because reason: String) -> Bool {
    contents.withLock { contents in
      guard var known = contents.orders[order], known.state == .open else { return false }
      known.cancelReason = known.cancelReason ?? reason
      contents.orders[order] = known
      return true
    }
  }

  /// Notes why an order is rolled back.
  public func beginRollback(of order: OrderID, because failure: OrderFailure) -> Bool {
    contents.withLock { contents in
      switch contents.orders[order]?.state {
      case .open:
        contents.orders[order]?.state = .rollingBack(failure)
        return true
      case .rollingBack: return true
      case .confirmed, .failed, .cancelled, .stuck, nil: return false
      }
    }
  }

  /// Puts items back that were set aside.
  public func release(_ line: OrderLine, of order: OrderID) {
    contents.withLock { contents in
      if let quantity = contents.reservations[order]?.removeValue(forKey: line.sku) {
        contents.items[line.sku]?.stock += quantity
      }
      contents.undone(OrderStep.reserve(sku: line.sku).key, of: order)
    }
  }

  /// Notes a step as undone.
  public func undone(_ step: OrderStep, of order: OrderID) {
    contents.withLock { $0.undone(step.key, of: order) }
  }

  /// Marks an order that was being rolled back as failed or cancelled.
  public func finishRollback(of order: OrderID, problems: [String]) {
    contents.withLock { contents in
      guard case .rollingBack(let failure) = contents.orders[order]?.state else { return }
      contents.orders[order]?.state =
        if !problems.isEmpty {
          .stuck(failure, problems: problems)
        } else if failure.kind == .cancelled {
          .cancelled(failure)
        } else {
          .failed(failure)
        }
    }
  }
}

extension InMemoryOrderStore.Contents {
  fileprivate func mustGoOn(_ order: OrderID) throws {
    guard orders[order]?.state == .open else { throw RollbackHasBegun(order: order) }
  }

  fileprivate mutating func record(_ value: String, of key: String, of order: OrderID) {
    values[order, default: [:]][key] = value
    note(key, of: order, as: .done)
  }

  fileprivate mutating func undone(_ key: String, of order: OrderID) {
    values[order]?[key] = nil
    note(key, of: order, as: .undone)
  }

  /// Keeps what there is of a step, at its place in the order in which steps began.
  fileprivate mutating func note(_ key: String, of order: OrderID, as state: StepRecord.State) {
    guard var steps = orders[order]?.steps else { return }
    if let index = steps.firstIndex(where: { $0.key == key }) {
      if state != .begun { steps[index].state = state }
    } else if state != .undone {
      steps.append(StepRecord(key: key, state: state))
    }
    orders[order]?.steps = steps
  }
}
