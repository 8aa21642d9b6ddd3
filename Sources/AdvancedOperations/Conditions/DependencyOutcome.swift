import CoreOperations

extension Operation {
  /// How the operation ended, as conditions about dependencies see it; nil until it has finished.
  ///
  /// A plain operation has no outcome of its own: it counts as cancelled or succeeded.
  final var outcomeOfDependency: OperationOutcome? {
    guard isFinished else { return nil }
    if let advanced = self as? AdvancedOperation { return advanced.outcome }
    guard isCancelled else { return .succeeded }
    let reason = cancellationReason.map { OperationFailure.Element(origin: .cancel, error: $0) }
    return .cancelled(OperationFailure(elements: reason.map { [$0] } ?? []))
  }
}

extension OperationFailure.Element {
  /// What went wrong with a dependency, as an error of an operation that depends on it.
  static func inherited(_ error: any Error, from dependency: Operation) -> Self {
    Self(origin: .dependency(dependency.label), error: error, isInherited: true)
  }
}

extension OperationFailure {
  /// The names of the dependencies whose failures the elements are.
  var dependencyNames: [String] {
    elements.compactMap { element in
      if case .dependency(let name) = element.origin { name } else { nil }
    }
  }
}
