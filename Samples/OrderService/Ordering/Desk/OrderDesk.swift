public import AdvancedOperations
public import AdvancedOperationsVisualization
import Synchronization

/// Takes orders, works on them, and says how they are: what the HTTP service is a face of.
///
/// ```swift
/// let desk = OrderDesk(store: store, payments: provider, shipping: warehouse)
/// desk.queue.addInterceptor(Tracing())
/// try await desk.open()
/// let submission = try await desk.submit(draft, key: request.idempotencyKey)
/// let order = try await desk.outcome(of: submission.order.id, within: .seconds(5))
/// ```
///
/// All members can be used from any thread.
public final class OrderDesk: Sendable {
  /// The orders that are being worked on: one group operation each, called “order” and the ID.
  ///
  /// Observers and interceptors that are added before ``open()`` get all operations: the groups, the
  /// steps, and the requests to the provider.
  public let queue: AdvancedOperationQueue

  /// The circuit to the payment provider.
  public let breaker: CircuitBreaker

  /// What was chosen.
  public let options: Options

  /// The store without patience, for requests: their clients have their own.
  let store: any OrderStore
  let tools: OrderTools
  let state = Mutex(DeskState())
  /// For what isn't an order: it goes on while the orders are drained.
  let leaseQueue: AdvancedOperationQueue

  /// Creates a desk that doesn't work yet.
  ///
  /// - Parameters:
  ///   - store: Where orders are kept.
  ///   - payments: Charges cards.
  ///   - shipping: Sends parcels.
  ///   - options: Limits and times.
  ///   - environment: The clock, and where code runs; that of a simulation in tests.
  public init(
    store: any OrderStore,
    payments: any PaymentProvider,
    shipping: any Shipping,
    options: Options = Options(),
    environment: OperationEnvironment = OperationEnvironment()
  ) {
    self.options = options
    breaker = CircuitBreaker(
      failures: options.breakerFailures,
      cooldown: options.breakerCooldown,
      counts: { !PaymentProviderError.isAnswer($0) }
    )
    self.store = store
    let trouble = StoreTrouble()
    let leaseQueue = AdvancedOperationQueue(
      name: "leases",
      maxConcurrentOperationCount: .max,
      environment: environment
    )
    self.leaseQueue = leaseQueue
    tools = OrderTools(
      store: PatientStore(
        store: store,
        trouble: trouble,
        options: options,
        clock: environment.clock
      ),
      trouble: trouble,
      payments: payments,
      shipping: shipping,
      breaker: breaker,
      sharedRate: (store as? any RequestBucket).map {
        SharedRate($0, options: options, queue: leaseQueue)
      },
      options: options,
      reports: DeskReports()
    )
    // An order that waits holds no thread: the number of orders that are open is the limit.
    queue = AdvancedOperationQueue(
      name: "orders",
      maxConcurrentOperationCount: .max,
      environment: environment
    )
  }

  /// Takes up the orders that aren't final: work on them goes on, or their rollback does.
  ///
  /// - Returns: How many there were.
  @discardableResult
  public func open() async throws -> Int {
    let orders = try await store.takeUp()
    for order in orders {
      state.withLock { $0.admitKnown() }
      begin(order)
    }
    reportUnreadable()
    if let leases { keep(leases) }
    return orders.count
  }

  /// Accepts an order: when this has returned, a crash can't lose it.
  ///
  /// - Parameters:
  ///   - draft: What is wanted.
  ///   - key: What the client calls its request. A repetition with the same draft gets the order that
  ///     the first one made, also when the desk is full or closing.
  /// - Returns: The order.
  /// - Throws: ``OrderRefusal``; an error of the store.
  public func submit(_ draft: OrderDraft, key: String) async throws -> Submission {
    do {
      if let known = try await known(draft, key: key) { return known }
      let problems = draft.problems(in: try await store.items())
      if !problems.isEmpty { throw OrderRefusal.invalid(problems) }
      return try await accept(draft, key: key)
    } catch {
      let isRefusal = error is OrderRefusal || PatientStore.isAnswer(error)
      if !isRefusal { storeRefused(because: "\(error)") }
      throw error
    }
  }

