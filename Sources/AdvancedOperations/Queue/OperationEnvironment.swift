public import CoreOperations

/// What the world provides to operations: the one place where time, threads and chance come from.
///
/// ```swift
/// let queue = AdvancedOperationQueue(environment: OperationEnvironment(clock: myClock))
/// ```
///
/// Copies are independent values. Operations get the environment of the queue that they are added
/// to.
public struct OperationEnvironment: Sendable {
  // One reference, so that an operation pays eight bytes for it.
  private final class Storage: Sendable {
    let clock: OperationClock
    let executor: (any OperationExecutor)?
    let exclusivity: ExclusivityDomain
    let random: @Sendable () -> UInt64
    let tracer: (any OperationTracer)?
    let isTraced: Bool
    let observers: [ObserverEntry]
    let interceptors: [InterceptorEntry]

    init(
      clock: OperationClock,
      executor: (any OperationExecutor)?,
      exclusivity: ExclusivityDomain,
      random: @escaping @Sendable () -> UInt64,
      tracer: (any OperationTracer)?,
      observers: [ObserverEntry],
      interceptors: [InterceptorEntry]
    ) {
      self.clock = clock
      self.executor = executor
      self.exclusivity = exclusivity
      self.random = random
      self.tracer = tracer
      isTraced = tracer != nil
      self.observers = observers
      self.interceptors = interceptors
    }
  }

  private var storage: Storage

  /// The environment of operations in a plain queue or in none.
  static let `default` = OperationEnvironment()

  /// Creates an environment.
  ///
  /// - Parameters:
  ///   - clock: Gives time to timeouts, retries and delays.
  ///   - executor: Runs workers; nil for the shared pool of threads. One that is also a
  ///     `TaskExecutor` runs async bodies and conditions as well. They are run by the shared pool
  ///     otherwise (on other systems than Linux by that of the standard library).
  ///   - exclusivity: Keeps account of claims; shared by all unless given.
  public init(
    clock: OperationClock = OperationClock(ContinuousClock()),
    executor: (any OperationExecutor)? = nil,
    exclusivity: ExclusivityDomain = .shared
  ) {
    storage = Storage(
      clock: clock,
      executor: executor,
      exclusivity: exclusivity,
      random: { UInt64.random(in: 0 ... .max) },
      tracer: nil,
      observers: [],
      interceptors: []
    )
  }

  /// Gives time to timeouts, retries and delays.
  public var clock: OperationClock {
    get { storage.clock }
    set { replace(clock: newValue) }
  }

  /// Keeps account of claims.
  public var exclusivity: ExclusivityDomain {
    get { storage.exclusivity }
    set { replace(exclusivity: newValue) }
  }

  /// Runs workers, and tasks if it is a `TaskExecutor` too; nil for the shared pool of threads.
  public var executor: (any OperationExecutor)? {
    get { storage.executor }
    set { replace(executor: newValue) }
  }

  /// Where randomness (jitter) comes from: any 64 bits at each call.
  public var random: @Sendable () -> UInt64 {
    get { storage.random }
    set { replace(random: newValue) }
  }

  /// Whether there is a tracer; cheaper than to look at it.
  var isTraced: Bool { storage.isTraced }

  package var tracer: (any OperationTracer)? {
    get { storage.tracer }
    set { replace(tracer: .some(newValue)) }
  }

  /// Attached to every operation before it is enqueued.
  var observers: [ObserverEntry] {
    get { storage.observers }
    set { replace(observers: newValue) }
  }

  /// Called around every async body.
  var interceptors: [InterceptorEntry] {
    get { storage.interceptors }
    set { replace(interceptors: newValue) }
  }

  /// The executor, if that takes tasks.
  var taskExecutor: (any TaskExecutor)? { storage.executor as? any TaskExecutor }

  /// What the tasks that do an operation's work prefer; nil for no preference.
  var bodyExecutor: (any TaskExecutor)? { taskExecutor ?? BodyExecution.preferredExecutor }

  /// Runs a closure on the executor, on another stack.
  func enqueue(_ body: @escaping @Sendable () -> Void) {
    (storage.executor ?? DefaultExecutor.shared).enqueue(body)
  }

  private mutating func replace(
    clock: OperationClock? = nil,
    executor: (any OperationExecutor)?? = nil,
    exclusivity: ExclusivityDomain? = nil,
    random: (@Sendable () -> UInt64)? = nil,
    tracer: (any OperationTracer)?? = nil,
    observers: [ObserverEntry]? = nil,
    interceptors: [InterceptorEntry]? = nil
  ) {
    storage = Storage(
      clock: clock ?? storage.clock,
      executor: executor ?? storage.executor,
      exclusivity: exclusivity ?? storage.exclusivity,
      random: random ?? storage.random,
      tracer: tracer ?? storage.tracer,
      observers: observers ?? storage.observers,
      interceptors: interceptors ?? storage.interceptors
    )
  }
}

/// Hears of every change of state, and makes things go wrong; for simulations.
package protocol OperationTracer: Sendable {
  /// The operation will be added to a queue, and takes conditions and dependencies for the last
  /// time.
  func operationWillEnqueue(_ operation: AdvancedOperation)
  func operation(_ operation: AdvancedOperation, entered state: AdvancedOperation.State)
  /// How long the body is kept from being entered; nil for not at all.
  func delayOfBody(of operation: AdvancedOperation) -> Duration?
  /// The operation has finished, and dependents may start; now it is quiet as well.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - giveBack: Gives back its claims and tells what waits for that; to be called once, now or
  ///     later, as on a thread that is interrupted here.
  func operationBecomesQuiet(
    _ operation: AdvancedOperation,
    _ giveBack: @escaping @Sendable () -> Void
  )
}

extension OperationTracer {
  package func operationWillEnqueue(_ operation: AdvancedOperation) {}
  package func delayOfBody(of operation: AdvancedOperation) -> Duration? { nil }
  package func operationBecomesQuiet(
    _ operation: AdvancedOperation,
    _ giveBack: @escaping @Sendable () -> Void
  ) { giveBack() }
}
