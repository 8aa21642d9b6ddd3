public import CoreOperations
import Synchronization

/// The sources of time, threads and randomness that operations use.
///
/// ```swift
/// let queue = AdvancedOperationQueue(environment: OperationEnvironment(clock: myClock))
/// ```
///
/// Copies are independent values. An operation has the environment of the queue that it is added to.
public struct OperationEnvironment: Sendable {
  private struct Values {
    var clock: OperationClock
    var executor: (any OperationExecutor)?
    var claimDomain: ClaimDomain
    var random: @Sendable () -> UInt64 = { UInt64.random(in: 0 ... .max) }
    var tracer: (any OperationTracer)?
    var observers: [QueueAttachment<any OperationObserver>] = []
    var interceptors: [QueueAttachment<any OperationInterceptor>] = []
    /// The flag, which all changed copies of this environment share.
    let delegates = Delegates()
  }

  /// A flag that indicates whether queues with this environment may have a delegate.
  ///
  /// Operations read this flag because finding their queue to read its delegate is expensive. The search
  /// costs more than all other work at the end of an operation without observers (callgrind).
  final class Delegates: Sendable {
    private let wereSet = Atomic(false)

    var mayExist: Bool { wereSet.load(ordering: .acquiring) }
    /// Records that a queue with the environment is about to have a delegate.
    func willBeSet() { wereSet.store(true, ordering: .releasing) }
  }

  // An environment is one reference, so that it takes only eight bytes of an operation.
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

  /// The environment of operations in a plain queue, or in no queue.
  static let `default` = OperationEnvironment()

  /// Creates an environment.
  ///
  /// - Parameters:
  ///   - clock: The clock for timeouts, retries and delays.
  ///   - executor: The executor that runs workers; nil for the shared thread pool. An executor that is also a
  ///     `TaskExecutor` runs async bodies and conditions as well. Otherwise, the shared thread pool runs them.
  ///     On Apple's systems, the standard library's thread pool runs them instead.
  ///   - claimDomain: The domain that manages claims; by default the shared domain.
  public init(
    clock: OperationClock = OperationClock(ContinuousClock()),
    executor: (any OperationExecutor)? = nil,
    claimDomain: ClaimDomain = .shared
  ) {
    storage = Storage(Values(clock: clock, executor: executor, claimDomain: claimDomain))
  }

  /// The clock for timeouts, retries and delays.
  public var clock: OperationClock {
    get { storage.values.clock }
    set { change { $0.clock = newValue } }
  }

  /// The domain that manages claims.
  public var claimDomain: ClaimDomain {
    get { storage.values.claimDomain }
    set { change { $0.claimDomain = newValue } }
  }

  /// The executor that runs workers, and tasks if it is also a `TaskExecutor`; nil for the shared thread
  /// pool.
  public var executor: (any OperationExecutor)? {
    get { storage.values.executor }
    set { change { $0.executor = newValue } }
  }

  /// The source of randomness, for example for jitter: returns any 64 bits at each call.
  public var random: @Sendable () -> UInt64 {
    get { storage.values.random }
    set { change { $0.random = newValue } }
  }

  /// A Boolean value that indicates whether there is a tracer; cheaper than reading the tracer.
  var isTraced: Bool { storage.isTraced }
  /// A Boolean value that indicates whether there are ``observers``; cheaper than reading them.
  var hasObservers: Bool { storage.hasObservers }

  var delegates: Delegates { storage.values.delegates }

  package var tracer: (any OperationTracer)? {
    get { storage.values.tracer }
    set { change { $0.tracer = newValue } }
  }

  /// The observers that are attached to every operation before it is enqueued.
  var observers: [QueueAttachment<any OperationObserver>] {
    get { storage.values.observers }
    set { change { $0.observers = newValue } }
  }

  /// The interceptors that are called around every async body.
  var interceptors: [QueueAttachment<any OperationInterceptor>] {
    get { storage.values.interceptors }
    set { change { $0.interceptors = newValue } }
  }

  /// The executor, if it is a task executor.
  var taskExecutor: (any TaskExecutor)? { storage.values.executor as? any TaskExecutor }

  /// The preferred executor of the tasks that do an operation's work; nil for no preference.
  var bodyExecutor: (any TaskExecutor)? { taskExecutor ?? BodyExecutor.preferred }

  /// Runs a closure on the executor, on another call stack.
  func enqueue(_ body: @escaping @Sendable () -> Void) {
    (storage.values.executor ?? DefaultExecutor.shared).enqueue(body)
  }

  private mutating func change(_ body: (inout Values) -> Void) {
    var values = storage.values
    body(&values)
    storage = Storage(values)
  }
}

/// A value that a queue attaches to all of its operations, with a number that identifies it.
struct QueueAttachment<Value: Sendable>: Sendable {
  let id: UInt32
  let value: Value
}

/// An object that receives every change of state and can inject delays, for simulations.
package protocol OperationTracer: AnyObject, Sendable {
  /// Called before the operation is added to a queue, when it still accepts conditions and dependencies.
  func operationWillEnqueue(_ operation: AdvancedOperation)
  func operation(_ operation: AdvancedOperation, entered state: AdvancedOperation.State)
  /// Returns the duration by which the call of the body is delayed; nil for no delay.
  func delayOfBody(of operation: AdvancedOperation) -> Duration?
  /// Called when the operation has finished and is idle, so that dependents may start.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - giveBack: A closure that releases the claims of the operation and notifies their waiters. Call it
  ///     once, either now or later, as on a thread that is interrupted here.
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
  /// The environment of the calling code: that of its operation, of the simulation that runs it, or the
  /// default.
  static var ofCaller: OperationEnvironment {
    AdvancedOperation.current?.environment ?? SurroundingEnvironment.current ?? .default
  }
}

extension OperationEnvironment {
  /// Lets operations end that no queue, group or scope accepts any more, in a separate queue that no code
  /// waits for.
  ///
  /// - Parameters:
  ///   - operations: Operations that aren't in a queue.
  ///   - cancel: A closure that cancels the operations. It receives their queue, in which no operation starts
  ///     before the closure returns.
  func turnAway(_ operations: [Operation], cancel: (AdvancedOperationQueue) -> Void) {
    let queue = AdvancedOperationQueue(environment: self)
    queue.withoutStarts {
      queue.addOperations(operations)
      cancel(queue)
    }
  }
}
