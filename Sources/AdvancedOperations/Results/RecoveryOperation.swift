import CoreOperations

/// Gives the value of another operation, or what a closure makes of its failure.
final class RecoveryOperation<Output: Sendable>: ResultOperation<Output>, @unchecked Sendable {
  // Sendable: all stored properties are immutable.
  private let own = OperationRounds()

  init(
    _ name: String?,
    of operation: ResultOperation<Output>,
    _ recover:
      @escaping @Sendable (OperationFailure, RecoveryOperation<Output>) async throws -> Output
  ) {
    super.init(name: name) {
      guard let result = operation.result else { throw RemovedDependency() }
      switch result {
      case .success(let output): return output
      case .failure(let failure):
        do { return try await recover(failure, .running()) } catch {
          if let error = error as? OperationSkipped { throw error }
          throw Self.failure(operation, failure, error)
        }
      }
    }
    run(childrenBy: own)
    receive(from: [operation], recovering: true)
    operation.withCore { $0.makeExtra().recovery = self }
  }

  /// The failure that was to be recovered from, and what went wrong with that.
  private static func failure(
    _ operation: Operation,
    _ failure: OperationFailure,
    _ error: any Error
  ) -> BodyFailure {
    let inherited = OperationFailure.Element.inherited(failure, from: operation)
    // Other failures are those of what the closure awaited.
    if let thrown = error as? OperationFailure, thrown.isSame(as: failure) {
      return BodyFailure(elements: [inherited])
    }
    let own = (error as? BodyFailure)?.elements ?? [.init(origin: .body, error: error)]
    return BodyFailure(elements: [inherited] + own)
  }

  /// Runs a fallback, and waits until all of it is quiet.
  final func run(_ made: MadeOperation<Output>) async throws -> Output {
    if own.isOver { throw BodyFailure(elements: []) }
    let failures = await own.run(made.operation, of: self).all
    guard failures.isEmpty, !isCancelled else {
      throw BodyFailure(elements: failures.inChild(made.operation))
    }
    return try made.value()
  }
}

extension AdvancedOperation {
  /// Whether another operation has succeeded in recovering from a failure of this one.
  final var isRecovered: Bool { withCore { $0.extra?.isRecovered == true } }

  /// Whether another operation may still recover from a failure of this one.
  final var awaitsRecovery: Bool {
    guard let recovery = withCore({ $0.extra?.recovery }) else { return false }
    // Before it has finished it is known whether it has.
    return recovery.withCore { $0.machine.state < .finished }
  }

  /// Whether an operation of the same group is going to recover from a failure of this one.
  final func awaitsRecovery(in group: GroupOperation) -> Bool {
    guard let recovery = withCore({ $0.extra?.recovery }) else { return false }
    return recovery.withCore { $0.machine.state < .finishing ? $0.extra?.group : nil } === group
  }
}