  /// An order as the store knows it; nil if there is none.
  public func order(_ id: OrderID) async throws -> Order? { try await store.order(id) }

  /// The latest orders, the last accepted first.
  public func orders(limit: Int) async throws -> [Order] { try await store.orders(limit: limit) }

  /// What the shop sells, and how many of it are left.
  public func items() async throws -> [Item] { try await store.items() }

  /// Waits until an order is final, wherever it is worked on, and no longer than a time.
  ///
  /// The wait ends early when the waiting task is cancelled; the order goes on then, unless
  /// ``requestCancel(of:because:)`` is called.
  ///
  /// - Returns: The order as it is then; nil if there is none.
  /// - Throws: `CancellationError`; an error of the store.
  public func outcome(of id: OrderID, within limit: Duration) async throws -> Order? {
    await untilAccepted(id)
    let clock = queue.environment.clock
    let deadline = clock.now + limit
    if let operation = operation(of: id) {
      try await withThrowingTaskGroup { group in
        group.addTask { try await operation.untilFinished() }
        group.addTask { try await clock.sleep(until: deadline) }
        try await group.next()
        group.cancelAll()
      }
    }
    guard let leases else { return try await store.order(id) }
    return try await outcome(of: id, until: deadline, leases)
  }

  /// The operation of an order that goes on here, or was among the last that were.
  ///
  /// Its `events`, its `explain()` and its `children` say how the order is.
  public func operation(of id: OrderID) -> GroupOperation? {
    state.withLock { $0.runs[id] }?.group
  }

  /// Whether the work on an order has ended here without an outcome: it goes on after a restart, at
  /// another instance, or when the store works again.
  public func isInterrupted(_ id: OrderID) -> Bool {
    guard let run = state.withLock({ $0.runs[id] }), run.isLeft else { return false }
    return run.group.outcome?.isSuccess != true
  }

  /// When the steps of an order began and ended, if ``operation(of:)`` has it.
  public func timeline(of id: OrderID) -> OperationTimeline? {
    state.withLock { $0.runs[id] }?.recorder.timeline
  }

  /// The repetitions of an order's requests from now on, until it is over here.
  ///
  /// They are of operations that steps make; ``operation(of:)`` has the steps.
  public func retries(of id: OrderID) -> AsyncStream<OrderRetry>? {
    state.withLock { $0.runs[id] }?.retries.stream
  }

  /// The last repetition of each of an order's requests that hasn't succeeded yet, by
  /// ``OrderRetry/step``.
  public func latestRetries(of id: OrderID) -> [String: OrderRetry] {
    state.withLock { $0.runs[id] }?.retries.latest ?? [:]
  }

  /// How many orders are open here.
  public var openCount: Int { state.withLock { $0.openCount } }

  /// How many orders the closing desk has left without an outcome, to the next program.
  public var interruptedCount: Int { state.withLock { $0.interruptedCount } }

  /// Whether the desk is closing: it takes no orders any more.
  public var isDraining: Bool { state.withLock { $0.isDraining } }

  /// Closes the desk: takes no orders any more, and lets those that are open finish.
  ///
  /// Those that are left when the time is over are interrupted where they are. Nothing of them is
  /// undone: ``open()`` takes them up after the restart.
  ///
  /// - Parameter limit: How long orders may take.
  /// - Returns: How the orders ended; `cutShort` has those that were interrupted.
  @discardableResult
  public func drain(within limit: Duration) async -> OperationDrainReport {
    state.withLock { $0.isDraining = true }
    endRecoveries()
    let clock = queue.environment.clock
    let timer = clock.schedule(at: clock.now + limit) { [weak self] in self?.interruptRollbacks() }
    defer { timer.cancel() }
    let report = await withTaskCancellationHandler {
      await queue.drain(within: limit)
    } onCancel: {
      interruptRollbacks()
    }
    await resign()
    return report
  }
}
