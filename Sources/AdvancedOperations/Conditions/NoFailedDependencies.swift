import CoreOperations

/// Holds when none of the operation's dependencies failed.
///
/// Cancelled and skipped ones didn't fail; see ``NoCancelledDependencies``. Dependencies that are
/// plain operations never fail.
///
/// ```swift
/// store.addDependency(parse)
/// store.addCondition(NoFailedDependencies())
/// ```
///
/// The error keeps what went wrong with the dependencies, so ``OperationFailure/first(_:)`` and
/// ``OperationFailure/rootCauses`` of the operation's own failure find it.
public struct NoFailedDependencies: ImmediateCondition {
  /// Some dependencies failed.
  public struct DependenciesFailed: Error, InheritedFailure, CustomStringConvertible {
    /// What went wrong: one inherited element per failed dependency, in the order in which they
    /// were added.
    public var failure: OperationFailure
    /// The names of the failed dependencies, in the order in which they were added.
    public var names: [String] { failure.dependencyNames }

    /// Creates the error.
    ///
    /// - Parameter failure: One element per dependency, with the origin
    ///   ``OperationFailure/Origin/dependency(_:)``.
    public init(failure: OperationFailure) { self.failure = failure }

    /// One sentence with the names.
    public var description: String {
      "It depends on what failed: \(names.joined(separator: ", "))."
    }
  }

  /// Creates the condition.
  public init() {}

  /// “no failed dependencies”.
  public var name: String { "no failed dependencies" }

  /// Reads the outcomes of the dependencies.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    let failed = operation.dependencies.compactMap { dependency in
      if case .failed(let failure) = (dependency as? AdvancedOperation)?.outcome {
        OperationFailure.Element.inherited(failure, from: dependency)
      } else {
        nil
      }
    }
    if failed.isEmpty { return .satisfied }
    return .failed(DependenciesFailed(failure: OperationFailure(elements: failed)))
  }
}
