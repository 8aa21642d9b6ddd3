import AdvancedOperations
import CoreOperations

/// Fails, or takes its time.
struct FaultCondition: OperationCondition {
  let fault: OperationFault

  var name: String { "fault" }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    switch fault {
    case .error(let error): return .failed(error)
    case .cancel: return .satisfied
    case .delay(let duration):
      let clock = operation.environment.clock
      do {
        try await clock.sleep(until: clock.now.saturatingAdding(duration))
        return .satisfied
      } catch {
        return .failed(error)
      }
    }
  }
}

extension Simulation {
  private func faults(
    of operation: AdvancedOperation,
    at state: AdvancedOperation.State
  ) -> [OperationFault] {
    let faults = withState { $0.faults }
    if faults.isEmpty { return [] }
    let name = operation.name
    return faults.filter { $0.state == state && $0.name == name }.map(\.fault)
  }

  func willEnqueue(_ operation: AdvancedOperation) {
    for fault in faults(of: operation, at: .evaluatingConditions) {
      operation.addCondition(FaultCondition(fault: fault))
    }
    for case .delay(let duration) in faults(of: operation, at: .pending) {
      let delay = HeldOperation(name: "delay of \(operation.label)")
      operation.addDependency(delay)
      delay.start()
      schedule(at: now.saturatingAdding(duration), OperationTimer { delay.release() })
    }
  }

  func entered(_ state: AdvancedOperation.State, _ operation: AdvancedOperation) {
    for fault in faults(of: operation, at: state) {
      switch (fault, state) {
      case (.cancel, _): operation.cancel()
      case (.error(let error), .executing): operation.finish(withError: error)
      case (.error, _), (.delay, _): break
      }
    }
  }

  func delayOfBody(of operation: AdvancedOperation) -> Duration? {
    for case .delay(let duration) in faults(of: operation, at: .executing) { return duration }
    return nil
  }
}
