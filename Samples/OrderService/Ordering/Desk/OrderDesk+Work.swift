import AdvancedOperations
import Synchronization

extension OrderDesk {
  func problems(of draft: OrderDraft) async throws -> [OrderProblem] {
    let known = Set(try await store.items().map(\.sku))
    let unknown = draft.lines.enumerated().compactMap { index, line in
      line.sku.isEmpty || known.contains(line.sku)
        ? nil : OrderProblem.unknownItem(line: index, sku: line.sku)
    }
    return draft.problems + unknown
  }

  /// Puts the operation of an order into the queue.
  func begin(_ order: Order) {
    let recorder = TimelineRecorder()
    let group = GroupOperation(name: "order \(order.id)", errorPolicy: .failFast) {
      ResultOperation(name: OrderStep.confirm.key) { [store] in try await store.confirm(order.id) }
    }
    group.addObserver(recorder)
    state.withLock { $0.runs[order.id] = DeskState.Run(group: group, recorder: recorder) }
    queue.addOperation(group)
  }
}
