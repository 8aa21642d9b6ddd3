import Dispatch
import Synchronization

/// A single-shot piece of work, with dependencies, a priority, cancellation and a completion block.
///
/// Override ``main()`` for work that is done when the method returns; override ``start()`` together
/// with ``isExecuting``, ``isFinished`` and ``isAsynchronous`` for work that goes on after it, and
/// report changes with ``willChangeValue(forKey:)`` and ``didChangeValue(forKey:)``. Add the
/// operation to an ``OperationQueue``, or call ``start()`` yourself.
///
/// ```swift
/// final class Resize: Operation, @unchecked Sendable {
///   override func main() {
///     for tile in tiles where !isCancelled { tile.shrink() }
///   }
/// }
/// let resize = Resize()
/// resize.addDependency(download)
/// queue.addOperations([download, resize])
/// ```
///
/// All members can be used from any thread. No method holds a lock while it calls an override, an
/// observer or a block, so each may call every other.
///
/// Subclasses restate `@unchecked Sendable`, and protect what they add. A queue asks an override of
/// ``isReady`` before it starts the operation, and one of ``isFinished`` after ``start()`` and when
/// a change is reported: on any thread and any number of times, so these return without waiting.
/// Overrides of ``dependencies``, ``queuePriority``, ``completionBlock``, ``isCancelled`` and
/// ``isExecuting`` change what the program reads; the queue goes by what `super` was given.
open class Operation: @unchecked Sendable, Hashable, CustomStringConvertible,
  CustomDebugStringConvertible
{
  // What an operation stores, who may touch it, and why that is safe (`@unchecked Sendable`):
  //
  // - `life`, an atomic word: the phase and the cancelled flag. Each thread may read it. It changes
  //   through `step`, one event of `OperationLife` at a time, and the thread whose event made the
  //   change gets the action to perform: of several threads that report the end, one performs it.
  // - `readiness`, an atomic word: how many dependencies are open, and whether something else holds
  //   the operation. The thread whose event leaves nothing open offers the operation to its queue.
  //   Atomic, because the end of an operation must not wait for the queues of its dependents.
  // - `links`, behind `linksLock`: dependents, waiters, the completion block, the reason of a cancel
  //   and the queue. A leaf: code under this lock takes no other one, so that the locks of a queue,
  //   of a dependency list and of the advanced layer may be held around it. `isIn(_:)` reads one
  //   atomic word of it without the lock.
  // - `dependencyList`, behind `dependencyLock`: the edges to dependencies. The links of one
  //   dependency may be locked inside, never those of two.
  // - `scheduling`: belongs to the scheduler of the one queue that the operation is ever in, and to
  //   its lock. `SchedulerState` reaches it through a `Member`; before the operation is a member,
  //   and after it has left, nothing reads it.
  // - `ownLayer` and `isLayered`: set while the operation is initialized, and constant from then on.
  //   The reference is to the operation itself, so it is neither counted nor ever dangling.
  // - `isObserved`, atomic: false until the first observer of a property is stored, so that a change
  //   of an operation without observers costs one load.
  //
  // No code of the program runs under any of these locks, and no object of the program is released
  // there: what comes out of a lock is released after it.
  //
  // The order decides the size: 152 bytes, and 168 with a block, which malloc rounds up to 176.

  /// The phase and the cancelled flag.
  package final let life = AtomicState(OperationLife())
  /// What is still waited for.
  package final let readiness = AtomicState(OperationReadiness())
  private let linksLock = Lock()
  private let dependencyLock = Lock()
  // Not checked for overlapping accesses, as `scheduling` below: these locks aren't recursive, so
  // there are none, and the check was a quarter of the cost of an empty block (callgrind).
  @exclusivity(unchecked) private final var links = OperationLinks()
  /// Whether any property was ever observed; set before the first observer is there.
  final let isObserved = Atomic(false)
  /// Whether there is a ``layer``, known without counting a reference.
  final var isLayered = false
  @exclusivity(unchecked) private final var dependencyList = DependencyList()
  /// ``layer``: the operation itself, which is why nothing is retained.
  private final unowned(unsafe) var ownLayer: (any LayeredOperation)?
  @exclusivity(unchecked) final var scheduling = SchedulingFields()

  /// Creates an operation that is in no queue, has no dependencies and normal priority.
  public init() {}

  deinit {
    // No other reference to the operation is left.
    if unsafe !dependencyList.isEmpty {
      unsafe DependencyTeardown.release(dependencyList, areOpen: readiness.current.unfinished > 0)
    }
  }

  /// This operation as its layer sees it; nil for a plain one.
  final var layer: (any LayeredOperation)? {
    @inline(__always) get { unsafe ownLayer }
    @inline(__always) set { unsafe ownLayer = newValue }
  }

  // MARK: Guarded

  /// Dependents, queue and what few operations have, with their lock held.
  ///
  /// A leaf: no other lock is taken inside.
  @inline(__always)
  final func withLinks<Result: ~Copyable>(_ body: (inout OperationLinks) -> Result) -> Result {
    linksLock.withLock { unsafe body(&links) }
  }

  /// 0 for the most urgent priority to 4, read without the lock of the links.
  final var priorityLevel: UInt8 { unsafe links.priorityLevel }
  /// Whether the layer decides when a slot is available, read without the lock of the links.
  final var isAskedAtStart: Bool { unsafe links.isAskedAtStart }

  /// Whether the operation is in a scheduler's queue; what it is taken into meanwhile counts as not
  /// yet.
  final func isIn(_ scheduler: ObjectIdentifier) -> Bool { unsafe links.isIn(scheduler) }

  /// What the operation depends on, with its lock held.
  ///
  /// The links of one dependency may be taken inside.
  @inline(__always)
  final func withDependencyList<Result>(_ body: (inout DependencyList) -> Result) -> Result {
    dependencyLock.withLock { unsafe body(&dependencyList) }
  }

  // MARK: Running

  /// Begins the work: checks that the operation may run, calls ``main()`` and finishes it.
  ///
  /// A queue calls this on one of its workers. The default implementation does nothing when the
  /// operation has finished, finishes it without calling ``main()`` when it was cancelled (whatever
  /// an overridden ``isFinished`` says), and otherwise runs ``main()``; after that, an override of
  /// ``isFinished`` that still says false keeps the operation going until it reports.
  ///
  /// An override does not call `super`, sets its own `isExecuting` and `isFinished`, and begins by
  /// looking at ``isCancelled``.
  ///
  /// - Precondition: Called manually: the operation is in no queue, not executing, and ready or
  ///   cancelled.
  open func start() {
    let isManual = life.current.phase == .created
    let isReadyManually = !isManual || isReady
    switch life.step({ $0.startCalled(isReady: isReadyManually) }) {
    case .callMain:
      valuesMayHaveChanged()
      if isManual {
        // The caller isn't code of the operation.
        ThreadContext.with(queue: ThreadContext.queueRunningHere, operation: self) { _ in main() }
      } else {
        main()
      }
      if life.step({ $0.mainReturned() }) && isFinished { finishAndClose() }
    case .finishCancelled: finishAndClose()
    case .ignore: return
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
  }

  /// The work of a synchronous operation; the default does nothing.
  ///
  /// Called by the default ``start()``, once, on its thread, with no lock held. Look at
  /// ``isCancelled`` from time to time. Overrides need not call `super`.
  open func main() {}

  /// Drops what ``main()`` runs; called when the operation has finished.
  func letGoOfWork() {}

  /// Asks the operation to stop; it finishes by itself.
  ///
  /// Sets ``isCancelled``. An operation in a queue that has not started no longer waits for its
  /// dependencies: the queue starts it ahead of others, without using up a slot, so that it leaves
  /// without its ``main()`` being called; a suspended queue does so when it is resumed. One that is
  /// in no queue finishes when it is added or started. One that is executing goes on until it looks
  /// at ``isCancelled``. One that has finished isn't changed.
  ///
  /// An override calls `super`.
  open func cancel() { cancelAsRequested(reason: nil) }

  /// Runs exactly once, on another thread, after ``isFinished`` turned true; nil from then on.
  ///
  /// The slot is free and dependents start when ``isFinished`` turns true. The operation stays
  /// among its queue's `operations`, and waiting for the whole queue goes on, until the block
  /// returned. A block that is set after the end never runs.
  ///
  /// The blocks of several operations run in no particular order and may overlap, including those
  /// of a queue that runs one operation at a time. If the order matters, do the work at the end of
  /// the operation instead.
  open var completionBlock: (@Sendable () -> Void)? {
    get { withLinks { $0.extra?.completionBlock } }
    set {
      let old = withLinks { links -> (@Sendable () -> Void)? in
        guard !links.isClosed, newValue != nil || links.extra != nil else { return nil }
        let extra = links.makeExtra()
        let old = extra.completionBlock
        extra.completionBlock = newValue
        return old
      }
      withExtendedLifetime(old) {}
      valuesMayHaveChanged()
    }
  }

  // MARK: Status

  /// Whether ``cancel()`` was called before the end.
  open var isCancelled: Bool { isCancelledFlag }

  /// Whether the work is going on.
  open var isExecuting: Bool { life.current.phase == .executing }

  /// Whether the operation is over: its work returned, or it was cancelled and left.
  open var isFinished: Bool { life.current.phase >= .ended }

  /// The old name of ``isAsynchronous``.
  open var isConcurrent: Bool { isAsynchronous }

  /// Whether the work goes on after ``start()`` returned; false unless overridden.
  ///
  /// Queues ignore it.
  open var isAsynchronous: Bool { false }

  /// Whether all dependencies have finished; true also while executing, finished, or cancelled.
  ///
  /// An override can delay the start further; report that it turned true with
  /// `didChangeValue(forKey: "isReady")`. It can't make the operation start before its dependencies
  /// finished, with or without `super`.
  open var isReady: Bool {
    let life = life.current
    if life.isCancelled || life.phase > .enqueued { return true }
    let readiness = readiness.current
    return readiness.dependenciesAreFinished && !readiness.isHeld
  }

  /// Why the operation was cancelled; nil after a plain ``cancel()``, and when it wasn't.
  public final var cancellationReason: (any Error)? {
    guard isCancelledFlag else { return nil }
    return layer.map { $0.reasonOfCancel } ?? withLinks { $0.extra?.cancellationReason }
  }

  final var isCancelledFlag: Bool { life.current.isCancelled }

  // MARK: Dependencies

  /// Makes this operation wait until another one has finished, however that ended.
  ///
  /// May be called while this operation waits in a queue, and is honoured until it starts; after
  /// that it is only recorded. Adding the same dependency again changes nothing. An operation that
  /// is made to depend on itself is cancelled at once, with an ``OperationCycleError``.
  ///
  /// Operations that wait for each other in a cycle are cancelled once one of them is in a queue,
  /// and the dependency that completes the cycle is removed then, as ``OperationCycleError``
  /// describes.
  ///
  /// - Parameter op: In any queue or none; retained until this operation is released, or `op` is no
  ///   dependency any more.
  /// - Complexity: O(1), amortised.
  open func addDependency(_ op: Operation) {
    linkDependency(op)
    readinessMayFollow(op)
    valuesMayHaveChanged()
  }

  /// Stops waiting for another operation, and forgets it.
  ///
  /// - Parameter op: An operation that isn't a dependency is ignored.
  /// - Complexity: O(1), amortised.
  open func removeDependency(_ op: Operation) {
    unlinkDependency(op)
    valuesMayHaveChanged()
  }

  /// What was added with ``addDependency(_:)``, in that order, finished or not.
  ///
  /// Without what ``removeDependency(_:)`` removed, and without the one that completed a cycle
  /// which was cancelled.
  ///
  /// - Complexity: O(n), n the number of dependencies.
  open var dependencies: [Operation] { withDependencyList { $0.operations } }

  // MARK: Waiting

  /// Blocks the thread until the operation has finished.
  ///
  /// Don't call it on the main thread of an app: the thread can't draw in the meantime. On Apple's
  /// systems the wait doesn't raise the priority of the threads that run the operation, and Xcode's
  /// Thread Performance Checker reports such a wait as a hang risk.
  ///
  /// In asynchronous code, use ``untilFinished()``. Neither waits for the completion block, nor for
  /// observers of properties, which may be called at that moment.
  ///
  /// - Precondition: Called by the code of another operation: this one doesn't wait for that, be it
  ///   as a dependency, for the slot that it holds, or with code of its own. Called on the main
  ///   thread: neither this operation nor what it waits for needs the main thread.
  @available(*, noasync, message: "It blocks the thread; use 'try await untilFinished()'.")
  open func waitUntilFinished() {
    if withLinks({ $0.isClosed }) { return }
    noteBlocking(by: "waitUntilFinished()") {
      let wait = ThreadWait()
      if register(.thread(wait)) { wait.block() }
    }
  }

  /// Suspends the task until the operation has finished; blocks no thread.
  ///
  /// Observers of properties may be called at the moment at which this returns, as after
  /// ``waitUntilFinished()``.
  ///
  /// - Throws: `CancellationError` when the task is cancelled first; the operation goes on.
  ///   ``OperationCycleError`` when the task is the body of an operation that this one waits for,
  ///   be it as a dependency, for the slot that it holds, or with code of its own.
  public final func untilFinished() async throws {
    if life.current.phase == .finished { return try Task.checkCancellation() }
    let token = try OwnWaits.begin(for: .operation(self))
    defer { OwnWaits.end(token) }
    try await AsyncWait().run { wait in
      self.register(.task(wait))
    } unregister: { [weak self] _ in
      self?.withLinks { $0.extra?.waiters.waitCancelled() }
    }
  }

  final func register(_ waiter: WaitList<Operation>.Waiter) -> Bool {
    withLinks { links in
      if links.isClosed { return false }
      links.makeExtra().waiters.append(waiter)
      return true
    }
  }

  // MARK: Naming and scheduling

  /// What the operation is called in descriptions; nil unless set.
  open var name: String? {
    get { withLinks { $0.extra?.name } }
    set {
      withLinks { links in
        if newValue != nil || links.extra != nil { links.makeExtra().name = newValue }
      }
    }
  }

  /// What the program knows the operation by, such as a case of an enumeration; nil unless set.
  ///
  /// The name is for people, the tag for code: it comes with the name in the origins of errors, in
  /// graphs and in timelines. Its `==` and `hash(into:)` may be called from any thread.
  public final var tag: (any Hashable & Sendable)? {
    get { withLinks { $0.extra?.tag } }
    set {
      // What the old value holds is released without the lock.
      let old = withLinks { links -> (any Hashable & Sendable)? in
        guard newValue != nil || links.extra != nil else { return nil }
        return exchange(&links.makeExtra().tag, with: newValue)
      }
      withExtendedLifetime(old) {}
    }
  }

  /// The importance of the work to the person who uses the program.
  ///
  /// The operation keeps the value for code that reads it. The class of its threads is that of its
  /// queue: ``OperationQueue/qualityOfService``.
  open var qualityOfService: QualityOfService {
    get { withLinks { $0.extra?.qualityOfService ?? .default } }
    set { withLinks { $0.makeExtra().qualityOfService = newValue } }
  }

  /// Recorded, and without effect.
  @available(*, deprecated, message: "Set qualityOfService instead; this value has no effect.")
  open var threadPriority: Double {
    get { withLinks { $0.extra?.threadPriority ?? 0.5 } }
    set { withLinks { $0.makeExtra().threadPriority = min(max(newValue, 0), 1) } }
  }

  /// How early the operation starts among those of its queue that are ready.
  ///
  /// May be changed while the operation waits in its queue; it then stands among its new equals
  /// where it would if it had always been there.
  open var queuePriority: QueuePriority {
    get { withLinks { $0.priority } }
    set {
      let scheduler = withLinks { links in
        links.priority = newValue
        return links.scheduler
      }
      scheduler?.priorityChanged(of: self)
      valuesMayHaveChanged()
    }
  }

  // MARK: Identity and text

  /// Whether both are the same object.
  public static func == (a: Operation, b: Operation) -> Bool { a === b }

  /// Hashes the identity of the object.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The name that was set, or the type: what texts call the operation.
  package final var label: String { name ?? "\(type(of: self))" }

  /// The name, or the type when there is none, and the state.
  open var description: String { "\(label) (\(stateText))" }

  /// The description and what the operation waits for.
  open var debugDescription: String {
    let causes = waitCauses
    if causes.isEmpty { return description }
    return "\(description): \(causes.map(\.description).joined(separator: ", "))"
  }

  private var stateText: String {
    if isFinished { return isCancelled ? "cancelled, finished" : "finished" }
    if isExecuting { return isCancelled ? "cancelled, executing" : "executing" }
    if isCancelled { return "cancelled" }
    return isReady ? "ready" : "waiting"
  }
}
