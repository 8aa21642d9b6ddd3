package import CoreOperations

/// An event in the book of a domain.
package enum ClaimEvent: Sendable {
  /// The operation has begun to wait. The event is recorded once.
  case waits
  /// The operation has acquired all its claims.
  case taken
  case givenBack

  package typealias Sink = @Sendable (ClaimEvent, Operation) -> Void
}

/// An object that records the operations that hold claims and the operations that wait for claims.
///
/// All environments share one domain by default. Operations of another domain don't compete with the
/// operations of the shared domain:
///
/// ```swift
/// let tenant = OperationEnvironment(claimDomain: ClaimDomain())
/// let queue = AdvancedOperationQueue(environment: tenant)
/// ```
///
/// **Fairness.** Claims are granted in FIFO order:
///
/// - A released resource goes to the first operation that waits for it.
/// - The operation acquires the resource as soon as all its other claims are free, too, and its queue can
///   start it at that moment.
/// - An operation whose queue is suspended or has no free slot lets other operations overtake it. The
///   operation tries again when its queue can start it, and then waits at its old place.
/// - An operation with several claims waits for one of them at a time, and holds none of the claims
///   in the meantime. Operations that need only its other claims may overtake it.
/// - A cancelled operation leaves the waiters. The other operations keep their places.
///
/// - Complexity: Acquiring and releasing take O(c), where c is the number of claims. Each waiter that a
///   release concerns takes O(c + log w) in addition, where w is the number of waiters for the same resource.
///   For a child, c counts each claim once more for each group around the child.
public final class ClaimDomain: Sendable {
  /// The domain of environments that are created without a domain.
  public static let shared = ClaimDomain()

  private let book = Locked(ClaimBook())
  private let sink = Locked<StoredClosure<ClaimEvent.Sink>?>(nil)

  /// Creates a domain in which no claim is held.
  public init() {}

  // MARK: Calls of operations

  /// Acquires all claims of an operation, or none.
  ///
  /// The caller has a slot for the operation, and holds no lock.
  func take(
    _ requests: [ClaimRequest],
    for operation: AdvancedOperation,
    inside groups: [AdvancedOperation],
    alwaysWaits: Bool
  ) -> ClaimBook.Decision {
    let attempt = ClaimBook.Attempt(
      operation: operation,
      requests: requests,
      groups: groups,
      mayRunOthers: operation.mayRunOthers,
      alwaysWaits: alwaysWaits,
      time: time(of: requests, for: operation)
    )
    var startable: [Claim] = []
    while true {
      switch update({ $0.takeCalled(attempt, behind: startable, &$1) }) {
      case .decided(let decision): return decision
      // The answer may be outdated, which does no harm: an operation that its queue can't start tries again
      // when the queue can.
      case .ask(let front) where front.operation.mayStartNow:
        startable.append(front)
      case .ask(let front): update { $0.letOthersPass(front, &$1) }
      }
    }
  }

  private func time(
    of requests: [ClaimRequest],
    for operation: AdvancedOperation
  ) -> ClaimBook.Time? {
    if !requests.contains(where: \.isRate) { return nil }
    let clock = operation.clock
    return ClaimBook.Time(clock: clock, now: clock.now)
  }

  /// Releases the claims of an idle operation, and offers them to operations that wait.
  package func release(_ operation: AdvancedOperation) {
    update { $0.releaseCalled(operation, &$1) }
  }

  /// Forgets all operations without granting claims, because no thread will run the operations any more.
  package func abandon() {
    let contents = book.withLock { $0.forgetAll() }
    withExtendedLifetime(contents) {}
  }

  /// Releases the claims of an operation that doesn't start now, including the starts that rates have
  /// counted.
  func returnGrant(_ operation: AdvancedOperation) {
    let time = time(of: operation.claims, for: operation)
    update { $0.startCancelled(operation, time, isOver: false, &$1) }
  }

  /// Removes an operation that won't execute from the waiters.
  ///
  /// The operation keeps its claims until its end, except for the starts that rates have counted.
  func withdraw(_ operation: AdvancedOperation) {
    let time = time(of: operation.claims, for: operation)
    update { $0.startCancelled(operation, time, isOver: true, &$1) }
  }

