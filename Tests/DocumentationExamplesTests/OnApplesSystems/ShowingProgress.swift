#if canImport(SwiftUI)
import AdvancedOperations
import Observation
import SwiftUI

@MainActor @Observable
final class OperationRow: Identifiable {
  enum Phase: String { case waiting, running, retrying, done, skipped, cancelled, failed }
  let name: String
  private(set) var phase = Phase.waiting
  private(set) var fraction = 0.0

  init(_ operation: AdvancedOperation) {
    name = operation.name ?? "operation"
    // Read `events` before the operation is added, because earlier events aren't repeated.
    let events = operation.events
    Task { for await event in events { receive(event) } }
  }

  private func receive(_ event: OperationEvent) {
    switch event {
    case .started: phase = .running
    case .progress(let update): fraction = update.fractionCompleted
    case .retrying: phase = .retrying
    case .finished(.succeeded): (phase, fraction) = (.done, 1)
    case .finished(.skipped): phase = .skipped
    case .finished(.cancelled): phase = .cancelled
    case .finished(.failed): phase = .failed
    default: break
    }
  }
}

@MainActor @Observable
final class GroupModel {
  private(set) var rows: [OperationRow] = []
  private var group: GroupOperation?

  func start(_ makeGroup: () -> GroupOperation, in queue: AdvancedOperationQueue) {
    if let group, !group.isFinished { return }
    let group = makeGroup()
    let operations = [group] + group.children.compactMap { $0 as? AdvancedOperation }
    rows = operations.map { OperationRow($0) }
    self.group = group
    queue.addOperation(group)
  }

  func cancel() { group?.cancel() }
}

struct GroupView: View {
  let model: GroupModel
  var body: some View {
    List(model.rows) { row in
      VStack(alignment: .leading) {
        Text(row.name)
        ProgressView(value: row.fraction)
        Text(LocalizedStringKey(row.phase.rawValue))
      }
    }
  }
}
#endif
