import AdvancedOperations
import CoreOperations

/// Tells a simulation what becomes of operations.
final class SimulationTracer: OperationTracer {
  let simulation: Simulation

  init(simulation: Simulation) { self.simulation = simulation }

  func operation(_ operation: AdvancedOperation, entered state: AdvancedOperation.State) {
    let outcome = state == .finished ? (operation.outcome.map { ", \($0.word)" } ?? "") : ""
    let label = operation.label
    let begunKey = state == .executing ? operation.journalKey : nil
    simulation.withState { simulation in
      let name = simulation.names.record(of: operation, label: label).name
      simulation.note("\(name): \(state)\(outcome)")
      if let begunKey { simulation.begunKeys.insert(begunKey) }
    }
    simulation.entered(state, operation)
  }

  func operationWillEnqueue(_ operation: AdvancedOperation) { simulation.willEnqueue(operation) }

  func delayOfBody(of operation: AdvancedOperation) -> Duration? {
    simulation.delayOfBody(of: operation)
  }

  func operationBecomesIdle(
    _ operation: AdvancedOperation,
    _ giveBack: @escaping @Sendable () -> Void
  ) {
    // What a test does from outside has happened when the call returns.
    guard StepContext.isStep(of: simulation) else { return giveBack() }
    let label = operation.label
    simulation.withState { simulation in
      let subject = simulation.names.record(of: operation, label: label).subject
      simulation.append(
        .init(
          work: .work(giveBack),
          name: "quiet of \(subject.name)",
          subject: subject,
          identity: Fingerprint(.becomeIdle, of: subject.number)
        )
      )
    }
  }
}

extension Simulation {
  /// The simulation that an operation is in.
  static func of(_ operation: AdvancedOperation) -> Simulation? {
    (operation.environment.tracer as? SimulationTracer)?.simulation
  }

  /// What is known of an operation.
  func record(of operation: Operation) -> WatchedOperation {
    let label = operation.label
    return withState { $0.names.record(of: operation, label: label) }
  }
}
