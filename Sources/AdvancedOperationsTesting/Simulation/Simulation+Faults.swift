import AdvancedOperations
import CoreOperations

/// A condition that fails with an injected error, or that takes an injected time.
struct FaultCondition: OperationCondition {
  let injected: InjectedFault
  let simulation: Simulation

  var name: String { "fault" }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    switch injected.fault {
    case .error(let error):
      noteEffect(on: operation)
      return .failed(error)
    // With this condition, the operation enters evaluatingConditions, where the fault cancels it.
    case .cancel: return .satisfied
    case .delay(let duration):
      noteEffect(on: operation)
      let clock = operation.environment.clock
      do {
        try await clock.sleep(until: clock.now.saturatingAdding(duration))
        return .satisfied
      } catch {
        return .failed(error)
      }
    }
  }

  private func noteEffect(on operation: AdvancedOperation) {
    if !operation.isCancelled { simulation.faultHappened(injected) }
  }
}

/// A fault that has met an operation.
struct InjectedFault: Sendable {
  let fault: OperationFault
  /// The index of the fault among the faults of the simulation.
  let index: Int
}

extension Simulation {
  /// Returns the faults that meet an operation at a state.
  private func faults(
    of operation: AdvancedOperation,
    at state: AdvancedOperation.State
  ) -> [InjectedFault] {
    if withState({ $0.faults.isEmpty }) { return [] }
    let name = operation.name
    return withState { simulation in
      simulation.faults.indices.compactMap { index -> InjectedFault? in
        let fault = simulation.faults[index]
        guard fault.state == state, fault.name == name else { return nil }
        simulation.faults[index].hasMetOperation = true
        return InjectedFault(fault: fault.fault, index: index)
      }
    }
  }

  /// Notes that a fault has changed the course of an operation.
  func faultHappened(_ injected: InjectedFault) {
    withState { $0.faults[injected.index].hasHappened = true }
  }

  /// Sentences about the injected faults that have not happened; nil if all have happened.
  var sentenceAboutFaults: String? {
    let open = withState { $0.faults.filter { !$0.hasHappened } }
    func list(_ faults: [Fault]) -> String {
      faults.map { "the fault into “\($0.name)” at \($0.state)" }.joined(separator: ", ")
    }
    var sentences: [String] = []
    let missed = open.filter { !$0.hasMetOperation }
    if !missed.isEmpty {
      sentences.append(
        "Injected faults have met no operation: \(list(missed)). Inject them before the "
          + "operation is added, and with its name. Or the operation has not reached the state."
      )
    }
    let idle = open.filter(\.hasMetOperation)
    if !idle.isEmpty {
      sentences.append(
        "Injected faults have met an operation and have changed nothing: \(list(idle)). The "
          + "operation was cancelled before, its conditions were not evaluated (as when its value "
          + "comes from its journal), or another fault happened first."
      )
    }
    return sentences.isEmpty ? nil : sentences.joined(separator: " ")
  }

  func willEnqueue(_ operation: AdvancedOperation) {
    let name = operation.name
    withState { state in
      state.names.willEnqueue(operation)
      if state.faults.contains(where: { $0.state == .ready && $0.name == name }) {
        state.targetsAtReady.append(FaultTarget(operation: operation))
      }
    }
    for injected in faults(of: operation, at: .evaluatingConditions) {
      operation.addCondition(FaultCondition(injected: injected, simulation: self))
    }
    for injected in faults(of: operation, at: .pending) {
      guard case .delay(let duration) = injected.fault, !operation.isCancelled else { continue }
      faultHappened(injected)
      let delay = HeldOperation(name: "delay of \(operation.label)")
      operation.addDependency(delay)
      delay.start()
      schedule(at: now.saturatingAdding(duration), OperationTimer { delay.release() })
    }
  }

  func entered(_ state: AdvancedOperation.State, _ operation: AdvancedOperation) {
    for injected in faults(of: operation, at: state) {
      switch (injected.fault, state) {
      case (.cancel, _):
        let wasCancelled = operation.isCancelled
        operation.cancel()
        if !wasCancelled, operation.isCancelled { faultHappened(injected) }
      case (.error(let error), .executing):
        guard operation.state == .executing else { break }
        operation.finish(withError: error)
        faultHappened(injected)
      case (.error, _), (.delay, _): break
      }
    }
  }

  /// Applies the faults at ready to the operations that have become ready since the last call.
  ///
  /// When the last dependency of an operation without conditions finishes, the operation's `state`
  /// is ready, but the tracer isn't called. Each start is a separate step. Therefore a call before
  /// each step finds all operations that have become ready.
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
      // A cancelled operation has entered the state, so the fault has met it already.
      case .ready where !operation.isCancelled:
        let subject = record(of: operation).subject
        StepContext.run(in: self, subject: subject) { entered(.ready, operation) }
      case .ready, .executing, .finishing, .finished: break
      }
    }
    withState { $0.targetsAtReady += left }
  }

  func delayOfBody(of operation: AdvancedOperation) -> Duration? {
    var longest: Duration?
    for injected in faults(of: operation, at: .executing) {
      guard case .delay(let duration) = injected.fault else { continue }
      faultHappened(injected)
      longest = max(longest ?? duration, duration)
    }
    return longest
  }
}
