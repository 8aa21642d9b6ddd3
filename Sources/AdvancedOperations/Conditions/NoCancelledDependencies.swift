import CoreOperations

/// Holds when none of the operation's dependencies was cancelled.
///
/// ```swift
/// store.addDependency(parse)
/// store.addCondition(NoCancelledDependencies())
/// ```
public struct NoCancelledDependencies: ImmediateCondition {
  /// Some dependencies were cancelled.
  public struct DependenciesCancelled: Error, InheritedFailure, CustomStringConvertible {
    /// The names of the cancelled dependencies, in the order in which they were added.
    public var names: [String]
    /// Creates the error.
    public init(names: [String]) { self.names = names }
    /// One sentence with the names.
    public var description: String {
      "It depends on what was cancelled: \(names.joined(separator: ", "))."
    }
  }

  /// Creates the condition.
  public init() {}

  /// “no cancelled dependencies”.
  public var name: String { "no cancelled dependencies" }

  /// Looks at whether the dependencies were cancelled, plain operations included.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    let cancelled = operation.dependencies.filter(\.isCancelled)
    if cancelled.isEmpty { return .satisfied }
    return .failed(DependenciesCancelled(names: cancelled.map(\.label)))
  }
}
