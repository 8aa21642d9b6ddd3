import CoreOperations

/// Keeps account of who holds which claim and who waits for it.
///
/// One is shared by all environments unless they are given another, in which nothing is held:
///
/// ```swift
/// let tenant = OperationEnvironment(exclusivity: ExclusivityDomain())
/// let queue = AdvancedOperationQueue(environment: tenant)
/// ```
///
/// Waiters have an identity: cancelling one frees nobody else's place. A claim that becomes free goes
/// to the first waiter all of whose claims are free and whose queue can start it at that moment; one
/// whose queue can't keeps its turn there, and tries again when that comes.
///
/// - Complexity: Taking and giving back O(c), c the number of claims, and O(w) more for those of the
///   first w waiters that can't start.
public final class ExclusivityDomain: Sendable {
  /// The domain of environments that were given none.
  public static let shared = ExclusivityDomain()

  private let state = Locked(ExclusivityState())

  /// Creates a domain in which nothing is held.
  public init() {}

  /// What became of an attempt to take all claims of an operation.
  package enum Decision {
    case granted
    /// Somebody has given back one of them since the operation's conditions were asked, and may have
    /// changed what they look at: ask again. It is in line, as one that was offered.
    case outdated
    /// In line; those are to be cancelled first.
    case wait(cancelling: [AdvancedOperation])
    /// Not taken, because these hold what is claimed.
    case refused(claim: String, holders: [AdvancedOperation])
    case skipped(claim: String, holders: [AdvancedOperation])
  }

  /// Takes all claims or none.
  ///
  /// Called with a slot for the operation in hand.
  ///
  /// - Parameters:
  ///   - claims: What the operation claims.
  ///   - operation: Who claims it.
  ///   - needsReview: Whether the operation has to be asked before it is offered again.
  ///   - isByHand: Whether the operation is in no queue and needs no slot.
  /// - Returns: What became of the attempt.
  package func take(
    _ claims: [any OperationClaim],
    for operation: AdvancedOperation,
    needsReview: Bool,
    isByHand: Bool
  ) -> Decision {
    let named = claims.map { (name: $0.name, request: $0.request) }
    return state.withLock { state in
      state.takeCalled(named, for: operation, needsReview: needsReview, isByHand: isByHand)
    }
  }

  /// The immediate conditions of an operation are about to be asked.
  package func conditionsAsked(_ claims: [any OperationClaim], for operation: AdvancedOperation) {
    let keys = claims.map(\.request.key)
    state.withLock { $0.conditionsAsked(keys, for: operation) }
  }

  /// Gives back what a quiet operation holds, and offers it to those who wait.
  package func release(_ operation: AdvancedOperation) {
    perform(state.withLock { $0.releaseCalled(operation) })
  }

  /// Takes an operation out of the line.
  package func withdraw(_ operation: AdvancedOperation) {
    let waiter = state.withLock { state in
      state.forgetQuestion(of: operation)
      return state.withdrawn(operation)
    }
    withExtendedLifetime(waiter) {}
  }

  private func perform(_ offers: [ExclusivityState.Offer]) {
    for offer in offers {
      switch offer {
      case .slotReserved(let operation): operation.wakeQueue()
      case .tryAgain(let operation, let afterReview): operation.reoffer(afterReview: afterReview)
      case .reviewByHand(let operation):
        operation.environment.enqueue { operation.reviewByHand() }
      case .runByHand(let operation):
        operation.environment.enqueue { operation.takeTurnByHand() }
      }
    }
  }
}
