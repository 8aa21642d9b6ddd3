public import AdvancedOperations
import CoreOperations

/// A fault that a test injects into an operation.
///
/// ```swift
/// try simulation.inject(.error(Offline()), into: "download", at: .executing)
/// try simulation.inject(.delay(.seconds(90)), into: "parse", at: .evaluatingConditions)
/// try simulation.inject(.cancel, into: "store", at: .executing)
/// ```
///
/// Later versions may add cases, so a `switch` needs an `@unknown default`.
@nonexhaustive
public enum OperationFault: Sendable {
  /// An error of a condition, or of the body.
  ///
  /// If the error is injected at `evaluatingConditions`, a condition fails with it. If it is
  /// injected at `executing`, the operation finishes with the error, and its body isn't entered.
  case error(any Error)
  /// A delay before the operation continues.
  ///
  /// At `pending`, the operation waits for the delay as for a dependency. At
  /// `evaluatingConditions`, the delay passes while a condition is evaluated. At `executing`, it
  /// passes before the body is entered.
  case delay(Duration)
  /// A cancel at the moment at which the operation enters the state, before its outcome is decided.
  case cancel
}

/// A weak reference to an operation into which a fault was injected.
struct FaultTarget {
  weak var operation: AdvancedOperation?
}

/// A fault, with the operation name and the state for which it was injected.
struct Fault: Sendable {
  let fault: OperationFault
  let name: String
  let state: AdvancedOperation.State
  /// Whether an operation of this name has reached the state of the fault.
  var hasMetOperation = false
  /// Whether the fault has changed the course of an operation.
  var hasHappened = false
}

extension SimulatedEnvironment {
  /// Injects a fault into all operations of a name, when they enter a state.
  ///
  /// Call this method before you add the operations, because an operation in its queue may have
  /// passed the state. If no operation has the name, nothing is injected. A fault may also happen
  /// too late to change an operation. ``expectFaultsHappened(in:fileID:line:)`` fails in both
  /// cases.
  ///
  /// ```swift
  /// try simulation.inject(.error(Offline()), into: "download", at: .executing)
  /// queue.addOperations([download, parse])
  /// simulation.run()
  /// try expectOutcome(of: parse, is: .failed)
  /// ```
  ///
  /// At `ready`, a fault happens to each operation whose dependencies have finished and whose
  /// conditions are satisfied. Such an operation may still wait for a claim, for a slot, or because
  /// its queue is suspended. The fault happens after the step in which the operation became ready.
  /// If the operation is ready when it is added, the fault happens before the next step.
  ///
  /// - Parameters:
  ///   - fault: The fault.
  ///   - name: The name of the operations.
  ///   - state: The state in which the fault happens.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Throws: ``ExpectationFailure`` if the fault can't happen in the state. An error can happen
  ///   in `evaluatingConditions` and `executing`. A delay can happen in these states and in
  ///   `pending`. A cancel can happen in every state before `finishing`, because a finishing
  ///   operation ignores a cancel.
  /// - Precondition: Called before the operations are added.
  public func inject(
    _ fault: OperationFault,
    into name: String,
    at state: AdvancedOperation.State,
    fileID: String = #fileID,
    line: Int = #line
  ) throws {
    switch (fault, state) {
    case (.error, .evaluatingConditions), (.error, .executing), (.delay, .pending),
      (.delay, .evaluatingConditions), (.delay, .executing), (.cancel, .pending),
      (.cancel, .evaluatingConditions), (.cancel, .ready), (.cancel, .executing):
      simulation.withState { simulation in
        simulation.faults.append(Fault(fault: fault, name: name, state: state))
      }
    case (.error, _), (.delay, _), (.cancel, _):
      throw ExpectationFailure(
        "inject(_:into:at:) was called with \(fault.noun), which can't be injected at \(state). "
          + "\(fault.advice)",
        seed: seed,
        fileID: fileID,
        line: line
      )
    }
  }
}

extension OperationFault {
  fileprivate var noun: String {
    switch self {
    case .error: "an error"
    case .delay: "a delay"
    case .cancel: "a cancel"
    }
  }

  fileprivate var advice: String {
    switch self {
    case .error: "Inject errors at evaluatingConditions or executing."
    case .delay: "Inject delays at pending, evaluatingConditions or executing."
    case .cancel:
      "Inject cancels at pending, evaluatingConditions, ready or executing: the end of a finishing "
        + "operation is decided."
    }
  }
}
