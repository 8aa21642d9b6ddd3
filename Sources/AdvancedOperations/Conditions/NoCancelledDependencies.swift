import CoreOperations

/// Holds when none of the operation's dependencies was cancelled.
///
/// ```swift
/// store.addDependency(parse)
/// store.addCondition(NoCancelledDependencies())
/// ```
///
/// The error keeps the reasons of the cancels, so ``OperationFailure/first(_:)`` and
/// ``OperationFailure/rootCauses`` of the operation's own failure find them.
public struct NoCancelledDependencies: ImmediateCondition {
  /// Some dependencies were cancelled.
  public struct DependenciesCancelled: Error, InheritedFailure, CustomStringConvertible {
    /// Why: one inherited element per cancelled dependency, in the order in which they were added.
    public var failure: OperationFailure
    /// The names of the cancelled dependencies, in the order in which they were added.
    public var names: [String] { failure.dependencyNames }

    /// Creates the error.
    ///
    /// - Parameter failure: One element per dependency, with the origin
    ///   ``OperationFailure/Origin/dependency(_:)``.
    public init(failure: OperationFailure) { self.failure = failure }

    /// One sentence with the names.
    public var description: String {
      "It depends on what was cancelled: \(names.joined(separator: ", "))."
    }
  }

  /// Creates the condition.
  public init() {}

  /// “no cancelled dependencies”.
  public var name: String { "no cancelled dependencies" }

  /// Reads whether the dependencies were cancelled, plain operations included.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    let cancelled = operation.dependencies.filter(\.isCancelled).map { dependency in
      OperationFailure.Element.inherited(
        dependency.outcomeOfDependency?.failure ?? OperationFailure(elements: []),
        from: dependency
      )
    }
    if cancelled.isEmpty { return .satisfied }
    return .failed(DependenciesCancelled(failure: OperationFailure(elements: cancelled)))
  }
}
