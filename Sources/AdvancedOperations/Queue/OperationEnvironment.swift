public import CoreOperations
import Synchronization

/// What the world provides to operations: the one place where time, threads and chance come from.
///
/// ```swift
/// let queue = AdvancedOperationQueue(environment: OperationEnvironment(clock: myClock))
/// ```
///
/// Copies are independent values. Operations get the environment of the queue that they are added
/// to.
public struct OperationEnvironment: Sendable {
  private struct Values {
    var clock: OperationClock
    var executor: (any OperationExecutor)?
    var claimDomain: ClaimDomain
    var random: @Sendable () -> UInt64 = { UInt64.random(in: 0 ... .max) }
    var tracer: (any OperationTracer)?
    var observers: [QueueAttachment<any OperationObserver>] = []
    var interceptors: [QueueAttachment<any OperationInterceptor>] = []
    /// The same for all that is made of this environment by changes.
    let delegates = Delegates()
  }

  /// Whether there may be delegates to be told of operations in this environment.
  ///
  /// Operations look here, because finding their queue, to ask it, costs more than all else at an
  /// end that nothing hears of (callgrind).
  final class Delegates: Sendable {
    private let wereSet = Atomic(false)

    var mayExist: Bool { wereSet.load(ordering: .acquiring) }
    /// A queue with the environment is about to have one.
    func willBeSet() { wereSet.store(true, ordering: .releasing) }
  }

  // One reference, so that an operation pays eight bytes for it.
  private final class Storage: Sendable {
    let values: Values
    let isTraced: Bool
    let hasObservers: Bool

    init(_ values: Values) {
      self.values = values
      isTraced = values.tracer != nil
      hasObservers = !values.observers.isEmpty
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
  ///     otherwise (on Apple's systems by that of the standard library).
  ///   - claimDomain: Keeps account of claims; shared by all unless given.
  public init(
    clock: OperationClock = OperationClock(ContinuousClock()),
    executor: (any OperationExecutor)? = nil,
    claimDomain: ClaimDomain = .shared
  ) {
    storage = Storage(Values(clock: clock, executor: executor, claimDomain: claimDomain))
  }

  /// Gives time to timeouts, retries and delays.
  public var clock: OperationClock {
    get { storage.values.clock }
    set { change { $0.clock = newValue } }
  }

  /// Keeps account of claims.
  public var claimDomain: ClaimDomain {
    get { storage.values.claimDomain }
    set { change { $0.claimDomain = newValue } }
  }

  /// Runs workers, and tasks if it is a `TaskExecutor` too; nil for the shared pool of threads.
  public var executor: (any OperationExecutor)? {
    get { storage.values.executor }
    set { change { $0.executor = newValue } }
  }

  /// Where randomness (jitter) comes from: any 64 bits at each call.
  public var random: @Sendable () -> UInt64 {
    get { storage.values.random }
    set { change { $0.random = newValue } }
  }

  /// Whether there is a tracer; cheaper than to look at it.
  var isTraced: Bool { storage.isTraced }
  /// Whether there are ``observers``; cheaper than to look at them.
  var hasObservers: Bool { storage.hasObservers }

  var delegates: Delegates { storage.values.delegates }

  package var tracer: (any OperationTracer)? {
    get { storage.values.tracer }
    set { change { $0.tracer = newValue } }
  }

  /// Attached to every operation before it is enqueued.
  var observers: [QueueAttachment<any OperationObserver>] {
    get { storage.values.observers }
    set { change { $0.observers = newValue } }
  }

  /// Called around every async body.
  var interceptors: [QueueAttachment<any OperationInterceptor>] {
    get { storage.values.interceptors }
    set { change { $0.interceptors = newValue } }
  }

  /// The executor, if that takes tasks.
  var taskExecutor: (any TaskExecutor)? { storage.values.executor as? any TaskExecutor }

  /// What the tasks that do an operation's work prefer; nil for no preference.
  var bodyExecutor: (any TaskExecutor)? { taskExecutor ?? BodyExecutor.preferred }

  /// Runs a closure on the executor, on another stack.
  func enqueue(_ body: @escaping @Sendable () -> Void) {
    (storage.values.executor ?? DefaultExecutor.shared).enqueue(body)
  }

  private mutating func change(_ body: (inout Values) -> Void) {
    var values = storage.values
    body(&values)
    storage = Storage(values)
  }
}

/// What a queue attaches to all of its operations, with a number to find it again.
struct QueueAttachment<Value: Sendable>: Sendable {
  let id: UInt32
  let value: Value
}

/// Hears of every change of state, and makes things go wrong; for simulations.
package protocol OperationTracer: AnyObject, Sendable {
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
  func operationBecomesIdle(
    _ operation: AdvancedOperation,
    _ giveBack: @escaping @Sendable () -> Void
  )
}

extension OperationTracer {
  package func operationWillEnqueue(_ operation: AdvancedOperation) {}
  package func delayOfBody(of operation: AdvancedOperation) -> Duration? { nil }
  package func operationBecomesIdle(
    _ operation: AdvancedOperation,
    _ giveBack: @escaping @Sendable () -> Void
  ) { giveBack() }
}

/// The environment of code that runs in a simulation and outside of any operation.
package enum SurroundingEnvironment {
  @TaskLocal package static var current: OperationEnvironment?
}

extension OperationEnvironment {
  /// The environment of the code that calls this: that of its operation, of the simulation that
  /// runs it, or the default one.
  static var ofCaller: OperationEnvironment {
    AdvancedOperation.current?.environment ?? SurroundingEnvironment.current ?? .default
  }
}

extension OperationEnvironment {
  /// Lets operations end that nothing takes in any more: in a queue of their own, which nothing
  /// waits for.
  ///
  /// - Parameters:
  ///   - operations: In no queue.
  ///   - cancel: Cancels them; gets their queue, in which nothing starts before it returns.
  func turnAway(_ operations: [Operation], cancel: (AdvancedOperationQueue) -> Void) {
    let queue = AdvancedOperationQueue(environment: self)
    queue.withoutStarts {
      queue.addOperations(operations)
      cancel(queue)
    }
  }
}
