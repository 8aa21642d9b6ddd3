public import AdvancedOperations
import CoreOperations

/// What is made to go wrong in an operation.
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
  /// An error: of a condition when injected at `evaluatingConditions`, of the body, which isn't
  /// entered, when injected at `executing`.
  case error(any Error)
  /// A time that passes before the operation goes on.
  ///
  /// Injected at `pending`, it passes before the dependencies are seen as finished; otherwise while
  /// a condition is evaluated, or before the body is entered.
  case delay(Duration)
  /// A cancel at the moment at which the operation enters the state; its end isn't decided then.
  case cancel
}

/// An operation that a fault is meant for; the fault doesn't keep it alive.
struct FaultTarget {
  weak var operation: AdvancedOperation?
}

/// A fault and where it belongs.
struct Fault: Sendable {
  let fault: OperationFault
  let name: String
  let state: AdvancedOperation.State
  /// Whether an operation of the name has come to where the fault belongs.
  var hasMetOperation = false
  /// Whether it has changed what became of one.
  var hasHappened = false
}

extension SimulatedEnvironment {
  /// Makes something go wrong in all operations of a name, when they enter a state.
  ///
  /// Call it before the operations are added: one that is in its queue already may be past the
  /// fault. A name that no operation has injects nothing, and a fault may come to an operation that
  /// it can't change any more; ``expectFaultsHappened(in:fileID:line:)`` notices both.
  ///
  /// ```swift
  /// try simulation.inject(.error(Offline()), into: "download", at: .executing)
  /// queue.addOperations([download, parse])
  /// simulation.run()
  /// try expectOutcome(of: parse, is: .failed)
  /// ```
  ///
  /// At `ready` a fault meets each operation whose dependencies have finished and whose conditions
  /// hold, whether or not something keeps it waiting there, such as a claim, the limit of its queue
  /// or a suspension. It does so when the step has ended that has made the operation ready; for one
  /// that is ready when it is added, before the next step.
  ///
  /// - Parameters:
  ///   - fault: What goes wrong.
  ///   - name: The name of the operations.
  ///   - state: The state in which it does.
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  /// - Throws: ``ExpectationFailure`` if the state has no such fault. An error has a place in
  ///   `evaluatingConditions` and `executing`, a delay in these and in `pending`, and a cancel
  ///   in every state before `finishing`: then the end is decided, and a cancel is ignored.
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
