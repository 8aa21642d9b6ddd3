public import Dispatch

/// Runs operations when their dependencies have finished, by priority, some at a time.
///
/// Add operations; the queue starts each on one of its workers, as soon as it is ready and a slot
/// is free. It keeps itself and its operations alive until all have finished.
///
/// ```swift
/// let queue = OperationQueue()
/// queue.maxConcurrentOperationCount = 4
/// queue.addOperations([download, parse, store])
/// try await queue.untilAllOperationsAreFinished()
/// ```
///
/// All members can be used from any thread, also from inside operations and their callbacks. A
/// queue never calls an operation on the thread that adds it, cancels it or resumes the queue.
///
/// Subclasses restate `@unchecked Sendable`, protect what they add, and inherit both initialisers
/// or override them. An override of ``addOperation(_:)-(Operation)`` may do something before and
/// after `super`, or leave the operation out. Overrides of settings, such as ``isSuspended``,
/// change what the program reads; the queue goes by what `super` was given. In a file that imports
/// Foundation too, see <doc:/CoreOperations/BesideFoundation>.
open class OperationQueue: @unchecked Sendable, Hashable, CustomStringConvertible,
  CustomDebugStringConvertible
{
  // Sendable: `scheduler` and `settings` have locks; the rest doesn't change.
  private struct Settings {
    var name: String?
    var qualityOfService = QualityOfService.default
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

  /// Creates a queue that runs on the shared pool of threads.
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
  /// - Parameter executor: Runs the queue's workers, and completion blocks.
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

  /// Has the queue take in closures without operations; called in `init` by classes that don't
  /// override `addOperation(_:)`.
  package final func keepClosures() { scheduler.keepClosures() }

  // MARK: Adding

  /// Adds an operation.
  ///
  /// An override also gets an operation for each closure that is added. It doesn't get those of
  /// ``addOperations(_:)``, nor children of groups and prerequisites of conditions.
  ///
  /// - Parameter op: Retained until it has finished.
  /// - Precondition: It is in no queue, and has neither started nor finished.
  open func addOperation(_ op: Operation) { enqueue(op) }

  /// Adds a closure as an operation.
  ///
  /// The operation is made when something looks at it, such as ``operations``: until then a closure
  /// takes a fraction of its time and memory. What looks, or the first operation that is added
  /// behind n closures, makes those n operations in one step.
  ///
  /// - Parameter block: Runs on a worker. It is released when it has returned, before a wait for
  ///   the operation returns. A `deinit` that this calls may itself wait for the queue. If it waits
  ///   for something else, a semaphore for example, the operation keeps its slot until then.
  open func addOperation(_ block: @escaping @Sendable () -> Void) {
    if scheduler.closureAdded(block, owner: self) { return }
    addOperation(BlockOperation(block: block))
  }

  /// Adds an async closure as an operation, which holds its slot until the closure returned.
  ///
  /// On Linux and Android, the closure may begin on the worker that starts it. After a suspension
  /// it resumes on the shared thread pool, whichever executor or underlying queue this queue has.
  /// On Apple's systems it runs on the standard library's pool. If the executor is a `TaskExecutor`
  /// too, it runs all of the closure.
  ///
  /// - Parameter block: Runs in a task of its own, which is cancelled with the operation.
  open func addOperation(_ block: @escaping @Sendable () async -> Void) {
    addOperation(AsyncBlockOperation(block))
  }

  /// Adds operations, and may block until they have finished.
  ///
  /// - Parameters:
  ///   - ops: Added in order, as one batch.
  ///   - wait: Whether to return only when all of `ops` have finished.
  @available(*, noasync, message: "It may block the thread; use 'addOperations(_:)' and await.")
  open func addOperations(_ ops: [Operation], waitUntilFinished wait: Bool) {
    // Not the open method, whose override may call this one.
    enqueue(ops)
    if wait { for operation in ops { operation.waitUntilFinished() } }
  }

  /// Adds operations as one batch.
  ///
  /// - Parameter ops: Added in order; ready ones of equal priority start in this order.
  /// - Complexity: O(n + e), n the number of operations and e that of their dependencies.
  open func addOperations(_ ops: [Operation]) { enqueue(ops) }

  /// Adds a block that runs when everything added before has finished, and before anything added
  /// later starts.
  ///
  /// A barrier takes a slot, obeys suspension, is no operation, isn't cancelled by
  /// ``cancelAllOperations()``, and is waited for.
  ///
  /// An operation before the barrier that needs one behind it could never run. Such a cycle ends
  /// like one of dependencies: the operation whose coming or whose new dependency closes it is
  /// cancelled, with an ``OperationCycleError`` that names the path.
  ///
  /// - Parameter barrier: Runs on a worker.
  /// - Complexity: O(n + e), n the number of operations since the barrier before, and e that of
  ///   what they depend on.
  open func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
    scheduler.barrierAdded(barrier, owner: self)
  }

  // MARK: Managing

  /// The operations that have not left, in the order of adding.
  ///
  /// An operation leaves when it has finished and its completion block returned.
  ///
  /// - Complexity: O(n).
  public var operations: [Operation] { scheduler.members }

  /// How many operations have not left.
  public var operationCount: Int { scheduler.memberCount }

  /// Cancels every operation that is in the queue at this moment; barriers stay.
  ///
  /// Nothing is started before all have been cancelled.
  open func cancelAllOperations() { cancelAll(reason: nil) }

  /// Blocks the thread until the queue is empty.
  ///
  /// Completion blocks have returned then, and barriers have run. Observers of properties have been
  /// called, unless another thread made a change at that moment. In asynchronous code, use
  /// ``untilAllOperationsAreFinished()``.
  ///
  /// - Precondition: Not called by an operation that the queue waits for, nor by an observer or an
  ///   override that such an operation waits for, nor by a completion block of one of its
  ///   operations. On the main thread: nothing in the queue needs the main thread.
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

  /// Suspends the task until the queue is empty; blocks no thread.
  ///
  /// - Throws: `CancellationError` when the task is cancelled first; the operations go on.
  ///   ``OperationCycleError`` when the task is the body of an operation that the queue waits for.
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

  /// How much of the work is done.
  open var progress: OperationQueueProgress { ownProgress }

  // MARK: Configuring

  /// What the queue is called: the type and the address of the object, until a name is set.
  ///
  /// Never nil; setting nil brings the first name back. The name of ``main`` can't be changed.
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

  /// The name that was set, or the type: what texts call the queue.
  package final var label: String { givenName ?? "\(type(of: self))" }

  /// The name that was set, if one was.
  ///
  /// The first name has the address, which differs from run to run: texts about operations, and the
  /// log of a simulation, have to be the same in each.
  package final var givenName: String? {
    let name = name
    return name == firstName ? nil : name
  }

  /// How many operations may be executing at once.
  ///
  /// A change takes effect at once: raising it starts more, lowering it starts none until enough
  /// have finished. With 0 nothing starts. That of ``main`` is 1, and setting it is ignored.
  ///
  /// - Precondition: Not negative, or ``defaultMaxConcurrentOperationCount``.
  /// - Complexity: To raise it O(1); to lower it that of looking at what executes, and at what that
  ///   waits for with its own code, and O(n) for n closures that nothing has looked at.
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

  /// As many operations at once as the executor has threads for; the default.
  public static let defaultMaxConcurrentOperationCount = -1

  /// Whether the queue starts nothing new.
  ///
  /// After it was set to true, no further start is decided; an operation whose start was decided
  /// before may still enter its body. Executing operations go on. ``main`` can't be suspended:
  /// setting this is ignored there.
  open var isSuspended: Bool {
    get { scheduler.isSuspended }
    set {
      if isMain { return }
      scheduler.suspended(newValue)
      valueObservers.look(at: self)
    }
  }

  /// The importance of the queue's work to the person who uses the program.
  ///
  /// On Apple's systems, workers that the queue requests after the change run on Dispatch's global
  /// queue of that class, and so do completion blocks. The property has no effect on Linux and
  /// Android, in a queue with an ``underlyingQueue`` or an executor of its own, and in ``main``.
  /// On Linux and Android, a queue whose operations compute on all processors delays the first
  /// operation of another queue by about 5 ms. Set a limit to keep a processor free.
  open var qualityOfService: QualityOfService {
    get { settings.withLock { $0.qualityOfService } }
    set {
      settings.withLock { $0.qualityOfService = newValue }
      (ownExecutor as? DispatchExecutor)?.prefer(newValue)
    }
  }

  /// The dispatch queue that the workers run on; nil for the queue's own executor.
  ///
  /// Whether the queue is empty is looked at in the same step as the change: an operation that
  /// another thread adds at that time runs on the new dispatch queue, or was there before, which is
  /// a mistake. Of several threads that set it at once, one is the last.
  ///
  /// Async closures and bodies don't run there, but on the shared thread pool, or on the standard
  /// library's pool on Apple's systems.
  ///
  /// That of ``main`` is the main dispatch queue, and setting it is ignored.
  ///
  /// - Precondition: The queue is empty when this is set.
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
  /// Outside of any operation of a queue, it is ``main`` on the main thread and in code of the main
  /// dispatch queue, and nil elsewhere.
  open class var current: OperationQueue? {
    ThreadContext.queueRunningHere ?? (MainThread.isCurrent ? sharedMain : nil)
  }

  /// The queue of the main thread; it runs one operation at a time on the main dispatch queue.
  ///
  /// The whole process shares it, so it can't be suspended, and its limit, name and dispatch queue
  /// can't be changed.
  open class var main: OperationQueue { sharedMain }

  private static let sharedMain = OperationQueue(main: .main)

  // MARK: Identity and text

  /// Whether both are the same object.
  public static func == (a: OperationQueue, b: OperationQueue) -> Bool { a === b }

  /// Hashes the identity of the object.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The name, how many operations there are, and whether the queue is suspended.
  open var description: String {
    let count = operationCount
    let members = counted(count, "operation")
    return "\(name ?? label) (\(members)\(isSuspended ? ", suspended" : ""))"
  }

  /// The description, and those of the first few operations.
  open var debugDescription: String {
    let operations = operations
    if operations.isEmpty { return description }
    let texts = operations.prefix(8).map(\.description).joined(separator: ", ")
    let rest = operations.count > 8 ? " and \(operations.count - 8) more" : ""
    return "\(description): \(texts)\(rest)"
  }
}
