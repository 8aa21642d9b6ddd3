package import CoreOperations

/// An event in the book of a domain.
package enum ClaimEvent: Sendable {
  /// The operation has begun to wait; recorded once.
  case waits
  /// The operation has all that it claims.
  case taken
  case givenBack

  package typealias Sink = @Sendable (ClaimEvent, Operation) -> Void
}

/// Keeps account of which operations hold which claims, and which wait for them.
///
/// One is shared by all environments unless they are given another, in which nothing is held:
///
/// ```swift
/// let tenant = OperationEnvironment(claimDomain: ClaimDomain())
/// let queue = AdvancedOperationQueue(environment: tenant)
/// ```
///
/// **Fairness.** First come, first served:
///
/// - What becomes free goes to the first operation that waits for it.
/// - That operation gets it as soon as all else that it claims is free too, and its queue can start
///   it at that moment.
/// - An operation that its queue can't start at that moment (suspended, or no slot is free) lets
///   others pass. It tries again when its turn in the queue has come, and then waits at the place
///   that it had.
/// - An operation with several claims waits for one of them at a time, and holds none of the claims
///   in the meantime. Operations that need only its other claims may overtake it.
/// - A cancelled operation leaves the waiters. The places of all others stay as they are.
///
/// - Complexity: Taking and releasing O(c), c the number of claims; in addition, O(c + log w) for
///   each waiter that a release concerns, w the number of waiters for the same. For children, c
///   counts each claim once more for each group around them.
public final class ClaimDomain: Sendable {
  /// The domain of environments that were given none.
  public static let shared = ClaimDomain()

  private let book = Locked(ClaimBook())
  private let sink = Locked<StoredClosure<ClaimEvent.Sink>?>(nil)

  /// Creates a domain in which nothing is held.
  public init() {}

  // MARK: What operations call

  /// Takes all that an operation claims, or nothing.
  ///
  /// Called with a slot for the operation in hand, and without a lock.
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
      // The answer is that of a moment ago, which is early enough: an operation that its queue
      // can't start is told to try again when it can.
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

  /// Releases what a quiet operation holds, and offers it to operations that wait.
  package func release(_ operation: AdvancedOperation) {
    update { $0.releaseCalled(operation, &$1) }
  }

  /// Forgets all operations, because nothing will run them any more, and grants nothing.
  package func abandon() {
    let contents = book.withLock { $0.forgetAll() }
    withExtendedLifetime(contents) {}
  }

  /// Releases what an operation holds that doesn't start now, including the starts that rates
  /// count.
  func returnGrant(_ operation: AdvancedOperation) {
    let time = time(of: operation.claims, for: operation)
    update { $0.startCancelled(operation, time, isOver: false, &$1) }
  }

  /// Takes an operation that won't execute out of the waiters.
  ///
  /// It keeps what it holds until its end, except for the starts that rates count.
  func withdraw(_ operation: AdvancedOperation) {
    let time = time(of: operation.claims, for: operation)
    update { $0.startCancelled(operation, time, isOver: true, &$1) }
  }

  /// What an operation waits for that waits for its claims; nothing when it is about to try again.
  func waits(of operation: AdvancedOperation) -> [Wait] { look { $0.waits(of: operation) } }

  /// The capacity of a pool of this domain was changed: checks its waiters again.
  func capacityChanged(of pool: ResourcePool) { update { $0.capacityChanged(of: pool, &$1) } }

  // MARK: Tracing

  /// The number of resources in the book.
  package var resourceCount: Int { look { $0.resourceCount } }

  /// Records what happens to claims from now on, in the order in which it does as long as one
  /// thread at a time is here: observers of operations are notified later, and in another order.
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

  /// Changes the book, and then does what that leaves to do.
  func update<Result>(_ body: (ClaimBook, inout [ClaimEffect]) -> Result) -> Result {
    var effects: [ClaimEffect] = []
    let result = book.withLock { body($0, &effects) }
    if !effects.isEmpty { perform(effects) }
    return result
  }

  private func perform(_ effects: [ClaimEffect]) {
    var due = effects
    var next = 0
    // In a loop: offers to a thousand operations whose queues are suspended would nest as deep.
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
