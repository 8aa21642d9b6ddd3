import CoreOperations

/// A condition that may know its answer while the operation still waits for dependencies.
protocol EarlyCondition: OperationCondition {
  /// The answer, if it is known already.
  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult?

  /// Whether it may refuse because of a dependency that has ended; if not, it isn't asked then.
  func mayRefuse(because dependency: Operation) -> Bool
}

extension EarlyCondition {
  func mayRefuse(because dependency: Operation) -> Bool { true }
}

extension OperationCondition {
  /// Whether it, or a part of it, may know its answer early.
  var mayBeEarly: Bool {
    compoundParts?.mayBeEarly ?? (self is any EarlyCondition)
  }

  /// The answer if it is known while dependencies are open.
  func knownEarly(for operation: AdvancedOperation) -> OperationConditionResult? {
    (self as? any EarlyCondition)?.earlyVerdict(for: operation)
  }
}
