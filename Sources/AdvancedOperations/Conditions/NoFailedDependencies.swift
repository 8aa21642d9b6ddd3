/// Holds when none of the operation's dependencies failed.
///
/// Cancelled and skipped ones didn't fail; see ``NoCancelledDependencies``. Dependencies that are
/// plain operations never fail.
///
/// ```swift
/// store.addDependency(parse)
/// store.addCondition(NoFailedDependencies())
/// ```
public struct NoFailedDependencies: ImmediateCondition {
  /// Some dependencies failed.
  public struct DependenciesFailed: Error, InheritedFailure, CustomStringConvertible {
    /// The names of the failed dependencies, in the order in which they were added.
    public var names: [String]
    /// Creates the error.
    public init(names: [String]) { self.names = names }
    /// One sentence with the names.
    public var description: String {
      "It depends on what failed: \(names.joined(separator: ", "))."
    }
  }

  /// Creates the condition.
  public init() {}

  /// “no failed dependencies”.
  public var name: String { "no failed dependencies" }

  /// Looks at the outcomes of the dependencies.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    let failed = operation.dependencies.filter { dependency in
      switch (dependency as? AdvancedOperation)?.outcome {
      case .failed: true
      case .succeeded, .cancelled, .skipped, nil: false
      }
    }
    if failed.isEmpty { return .satisfied }
    return .failed(DependenciesFailed(names: failed.map(\.label)))
  }
}
