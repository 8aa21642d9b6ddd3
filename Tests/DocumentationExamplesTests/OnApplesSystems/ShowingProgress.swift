#if canImport(SwiftUI)
import AdvancedOperations
import Observation
import SwiftUI

@MainActor @Observable
final class OperationModel: Identifiable {
  let name: String
  private(set) var state = "waiting"
  private(set) var fraction = 0.0
  private let events: OperationEvents

  // `events` has only later events, so create the model before the operation is added.
  init(_ operation: AdvancedOperation) {
    name = operation.name ?? "operation"
    events = operation.events
  }

  func follow() async {
    for await event in events {
      switch event {
      case .started: state = "running"
      case .progress(let update): fraction = update.fractionCompleted
      case .retrying(let attempt, _, _): state = "attempt \(attempt)"
      case .finished(let outcome):
        state = outcome.description
        if outcome.isSuccess { fraction = 1 }
      default: break
      }
    }
  }
}

@MainActor @Observable
final class GroupModel {
  private(set) var rows: [OperationModel] = []

  func run(_ group: GroupOperation, in queue: AdvancedOperationQueue) async {
    let operations = [group] + group.children.compactMap { $0 as? AdvancedOperation }
    rows = operations.map { OperationModel($0) }
    await withTaskGroup { tasks in
      for row in rows { tasks.addTask { await row.follow() } }
      // The rows show a failure. A cancel of this task cancels the group of operations.
      try? await queue.run(group)
    }
  }
}

struct GroupView: View {
  let queue: AdvancedOperationQueue
  let makeGroup: () -> GroupOperation
  @State private var model = GroupModel()

  var body: some View {
    List(model.rows) { row in
      VStack(alignment: .leading) {
        Text(row.name)
        ProgressView(value: row.fraction)
        Text(row.state)
      }
    }
    .task { await model.run(makeGroup(), in: queue) }
  }
}
#endif
