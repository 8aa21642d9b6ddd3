package import CoreOperations

/// Keeps account of which operations hold which claims, and which wait for them.
///
/// One is shared by all environments unless they are given another, in which nothing is held:
///
/// ```swift
/// let tenant = OperationEnvironment(exclusivity: ExclusivityDomain())
/// let queue = AdvancedOperationQueue(environment: tenant)
/// ```
///
/// **Fairness.** First come, first served:
///
/// - What becomes free goes to the first operation in line for it.
/// - That operation gets it as soon as all else that it claims is free too, and its queue can start
///   it at that moment.
/// - An operation that its queue can't start at that moment (suspended, or no slot is free) lets
///   others pass. It tries again when its turn in the queue has come, and then stands in line where
///   it stood.
/// - An operation with several claims waits in one line at a time, and holds none of the claims
///   meanwhile. Operations that need only its other claims may overtake it.
/// - A cancelled operation leaves its line. The places of all others stay as they are.
///
/// - Complexity: Taking and giving back O(c), c the number of claims; in addition, O(c) for each
///   waiter that a release concerns. A waiter that comes back to a line, because its queue could
///   not start it or it waited for another claim first, adds O(log w), w the number of waiters
///   there; amortised. For children, c counts each claim once more for each group around them, and
///   log w comes once more for each of these that holds some of the same.
public final class ExclusivityDomain: Sendable {
  /// The domain of environments that were given none.
  public static let shared = ExclusivityDomain()

  private let ledger = Locked(ClaimLedger())
  private let sink = Locked<StoredClosure<ClaimEvent.Sink>?>(nil)

  /// Creates a domain in which nothing is held.
  public init() {}

  /// A pool of this domain has another capacity: looks again at what waits.
  func capacityChanged(of pool: ResourcePool) { update { $0.capacityChanged(of: pool, &$1) } }

  // MARK: What operations call

  /// Takes all claims or none.
  ///
  /// Called with a slot for the operation in hand.
  ///
  /// - Parameters:
  ///   - demands: What the operation claims.
  ///   - operation: Who claims it.
  ///   - groups: Around the operation, the innermost first.
  ///   - alwaysWaits: Whether it waits for what is busy, whatever its claims say.
  /// - Returns: What became of the attempt.
  func take(
    _ demands: [ClaimDemand],
    for operation: any ClaimHolder,
    inside groups: [ObjectNumber],
    alwaysWaits: Bool = false
  ) -> ClaimLedger.Decision {
    let time = time(of: demands, for: operation)
    let attempt = ClaimLedger.Attempt(
      operation: operation,
      demands: demands,
      terms: Claimant.Terms(
        groups: groups,
        clock: time?.clock,
        alwaysWaits: alwaysWaits
      ),
      time: time
    )
    return update { $0.takeCalled(attempt, &$1) }
  }

  private func time(
    of demands: [ClaimDemand],
    for operation: any ClaimHolder
  ) -> ClaimLedger.Time? {
    if !demands.contains(where: \.isRate) { return nil }
    let clock = operation.clock
    return ClaimLedger.Time(clock: clock, now: clock.now)
  }

  /// Gives back what a quiet operation holds, and offers it to operations that wait.
  package func release(_ operation: any LayeredOperation) {
    update { $0.releaseCalled(operation, &$1) }
  }

  /// Forgets all operations, because nothing will run them any more, and grants nothing.
  package func abandon() {
    let (operations, effects) = ledger.withLock { ledger in
      let operations = ledger.claimants.values.map(\.operation)
      var effects = ClaimEffects()
      for operation in operations { ledger.releaseCalled(operation, &effects) }
      return (operations, effects)
    }
    withExtendedLifetime((operations, effects)) {}
  }

  /// Gives back what an operation was given that doesn't start now, also the starts that rates
  /// count.
  func returnGrant(_ operation: any ClaimHolder) {
    let time = time(of: operation.claims, for: operation)
    update { $0.grantReturned(operation, time, &$1) }
  }

  /// Takes an operation that won't execute out of the line; what it was given it keeps until its
  /// end, besides the starts that rates count.
  func withdraw(_ operation: any ClaimHolder) {
    let time = time(of: operation.claims, for: operation)
    update { $0.withdrawCalled(operation, time, &$1) }
  }

  /// What an operation that waits for its claims waits for; nothing when it is about to try again.
  func waits(of operation: any ClaimHolder) -> [Wait] { look { $0.waits(of: operation) } }

  // MARK: Tracing

  /// How many resources there is an account of.
  package var resourceCount: Int { look { $0.resourceCount } }
  #if DEBUG
  /// How often was looked whether an operation may have a claim, to check what is promised about
  /// that.
  package var lookCount: Int { look { $0.lookCount } }
  #endif

  /// Tells of what happens to claims from now on, in the order in which it does as long as one
  /// thread at a time is here: what an operation tells its observers comes later, and in another
  /// order.
  package func trace(_ sink: @escaping ClaimEvent.Sink) {
    let old = self.sink.withLock { kept in
      defer { kept = StoredClosure(sink) }
      return kept
    }
    withExtendedLifetime(old) { ledger.withLock { $0.isTraced = true } }
  }

  // MARK: The account

  /// Reads the account.
  func look<Result>(_ body: (borrowing ClaimLedger) -> Result) -> Result {
    ledger.withLock { body($0) }
  }

  /// Changes the account, and then does what that leaves to do.
  func update<Result>(
    _ body: (inout ClaimLedger, inout ClaimEffects) -> Result
  ) -> Result {
    let (result, effects) = ledger.withLock { ledger in
      var effects = ClaimEffects()
      let result = body(&ledger, &effects)
      return (result, effects)
    }
    effects.forEach(perform)
    return result
  }

  private func perform(_ effect: ClaimEffect) {
    switch effect {
    case .slotReserved(let operation): operation.wakeQueue()
    case .reoffer(let operation): operation.reoffer()
    case .moved(let operation): operation.claimWaitMoved()
    case .setTimer(let key, let number, let deadline, let clock):
      let timer = clock.schedule(at: deadline) { [weak self] in
        let time = ClaimLedger.Time(clock: clock, now: clock.now)
        self?.update { $0.timerFired(of: key, number: number, time, &$1) }
      }
      let isWanted = look { $0.timerMade(timer, of: key, number: number) }
      if !isWanted { timer.cancel() }
    case .cancelTimer(let timer): timer.cancel()
    case .lookAtClock(let operation, let clock):
      let time = ClaimLedger.Time(clock: clock, now: clock.now)
      update { $0.timeCame(time, for: operation, &$1) }
    case .trace(let event, let operation): sink.withLock { $0 }?.call(event, operation)
    }
  }
}