  /// Returns the waits of an operation that waits for its claims; empty if the operation is about to try
  /// again.
  func waits(of operation: AdvancedOperation) -> [Wait] { look { $0.waits(of: operation) } }

  /// Checks the waiters of a pool of this domain again after its capacity was changed.
  func capacityChanged(of pool: ResourcePool) { update { $0.capacityChanged(of: pool, &$1) } }

  // MARK: Holds

  /// Lets no operation that claims a rate of this key start before a time.
  ///
  /// Call the method if a service asks all its clients to wait, as with the HTTP status 429:
  ///
  /// ```swift
  /// let clock = OperationClock.current
  /// environment.claimDomain.hold(rate: "api", until: clock.now + .seconds(60), reason: "status 429")
  /// ```
  ///
  /// A hold only becomes longer: a call with an earlier time changes nothing. Operations that have started
  /// continue, but their next attempts begin after the hold. At its end, the bucket has one token. The operations
  /// then start at the rate, and not in a burst.
  ///
  /// - Parameters:
  ///   - key: The key of the ``RateLimit``, which need not have been claimed yet.
  ///   - time: The end of the hold, as a time of the clock.
  ///   - clock: The clock of the operations that the hold concerns. By default, it is the clock of the operation
  ///     whose code calls the method.
  ///   - reason: The reason, which explanations show.
  public func hold(
    rate key: String,
    until time: Duration,
    on clock: OperationClock = .current,
    reason: String = ""
  ) {
    let now = ClaimBook.Time(clock: clock, now: clock.now)
    update { $0.holdCalled(key, until: time, reason: reason, now, &$1) }
  }

  // MARK: Tracing

  /// The number of resources in the book.
  package var resourceCount: Int { look { $0.resourceCount } }

  /// Records the events of claims from now on.
  ///
  /// The events are in their real order if one thread at a time uses the domain. Observers of operations are
  /// notified later, and in another order.
  package func trace(_ sink: @escaping ClaimEvent.Sink) {
    let old = self.sink.withLock { kept in
      defer { kept = StoredClosure(sink) }
      return kept
    }
    withExtendedLifetime(old) { book.withLock { $0.isTraced = true } }
  }

  // MARK: The book

  /// Reads the book.
  func look<Result>(_ body: (ClaimBook) -> Result) -> Result { book.withLock { body($0) } }

  /// Changes the book, and then performs the resulting actions without the lock.
  func update<Result>(_ body: (ClaimBook, inout [ClaimEffect]) -> Result) -> Result {
    var effects: [ClaimEffect] = []
    let result = book.withLock { body($0, &effects) }
    if !effects.isEmpty { perform(effects) }
    return result
  }

  private func perform(_ effects: [ClaimEffect]) {
    var due = effects
    var next = 0
    // A loop, because offers to a thousand operations with suspended queues would nest a thousand calls.
    while next < due.count {
      perform(due[next], &due)
      next += 1
    }
  }

  private func perform(_ effect: ClaimEffect, _ due: inout [ClaimEffect]) {
    switch effect {
    case .offer(let claim):
      let operation = claim.operation
      let hasSlot = operation.reserveSlot()
      book.withLock { $0.offerAnswered(claim, isAccepted: hasSlot, &due) }
      if hasSlot { operation.wakeQueue() }
    case .reoffer(let operation): operation.reoffer()
    case .moved(let operation): operation.claimWaitMoved()
    case .setTimer(let key, let number, let deadline, let clock):
      let timer = clock.schedule(at: deadline) { [weak self] in
        let time = ClaimBook.Time(clock: clock, now: clock.now)
        self?.update { $0.timerFired(of: key, number: number, time, &$1) }
      }
      let isWanted = look { $0.timerCreated(timer, of: key, number: number) }
      if !isWanted { timer.cancel() }
    case .cancelTimer(let timer): timer.cancel()
    case .readClock(let operation, let clock):
      let time = ClaimBook.Time(clock: clock, now: clock.now)
      book.withLock { $0.clockRead(time, for: operation, &due) }
    case .trace(let event, let operation): sink.withLock { $0 }?.call(event, operation)
    }
  }
}
