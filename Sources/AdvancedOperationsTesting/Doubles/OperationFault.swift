public import AdvancedOperations
import CoreOperations

/// What is made to go wrong in an operation.
///
/// ```swift
/// simulation.inject(.error(Offline()), into: "download", at: .executing)
/// simulation.inject(.delay(.seconds(90)), into: "parse", at: .evaluatingConditions)
/// simulation.inject(.cancel, into: "store", at: .finishing)
/// ```
public enum OperationFault: Sendable {
  /// An error: of a condition when injected at `evaluatingConditions`, of the body, which isn't
  /// entered, when injected at `executing`.
  case error(any Error)
  /// A time that passes before the operation goes on.
  ///
  /// Injected at `pending`, it passes before the dependencies are seen as finished; otherwise while
  /// a condition is evaluated, or before the body is entered.
  case delay(Duration)
  /// A cancel at the moment at which the operation enters the state.
  case cancel
}

extension SimulatedEnvironment {
  /// Makes something go wrong in all operations of a name, when they enter a state.
  ///
  /// ```swift
  /// simulation.inject(.error(Offline()), into: "download", at: .executing)
  /// queue.addOperations([download, parse])
  /// simulation.run()
  /// try expectOutcome(of: parse, is: .failed)
  /// ```
  ///
  /// - Parameters:
  ///   - fault: What goes wrong.
  ///   - name: The name of the operations.
  ///   - state: The state in which it does.
  /// - Precondition: Called before the operations are added. An error has a place in
  ///   `evaluatingConditions` and `executing`, a delay in these and in `pending`, and a cancel
  ///   everywhere; an operation that nothing keeps waiting may enter `executing` without having
  ///   been seen in `ready`.
  public func inject(
    _ fault: OperationFault,
    into name: String,
    at state: AdvancedOperation.State
  ) {
    switch (fault, state) {
    case (.error, .evaluatingConditions), (.error, .executing), (.delay, .pending),
      (.delay, .evaluatingConditions), (.delay, .executing), (.cancel, _):
      simulation.withState { simulation in
        simulation.faults.append(Fault(fault: fault, name: name, state: state))
      }
    case (.error, _), (.delay, _):
      trap(
        "inject(_:into:at:) was called with a fault that has no place in the state \(state). "
          + "Inject errors at evaluatingConditions or executing, delays there or at pending."
      )
    }
  }
}

/// A fault and where it belongs.
struct Fault: Sendable {
  let fault: OperationFault
  let name: String
  let state: AdvancedOperation.State
}

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
