public import Dispatch

/// A queue that runs operations by priority when their dependencies have finished, some at the same
/// time.
///
/// Add operations to the queue. The queue starts each operation on one of its workers, as soon as
/// the operation is ready and a slot is free. A *slot* is a place for one of the operations that a
/// queue may run at a time. The queue keeps itself and its operations alive until all operations
/// have finished.
///
/// ```swift
/// let queue = OperationQueue()
/// queue.maxConcurrentOperationCount = 4
/// queue.addOperations([download, parse, store])
/// try await queue.untilAllOperationsAreFinished()
/// ```
///
/// You can use all members from any thread, including inside operations and their callbacks. A
/// queue never calls an operation on the thread that adds it, cancels it or resumes the queue.
///
/// A subclass restates `@unchecked Sendable`, protects the properties that it adds, and inherits or
/// overrides both initializers. An override of ``addOperation(_:)-(Operation)`` may run code before
/// and after `super`, or leave the operation out. Overrides of settings, such as ``isSuspended``,
/// change the values that the program reads. The queue uses the values that `super` received. If a
/// file also imports Foundation, see <doc:/CoreOperations/BesideFoundation>.
open class OperationQueue: @unchecked Sendable, Hashable, CustomStringConvertible,
  CustomDebugStringConvertible
{
  // Sendable: `scheduler` and `settings` have locks; the rest doesn't change.
  private struct Settings {
    var name: String?
    var qualityOfService = QualityOfService.default
    var suspensionReason: String?
  }

  package final let scheduler: Scheduler
  private let settings = Locked(Settings())
  private let ownExecutor: any OperationExecutor
  private let ownProgress: OperationQueueProgress
  private let isMain: Bool
  /// Whether the queue is internal: the program sees neither the queue nor that operations are in
  /// it.
  package final let isHidden: Bool
  final var valueObservers: ValueObservers { scheduler.valueObservers }

  // Both are designated, as Foundation's `init()` is: subclasses inherit and override each, and a
  // file that imports Foundation too finds `OperationQueue()` ambiguous instead of getting
  // Foundation's.

  /// Creates a queue whose operations run on the threads that all queues share.
  ///
  /// On Linux and Android, these are the threads of this library's pool. On Apple's systems, they are the
  /// threads of Dispatch's global queues.
  public init() {
    ownExecutor = DefaultExecutor.forQueue()
    scheduler = Scheduler(source: WorkerSource(ownExecutor), completionExecutor: ownExecutor)
    ownProgress = OperationQueueProgress(scheduler: scheduler)
    isMain = false
    isHidden = false
    if type(of: self) == OperationQueue.self { keepClosures() }
  }

  /// Creates a queue that runs on an executor.
  ///
  /// - Parameter executor: The executor of the queue's workers and completion blocks.
  public init(executor: any OperationExecutor) {
    ownExecutor = executor
    scheduler = Scheduler(source: WorkerSource(executor), completionExecutor: executor)
    ownProgress = OperationQueueProgress(scheduler: scheduler)
    isMain = false
    isHidden = false
    if type(of: self) == OperationQueue.self { keepClosures() }
  }

  private init(main: DispatchQueue) {
    ownExecutor = DispatchExecutor(main)
    scheduler = Scheduler(
      source: WorkerSource(ownExecutor, underlyingQueue: main),
      completionExecutor: DefaultExecutor.shared
    )
    ownProgress = OperationQueueProgress(scheduler: scheduler)
    isMain = true
    isHidden = false
    keepClosures()
    scheduler.limited(1)
    settings.withLock { $0.name = "main" }
    MainThreadWaits.noteQueue(of: scheduler)
  }

  /// Creates a queue that the program doesn't see.
  package init(hiddenOn executor: any OperationExecutor) {
    ownExecutor = executor
    scheduler = Scheduler(source: WorkerSource(executor), completionExecutor: executor)
    ownProgress = OperationQueueProgress(scheduler: scheduler)
    isMain = false
    isHidden = true
  }

  /// Lets the queue store closures without creating operations.
  ///
  /// It is called in `init` by classes that don't override `addOperation(_:)`.
  package final func keepClosures() { scheduler.keepClosures() }

  // MARK: Adding

  /// Adds an operation to the queue.
  ///
  /// An override also receives an operation for each closure that is added. An override doesn't
  /// receive the operations of ``addOperations(_:)``, children of groups, or prerequisite
  /// operations of conditions.
  ///
  /// - Parameter op: The operation, which is retained until it has finished.
  /// - Precondition: The operation isn't in a queue, and has neither started nor finished.
  open func addOperation(_ op: Operation) { enqueue(op) }

  /// Adds a closure as an operation.
  ///
  /// The operation is created when code accesses it, such as by reading ``operations``. Until then,
  /// a closure takes a fraction of the time and memory of an operation. If n closures are in the
  /// queue, the first access creates n operations in one step. So does adding an operation.
  ///
  /// - Parameter block: A closure that runs on a worker. The closure is released when it has
  ///   returned, before a wait for the operation returns. A `deinit` that this release calls may
  ///   itself wait for the queue. If the `deinit` waits for something else, such as a semaphore,
  ///   the operation keeps its slot until then.
  open func addOperation(_ block: @escaping @Sendable () -> Void) {
    if scheduler.closureAdded(block, owner: self) { return }
    addOperation(BlockOperation(block: block))
  }

  /// Adds an async closure as an operation, which holds its slot until the closure has returned.
  ///
  /// On Linux and Android, the closure may begin on the worker that starts it. After a suspension,
  /// the closure resumes on the shared thread pool, whichever executor or underlying queue this
  /// queue has. On Apple's systems, the closure runs on the standard library's pool. If the
  /// executor is also a `TaskExecutor`, it runs all of the closure.
  ///
  /// - Parameter block: A closure that runs in a separate task, which is cancelled with the
  ///   operation.
  open func addOperation(_ block: @escaping @Sendable () async -> Void) {
    addOperation(AsyncBlockOperation(block))
  }

  /// Adds operations, and optionally blocks the thread until they have finished.
  ///
  /// - Parameters:
  ///   - ops: The operations, which are added in order, in one batch.
  ///   - wait: Whether the method returns only when all of `ops` have finished.
  @available(*, noasync, message: "It may block the thread; use 'addOperations(_:)' and await.")
  open func addOperations(_ ops: [Operation], waitUntilFinished wait: Bool) {
    // Not the open method, whose override may call this one.
    enqueue(ops)
    if wait { for operation in ops { operation.waitUntilFinished() } }
  }

  /// Adds operations in one batch.
  ///
  /// - Parameter ops: The operations, which are added in order. Ready operations of equal priority
  ///   start in this order.
  /// - Complexity: O(n + e), n the number of operations and e the number of their dependencies.
  open func addOperations(_ ops: [Operation]) { enqueue(ops) }

  /// Adds a block that runs when everything added before has finished, and before anything added
  /// later starts.
  ///
  /// A barrier takes a slot, and doesn't start while the queue is suspended. A wait for the queue
  /// also waits for the barrier. A barrier isn't an operation, and ``cancelAllOperations()``
  /// doesn't cancel it.
  ///
  /// An operation before the barrier can never run if it needs an operation behind the barrier.
  /// Such a cycle ends like a cycle of dependencies. The operation whose arrival or new dependency
  /// completes the cycle is cancelled, with an ``OperationCycleError`` that names the path.
  ///
  /// - Parameter barrier: A block that runs on a worker.
  /// - Complexity: O(n + e), n the number of operations since the previous barrier, and e the
  ///   number of their dependencies.
  open func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
    scheduler.barrierAdded(barrier, owner: self)
  }

  // MARK: Managing

  /// The operations that haven't left the queue, in the order of adding.
  ///
  /// An operation leaves the queue when it has finished and its completion block has returned.
  ///
  /// - Complexity: O(n), n the number of operations.
  public var operations: [Operation] { scheduler.members }

  /// The number of operations that haven't left the queue.
  public var operationCount: Int { scheduler.memberCount }

  /// Cancels every operation that is in the queue at this moment; barriers stay.
  ///
  /// The queue starts nothing before all operations have been cancelled.
  open func cancelAllOperations() { cancelAll(reason: nil) }

  /// Blocks the thread until the queue is empty.
  ///
  /// When the method returns, completion blocks have returned and barriers have run. Observers of
  /// properties have been called, unless another thread made a change at that moment. In
  /// asynchronous code, use ``untilAllOperationsAreFinished()``.
  ///
  /// - Precondition: The caller isn't an operation for which the queue waits. Nor is it an observer
  ///   or an override for which such an operation waits, or a completion block of one of the
  ///   queue's operations. If the method is called on the main thread, nothing in the queue needs
  ///   the main thread.
  @available(*, noasync, message: "It blocks; use 'try await untilAllOperationsAreFinished()'.")
  open func waitUntilAllOperationsAreFinished() {
    if scheduler.isInOwnCompletion {
      trap(
        "waitUntilAllOperationsAreFinished() was called on queue “\(label)” "
          + "in a completion block of one of its operations, for which it would wait. "
          + "Wait somewhere else, or add a barrier block."
      )
    }
    let wait = ThreadWait()
    guard scheduler.waited(.thread(wait)) else { return }
    let token = OwnWaits.beginBlocking(
      for: .queue(self),
      call: "waitUntilAllOperationsAreFinished()"
    )
    wait.block()
    OwnWaits.end(token)
  }

  /// Suspends the task until the queue is empty, without blocking a thread.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first; the operations continue.
  ///   ``OperationCycleError`` if the task is the body of an operation for which the queue waits.
  public final func untilAllOperationsAreFinished() async throws {
    let token = try OwnWaits.begin(for: .queue(self))
    defer { OwnWaits.end(token) }
    let scheduler = scheduler
    try await AsyncWait().run { wait in
      scheduler.waited(.task(wait))
    } unregister: { _ in
      scheduler.waitCancelled()
    }
  }

  /// The progress of the queue, counted in operations.
  open var progress: OperationQueueProgress { ownProgress }

  // MARK: Configuring

  /// The name of the queue; by default, the type and the address of the queue.
  ///
  /// The name is never nil. Setting nil restores the default name. The name of ``main`` can't be
  /// changed.
  open var name: String? {
    get { settings.withLock { $0.name } ?? firstName }
    set {
      if isMain { return }
      settings.withLock { $0.name = newValue }
      valueObservers.look(at: self)
    }
  }

  private var firstName: String {
    "\(type(of: self)) 0x\(String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16))"
  }

  /// The name of the queue in texts: the name that was set, or else the type.
  package final var label: String { givenName ?? "\(type(of: self))" }

  /// The name that was set, if one was.
  ///
  /// The default name contains the address, which differs from run to run. Texts about operations, and the log
  /// of a simulation, have to be the same in each run.
  package final var givenName: String? {
    let name = name
    return name == firstName ? nil : name
  }

  /// The maximum number of operations that may execute at the same time.
  ///
  /// A change takes effect immediately. If you raise the limit, the queue starts more operations.
  /// If you lower the limit, the queue starts no operation until enough operations have finished.
  /// With a limit of 0, nothing starts. The limit of ``main`` is 1, and setting it is ignored.
  ///
  /// - Precondition: The limit isn't negative, or it is ``defaultMaxConcurrentOperationCount``.
  /// - Complexity: Raising the limit is O(1), except from 0. Then it is O(n), n the number of
  ///   operations and closures in the queue. Lowering the limit checks each executing operation,
  ///   and each operation for which the code of an executing operation waits. If the queue contains
  ///   closures for which it hasn't created operations yet, it creates them: O(n), n the number of
  ///   these closures.
  open var maxConcurrentOperationCount: Int {
    get { scheduler.requestedLimit }
    set {
      guard newValue >= 0 || newValue == Self.defaultMaxConcurrentOperationCount else {
        trap(
          "maxConcurrentOperationCount of queue “\(label)” was set to "
            + "\(newValue). Set a number from 0 up, or defaultMaxConcurrentOperationCount."
        )
      }
      if isMain { return }
      scheduler.limited(newValue)
      valueObservers.look(at: self)
    }
  }

  /// The default limit: as many operations at the same time as the executor has threads for.
  public static let defaultMaxConcurrentOperationCount = -1

  /// Whether the queue is suspended, so that it starts nothing new.
  ///
  /// After the property was set to true, the queue decides no further start. An operation whose
  /// start was decided before may still enter its body. Executing operations continue. ``main``
  /// can't be suspended, and setting its `isSuspended` is ignored.
  open var isSuspended: Bool {
    get { scheduler.isSuspended }
    set {
      if isMain { return }
      if !newValue { settings.withLock { $0.suspensionReason = nil } }
      scheduler.suspended(newValue)
      valueObservers.look(at: self)
    }
  }

  /// Suspends the queue with a reason, which explanations and pictures show.
  ///
  /// The queue resumes when ``isSuspended`` is set to false. If the queue is suspended already, only the reason
  /// changes. The method has no effect on ``main``.
  ///
  /// ```swift
  /// queue.suspend(reason: "the disk is nearly full")
  /// ```
  ///
  /// - Parameter reason: The reason for people who ask why operations aren't running.
  public final func suspend(reason: String) {
    if isMain { return }
    settings.withLock { $0.suspensionReason = reason }
    isSuspended = true
  }

  /// The reason that was passed to ``suspend(reason:)``; nil if the queue isn't suspended or has no reason.
  public final var suspensionReason: String? {
    isSuspended ? settings.withLock { $0.suspensionReason } : nil
  }

  /// The importance of the queue's work for the user of the program.
  ///
  /// On Apple's systems, workers that the queue requests after a change run on Dispatch's global
  /// queue of that level. Completion blocks run on that global queue too. The property has no
  /// effect on Linux and Android, in a queue with an ``underlyingQueue`` or a custom executor, and
  /// in ``main``. On Linux and Android, a queue whose operations compute on all processors delays
  /// the first operation of another queue by about 5 ms. Set a limit to keep a processor free.
  open var qualityOfService: QualityOfService {
    get { settings.withLock { $0.qualityOfService } }
    set {
      settings.withLock { $0.qualityOfService = newValue }
      (ownExecutor as? DispatchExecutor)?.prefer(newValue)
    }
  }

  /// The dispatch queue on which the workers run; nil if the queue uses its own executor.
  ///
  /// The check that the queue is empty and the change happen in one step. An operation that another
  /// thread adds at that time runs on the new dispatch queue, or was in the queue before the
  /// change. The second case violates the precondition. If several threads set the property at the
  /// same time, the last value remains.
  ///
  /// Async closures and bodies don't run on the dispatch queue. They run on the shared thread pool,
  /// or on the standard library's pool on Apple's systems.
  ///
  /// The underlying queue of ``main`` is the main dispatch queue, and setting it is ignored.
  ///
  /// - Precondition: The queue is empty when the property is set.
  open var underlyingQueue: DispatchQueue? {
    get { scheduler.source.underlyingQueue }
    set {
      if isMain { return }
      let executor = newValue.map { DispatchExecutor($0) } ?? ownExecutor
      let source = WorkerSource(executor, underlyingQueue: newValue)
      guard scheduler.sourceChangedIfEmpty(source) else {
        trap(
          "underlyingQueue of queue “\(label)” was set while it has "
            + "operations. Set it before adding any."
        )
      }
      if source.isOnMainThread { MainThreadWaits.noteQueue(of: scheduler) }
    }
  }

  // MARK: Well-known queues

  /// The queue whose operation runs on this thread or in this task.
  ///
  /// Outside of any operation of a queue, the value is ``main`` on the main thread and in code of
  /// the main dispatch queue. Elsewhere the value is nil.
  open class var current: OperationQueue? {
    ThreadContext.queueRunningHere ?? (MainThread.isCurrent ? sharedMain : nil)
  }

  /// The queue of the main thread, which runs one operation at a time on the main dispatch queue.
  ///
  /// The whole process shares this queue. Setting its `isSuspended`, limit, name or dispatch queue
  /// therefore has no effect.
  open class var main: OperationQueue { sharedMain }

  private static let sharedMain = OperationQueue(main: .main)

  // MARK: Identity and text

  /// Returns whether both queues are the same object.
  public static func == (a: OperationQueue, b: OperationQueue) -> Bool { a === b }

  /// Hashes the identity of the queue.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The name of the queue, the number of its operations, and whether the queue is suspended.
  open var description: String {
    let count = operationCount
    let members = counted(count, "operation")
    return "\(name ?? label) (\(members)\(isSuspended ? ", suspended" : ""))"
  }

  /// The description of the queue, and the descriptions of its first few operations.
  open var debugDescription: String {
    let operations = operations
    if operations.isEmpty { return description }
    let texts = operations.prefix(8).map(\.description).joined(separator: ", ")
    let rest = operations.count > 8 ? " and \(operations.count - 8) more" : ""
    return "\(description): \(texts)\(rest)"
  }
}
