import AdvancedOperations
import Synchronization

extension OrderRun {
  /// Has the card charged, with as many requests as that takes.
  ///
  /// - Parameters:
  ///   - total: How much.
  ///   - asksFirst: Whether an earlier life of this program may have charged the card.
  /// - Returns: What the provider's ledger says about the charge.
  /// - Throws: The errors of all requests, when none has got an answer in time.
  func requestCharge(of total: Money, asksFirst: Bool) async throws -> ChargeStatus {
    let (payments, token) = (tools.payments, order.draft.cardToken)
    let charge = Charge(of: order.id, amount: total)
    let confirmed: @Sendable (ChargeAnswer) throws -> ChargeStatus = { answer in
      // Before the answer is compared: a wrong sum is to be refunded, too.
      self.noteCharged(by: answer, charge)
      return try charge.status(confirmedBy: answer)
    }
    return try await repeating(
      "charge",
      within: tools.options.stepTimeout,
      behind: tools.breaker
    ) { attempt in
      let request = ResultOperation(name: "charge request") {
        // A request of which no answer came may have arrived all the same.
        if attempt > 1 || asksFirst, let known = try await payments.lookUp(charge) {
          return try confirmed(known)
        }
        let answer = try await payments.charge(charge, cardToken: token)
        switch answer.status {
        case .charged, .pending, nil: return try confirmed(answer)
        case .declined, .refunded, .voided: break
        }
        // It may be a lie. The ledger decides, and a ledger that has nothing is tried again.
        guard let known = try await payments.lookUp(charge) else {
          throw PaymentProviderError.unavailable("it declined a charge that it doesn't know")
        }
        return try confirmed(known)
      }
      self.goesToProvider(request)
      return request
    }
  }

  /// Has the parcel sent, with as many requests as that takes.
  func requestParcel() async throws -> String {
    let (shipping, id, lines) = (tools.shipping, order.id, order.draft.lines)
    return try await repeating("ship", within: tools.options.stepTimeout, behind: nil) { _ in
      ResultOperation(name: "ship request") { try await shipping.ship(id, lines: lines) }
    }
  }

  /// Has a request wait for the provider's circuit and rate.
  func goesToProvider(_ request: AdvancedOperation) {
    let options = tools.options
    request.addCondition(CircuitClosed(tools.breaker, waits: true))
    if let rate = tools.sharedRate {
      // A request that waits for the circuit takes no token, which others could use.
      request.conditionPolicy = .stopAtFirstFailure
      request.addCondition(rate)
    }
    request.addClaim(
      RateLimit(Self.providerRate, options.providerRequests, per: options.providerPeriod)
    )
  }

  /// The key of the provider's rate, which is held while the provider asks all orders to wait.
  private static var providerRate: String { "payment provider" }

  /// Runs requests until one succeeds.
  ///
  /// Each request is an operation, so that conditions hold and claims are taken for each, and a
  /// circuit breaker counts each.
  ///
  /// - Parameters:
  ///   - name: What is attempted.
  ///   - limit: How long to go on; a request that waits for its turn takes no time, and neither does one
  ///     that waits for the circuit.
  ///   - breaker: The circuit that the requests wait for; nil if there is none.
  ///   - make: Makes a request.
  /// - Returns: The value of the request that succeeded.
  /// - Throws: The errors of all requests.
  func repeating<Value: Sendable>(
    _ name: String,
    within limit: Duration,
    behind breaker: CircuitBreaker?,
    make: @escaping @Sendable (_ attempt: Int) -> ResultOperation<Value>
  ) async throws -> Value {
    let patience = StepPatience(limit, clock: tools.store.clock, breaker: breaker)
    let policy = policy(from: tools.options.firstDelay)
      .when { !Self.isFinal($0) && !patience.isOver }
    let requests = requests(name, policy, isRecorded: true) { attempt in
      let request = make(attempt)
      request.addObserver(patience)
      return request
    }
    defer { retries.isOver(name) }
    do {
      return try await withOperations { scope in try await scope.add(requests).value }
    } catch {
      if patience.isOver { state.withLock { _ = $0.outOfTime.insert(name) } }
      throw error
    }
  }

  /// Runs requests until one succeeds, for as long as the order goes on: what undoes something.
  ///
  /// They are made in rounds, because a timeline keeps the times of all attempts, and a provider may be
  /// down for weeks. The first round is recorded.
  ///
  /// - Parameters:
  ///   - name: What is attempted.
  ///   - make: Makes a request.
  /// - Returns: The value of the request that succeeded.
  /// - Throws: The errors of the last round, when the store contradicts again and again, or the program
  ///   stops.
  func repeatingForever<Value: Sendable>(
    _ name: String,
    make: @escaping @Sendable () -> ResultOperation<Value>
  ) async throws -> Value {
    let (options, tools, id) = (tools.options, tools, order.id)
    let refusals = Refusals(limit: options.refusals) { count, reason in
      tools.reports.refused(RefusedRefund(order: id, count: count, reason: reason))
    }
    defer { retries.isOver(name) }
    var (round, first) = (1, options.firstDelay)
    while true {
      let delay = first
      let policy = RetryPolicy { count, _ in
        if refusals.areMany { return options.refusedDelay }
        return min(delay * (1 << min(count - 1, 16)), options.longestDelay)
      }
      .jittered().attempts(Self.roundLength).when { refusals.allowsAnother(after: $0) }
      let requests = requests(name, policy, isRecorded: round == 1) { _ in make() }
      canBeInterrupted(requests)
      do {
        return try await withOperations { scope in try await scope.add(requests).value }
      } catch {
        if refusals.isLeaseLost { leave() }
        if requests.isCancelled || Task.isCancelled || refusals.isFinal { throw error }
      }
      (round, first) = (round + 1, options.longestDelay)
    }
  }

  /// How many attempts one round has.
  private static var roundLength: Int { 30 }

  /// A policy without a limit.
  private func policy(from delay: Duration) -> RetryPolicy {
    .exponential(delay, cap: tools.options.longestDelay).jittered()
  }

  private func requests<Value: Sendable>(
    _ name: String,
    _ policy: RetryPolicy,
    isRecorded: Bool,
    _ make: @escaping @Sendable (_ attempt: Int) -> ResultOperation<Value>
  ) -> RetryOperation<Value> {
    let limit = tools.options.requestTimeout
    let policy = policy.retryAfter(
      holding: Self.providerRate,
      atMost: tools.options.longestRetryAfter
    ) {
      ($0 as? PaymentProviderError)?.retryAfter
    }
    let requests = RetryOperation(name: "\(name) requests", retry: policy) { [recorder] attempt in
      let request = make(attempt)
      request.addObserver(TimeoutObserver(limit))
      if isRecorded { request.addObserver(recorder) }
      return request
    }
    requests.addObserver(RetryNoting(name, retries))
    return requests
  }

  /// Has ``interrupt()`` cancel what undoes something, also when that came before.
  private func canBeInterrupted(_ operation: AdvancedOperation) {
    let isInterrupted = state.withLock { state in
      state.undoing = operation
      return state.isInterrupted
    }
    if isInterrupted { operation.cancel(withError: RollbackInterrupted()) }
  }

  /// Whether a repetition can't help.
  private static func isFinal(_ error: any Error) -> Bool {
    switch error {
    case PaymentProviderError.refused: true
    case is RollbackHasBegun, is LeaseLost, is StoreContradiction: true
    default: false
    }
  }
}
