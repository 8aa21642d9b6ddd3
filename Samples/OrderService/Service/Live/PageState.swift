import AdvancedOperations
import OrderWorkflow
import ServiceSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the operators' page shows at one moment.
struct PageState: Encodable, Equatable, Sendable {
  /// A step of an order.
  struct Step: Encodable, Equatable, Sendable {
    var name: String
    /// `waiting`, `executing`, `retrying`, `done`, `failed`, `undone` or `not run`.
    var state: String
    /// The number of the attempt, from the second on.
    var attempt: Int?
  }

  /// An order.
  struct Row: Encodable, Equatable, Sendable {
    var id: String
    var customer: String
    var items: String
    var state: String
    var accepted: Date
    var steps: [Step]
    /// What it waits for, or why it came to nothing.
    var why: String?
    /// Whether it goes on, and can be cancelled.
    var isOpen: Bool
    var holder: String?
  }

  /// How many orders are open, and how many of those that were open here have ended how.
  struct Counts: Encodable, Equatable, Sendable {
    var open = 0
    var confirmed = 0
    var failed = 0
    var cancelled = 0
  }

  var rows: [Row] = []
  var counts = Counts()
  /// What the queue does, and what is at the root of waits: a line each.
  var explanation: [String] = []
  /// `closed`, `open` or `half open`.
  var breaker = "closed"
  var isDraining = false

  /// The number of the latest orders on the page, and of those before them whose money isn't settled.
  static let rowLimit = 40
}

extension PageState {
  /// Looks at a desk.
  ///
  /// - Parameters:
  ///   - desk: The desk.
  ///   - counts: The orders that have ended.
  ///   - explanation: What the queue waits for, in lines.
  /// - Throws: An error of the store.
  init(of desk: OrderDesk, counts: Counts, explanation: String) async throws {
    // However old they are: money that isn't settled is what operators look for.
    let unsettled = try await desk.unsettledOrders(limit: Self.rowLimit)
    let known = Set(unsettled.map(\.id))
    let latest = try await desk.orders(limit: Self.rowLimit).filter { !known.contains($0.id) }
    rows = (unsettled + latest).map { order in
      Row(order, desk.operation(of: order.id), desk.latestRetries(of: order.id))
    }
    self.counts = counts
    self.counts.open = desk.openCount
    self.explanation = explanation.split(separator: "\n")
      .map { line in String(line.drop { $0 == " " }) }
    breaker = desk.breaker.state.name
    isDraining = desk.isDraining
  }
}

extension PageState.Row {
  init(_ order: Order, _ operation: GroupOperation?, _ retries: [String: OrderRetry] = [:]) {
    id = order.id.rawValue
    customer = order.draft.customer
    items = order.draft.lines.map { "\($0.quantity) × \($0.sku)" }.joined(separator: ", ")
    state = order.state.name
    accepted = order.acceptedAt
    holder = order.holder
    let names =
      [OrderStep.validate.key]
      + order.draft.lines.map { OrderStep.reserve(sku: $0.sku).key }
      + [OrderStep.charge, .ship, .confirm].map(\.key)
    let operations = Dictionary(
      (operation?.children ?? []).compactMap { $0 as? AdvancedOperation }
        .map { ($0.name ?? "", $0) },
      uniquingKeysWith: { first, _ in first }
    )
    let records = Dictionary(order.steps.map { ($0.key, $0.state) }) { _, last in last }
    steps = names.map { name in
      PageState.Step(
        name,
        records[name],
        operations[name],
        retries[name]?.attempt ?? 1,
        order.state,
        failed: order.state.failure?.step
      )
    }
    // One that goes on elsewhere can be cancelled here, too.
    let goesOn = operation?.isFinished == false || order.holder != nil
    isOpen = !order.state.isFinal && goesOn && order.cancelReason == nil
    why = order.state.failure?.reason
    if case .rollingBack = order.state,
      let retry = retries.values.max(by: { $0.attempt < $1.attempt })
    {
      why = [why.map { "\($0.withoutFullStop)." }, retry.text].compactMap { $0 }.joined(
        separator: " "
      )
    }
    if goesOn, why == nil, let operation, let cause = operation.explain().rootCauses.first {
      why = cause.description
    }
  }
}

extension PageState.Step {
  init(
    _ name: String,
    _ record: StepRecord.State?,
    _ operation: AdvancedOperation?,
    _ attempt: Int,
    _ order: Order.State,
    failed: String?
  ) {
    self.name = name
    if attempt > 1, operation?.isFinished == false { self.attempt = attempt }
    state =
      switch record {
      case .undone: "undone"
      case _ where failed == name: "failed"
      case .done: "done"
      case _ where order == .confirmed: "done"
      case _ where order != .open: "not run"
      case .begun, nil:
        operation?.isExecuting == true ? (attempt > 1 ? "retrying" : "executing") : "waiting"
      }
  }
}
