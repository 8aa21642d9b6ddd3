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
    if withState({ $0.faults.isEmpty }) { return [] }
    let name = operation.name
    return withState { simulation in
      simulation.faults.indices.compactMap { index -> OperationFault? in
        let fault = simulation.faults[index]
        guard fault.state == state, fault.name == name else { return nil }
        simulation.faults[index].hasMetOperation = true
        return fault.fault
      }
    }
  }

  /// What has to be said of faults that were injected and have met no operation; nil when all have.
  var sentenceAboutFaults: String? {
    let missed = withState { $0.faults.filter { !$0.hasMetOperation } }
    if missed.isEmpty { return nil }
    let list = missed.map { "the one into “\($0.name)” at \($0.state)" }.joined(separator: ", ")
    return "Injected faults have met no operation: \(list). Inject before the operation is added, "
      + "and with the name that it has; it may also not have come to that state."
  }

  func willEnqueue(_ operation: AdvancedOperation) {
    let name = operation.name
    withState { state in
      if state.faults.contains(where: { $0.state == .ready && $0.name == name }) {
        state.targetsAtReady.append(FaultTarget(operation: operation))
      }
    }
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

  /// Lets the faults at ready happen to the operations that have become so since the last look.
  ///
  /// An operation without conditions enters no state when its last dependency ends, so that the
  /// tracer isn't called: its `state` is ready from then on. Each start is a step of its own, so
  /// that a look before each step sees all of them.
  func lookForReady() {
    let targets = withState { state in
      if state.targetsAtReady.isEmpty { return [FaultTarget]() }
      return exchange(&state.targetsAtReady, with: [])
    }
    if targets.isEmpty { return }
    var left: [FaultTarget] = []
    for target in targets {
      guard let operation = target.operation else { continue }
      switch operation.state {
      case .pending, .evaluatingConditions: left.append(target)
      // A cancel enters the state, and the fault has met the operation there.
      case .ready where !operation.isCancelled:
        let subject = record(of: operation).name
        StepContext.run(in: self, subject: subject) { entered(.ready, operation) }
      case .ready, .executing, .finishing, .finished: break
      }
    }
    withState { $0.targetsAtReady += left }
  }

  func delayOfBody(of operation: AdvancedOperation) -> Duration? {
    for case .delay(let duration) in faults(of: operation, at: .executing) { return duration }
    return nil
  }
}
