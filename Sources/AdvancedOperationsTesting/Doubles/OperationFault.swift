import AdvancedOperations
import CoreOperations

/// What is made to go wrong in an operation.
///
/// ```swift
/// try simulation.inject(.error(Offline()), into: "download", at: .executing)
/// try simulation.inject(.delay(.seconds(90)), into: "parse", at: .evaluatingConditions)
/// try simulation.inject(.cancel, into: "store", at: .executing)
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
