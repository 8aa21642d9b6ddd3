import AdvancedOperations
import AdvancedOperationsVisualization
import Synchronization

/// One order on its way: its operations, and what undoes them.
final class OrderRun: Sendable {
  /// Whether the order is to be rolled back, once its steps have ended.
  enum Rollback {
    /// Not known yet.
    case undecided
    /// It is, and the store knows why.
    case goesOn
    /// It isn't: its program stops and a restart goes on with it, or another instance does.
    case isLeft
    /// It isn't: the store has an outcome of the order.
    case isOver
  }

  struct State {
    /// What went wrong first.
    var failure: OrderFailure?
    var rollback = Rollback.undecided
    /// What could not be undone, and never will be.
    var problems: [String] = []
    /// The keys of the steps whose rollback is registered.
    var registered: Set<String> = []
    var isInterrupted = false
    /// Why the store could not keep what was done: the order has no outcome then.
    var storeTrouble: String?
    /// Another instance goes on with the order.
    var isLeaseLost = false
    /// The keys of the steps whose time limit was over.
    var outOfTime: Set<String> = []
    /// The sum that the provider has named last in an answer “charged”.
    var charged: Money?
    /// Whether such an answer had the sum of the order, and all else.
    var isChargeConfirmed = false
    /// Whether nothing is left of the charge.
    var isRefunded = false
    /// What undoes something at this moment.
    var undoing: AdvancedOperation?
  }

  /// The order as it was when it was taken up.
  let order: Order
  let tools: OrderTools
  let journal: OrderJournal
  let recorder = TimelineRecorder()
  let retries = RetryNotes()
  let group: GroupOperation
  let state = Mutex(State())

  init(_ order: Order, _ tools: OrderTools) {
    self.order = order
    self.tools = tools
    journal = OrderJournal(tools.store, order)
    group = GroupOperation(name: "order \(order.id)", errorPolicy: .failFast)
  }

  /// Makes the operations: what is in the journal isn't done again.
  ///
  /// An order that was being rolled back goes on with that: its group is cancelled before it
  /// begins. So is one whose cancel was noted.
  func prepare() {
    group.addObserver(recorder)
    group.onFinish { [retries] _, _ in retries.end() }
    // Registered first, it is the last to run.
    group.onRollback { try await self.finishRollback() }
    for record in order.steps where record.state != .undone {
      if let step = OrderStep(key: record.key) { registerRollback(of: step) }
    }
    group.mapChildErrors { [weak self] operation, error in
      self?.stepFailed(operation)
      return error
    }
    for operation in makeSteps() {
      operation.addObserver(recorder)
      group.addOperation(operation)
    }
    if let failure = order.state.failure {
      group.cancel(withError: failure)
    } else if let reason = order.cancelReason {
      group.cancel(withError: OrderCancelled(reason: reason))
    }
  }

  private func stepFailed(_ operation: AdvancedOperation) {
    // What a step makes of the order's cancel is no cause of its own.
    guard !group.isCancelled, let failure = operation.outcome?.failure else { return }
    let name = operation.name ?? ""
    let isOutOfTime = state.withLock { $0.outOfTime.contains(name) }
    let limit = isOutOfTime ? tools.options.stepTimeout : nil
    let cause = OrderFailure(step: name, failure: failure, limit: limit)
    let trouble = failure.ofStore(StoreUnavailable.self)?.reason
    let isLeaseLost = failure.ofStore(LeaseLost.self) != nil
    state.withLock { state in
      if isLeaseLost {
        state.isLeaseLost = true
        return
      }
      if state.failure != nil || state.storeTrouble != nil { return }
      if let trouble { state.storeTrouble = trouble } else { state.failure = cause }
    }
  }

  /// Why the store could not keep what was done, and the order is to be begun again; nil when it
  /// could, and when another instance goes on with the order.
  var storeTrouble: String? { state.withLock { $0.isLeaseLost ? nil : $0.storeTrouble } }
}
