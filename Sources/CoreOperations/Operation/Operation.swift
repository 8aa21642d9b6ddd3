import Dispatch
import Synchronization

/// A unit of work that runs once and has dependencies, a priority, cancellation and a completion
/// block.
///
/// Override ``main()`` if the work is done when the method returns. Override ``start()`` together
/// with ``isExecuting``, ``isFinished`` and ``isAsynchronous`` if the work continues after
/// ``start()`` has returned. In this case, report changes with ``willChangeValue(forKey:)`` and
/// ``didChangeValue(forKey:)``. To run the operation, add it to an ``OperationQueue``, or call
/// ``start()`` yourself.
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
/// You can use all members from any thread. No method holds a lock while it calls an override, an
/// observer or a block. Therefore overrides, observers and blocks may call every member.
///
/// A subclass restates `@unchecked Sendable`, and protects the properties that it adds. A queue
/// reads an override of ``isReady`` before it starts the operation. The queue reads an override of
/// ``isFinished`` after ``start()`` and when a change is reported. It reads both on any thread and
/// any number of times, so these overrides must return without waiting.
///
/// Overrides of ``dependencies``, ``queuePriority``, ``completionBlock``, ``isCancelled`` and
/// ``isExecuting`` change the values that the program reads. The queue uses the values that `super`
/// received.
open class Operation: @unchecked Sendable, Hashable, CustomStringConvertible,
  CustomDebugStringConvertible
{
  // The stored properties of an operation, with their guards, and the reasons why that is safe (`@unchecked
  // Sendable`):
  //
  // - `life`, an atomic word: the phase and the cancelled flag. Each thread may read it. It changes through
  //   `step`, one event of `OperationLife` at a time. The thread whose event made the change gets the action
  //   to perform. If several threads report the end, only one of them performs the action.
  // - `readiness`, an atomic word: the number of open dependencies, and whether the operation is held. The
  //   thread whose event leaves no wait open offers the operation to its queue. The word is atomic, because
  //   the end of an operation must not wait for the queues of its dependents.
  // - `links`, behind `linksLock`: dependents, waiters, the completion block, the reason of a cancel and the
  //   queue. The lock is a leaf, because code under this lock acquires no other lock. Therefore the locks of
  //   a queue, of a dependency list and of the advanced layer may be held around it. `isIn(_:)` reads one
  //   atomic word of the links without the lock.
  // - `dependencyList`, behind `dependencyLock`: the edges to dependencies. The links of one dependency may
  //   be locked inside, never those of two.
  // - `scheduling`: guarded by the lock of the scheduler of the only queue that the operation is ever in.
  //   `SchedulerState` accesses it through a `Member`. Before the operation is a member, and after it has
  //   left, no code reads it.
  // - `ownLayer` and `isLayered`: set while the operation is initialized, and constant from then on.
  //   The reference is to the operation itself, so it is neither counted nor ever dangling.
  // - `isObserved`, atomic: false until the first observer of a property is stored, so that a change
  //   of an operation without observers costs one load.
  //
  // No code of the program runs under any of these locks, and no object of the program is released there. An
  // object that is taken out under a lock is released after it.
  //
  // The order determines the size: 152 bytes, and 168 with a block, which malloc rounds up to 176.

  /// The phase and the cancelled flag.
  package final let life = AtomicState(OperationLife())
  /// The open dependencies and holds.
  package final let readiness = AtomicState(OperationReadiness())
  private let linksLock = Lock()
  private let dependencyLock = Lock()
  // Overlapping accesses aren't checked, as for `scheduling` below. These locks aren't recursive, so there
  // are none, and the check was a quarter of the cost of an empty block (callgrind).
  @exclusivity(unchecked) private final var links = OperationLinks()
  /// A Boolean value that indicates whether any property was ever observed, set before the first observer is
  /// stored.
  final let isObserved = Atomic(false)
  /// A Boolean value that indicates whether there is a ``layer``, known without counting a reference.
  final var isLayered = false
  @exclusivity(unchecked) private final var dependencyList = DependencyList()
  /// The storage of ``layer``, which isn't retained because it is the operation itself.
  private final unowned(unsafe) var ownLayer: (any LayeredOperation)?
  @exclusivity(unchecked) final var scheduling = SchedulingFields()

  /// Creates an operation of normal priority without dependencies, which isn't in a queue.
  public init() {}

  deinit {
    // No other reference to the operation is left.
    if unsafe !dependencyList.isEmpty {
      unsafe DependencyTeardown.release(dependencyList, areOpen: readiness.current.unfinished > 0)
    }
  }

  /// This operation as its layer sees it; nil for a plain operation.
  final var layer: (any LayeredOperation)? {
    @inline(__always) get { unsafe ownLayer }
    @inline(__always) set { unsafe ownLayer = newValue }
  }

  // MARK: Guarded

  /// Accesses dependents, queue and the properties that few operations need, with their lock held.
  ///
  /// The lock is a leaf: no other lock is acquired inside.
  @inline(__always)
  final func withLinks<Result: ~Copyable>(_ body: (inout OperationLinks) -> Result) -> Result {
    linksLock.withLock { unsafe body(&links) }
  }

  /// The priority level, from 0 for the most urgent priority to 4, read without the lock of the links.
  final var priorityLevel: UInt8 { unsafe links.priorityLevel }
  /// A Boolean value that indicates whether the layer decides when a slot is available, read without the lock
  /// of the links.
  final var isAskedAtStart: Bool { unsafe links.isAskedAtStart }

  /// Returns whether the operation is in a scheduler's queue; false while it is being added.
  final func isIn(_ scheduler: ObjectIdentifier) -> Bool { unsafe links.isIn(scheduler) }

  /// Accesses the dependencies, with their lock held.
  ///
  /// The links of one dependency may be locked inside.
  @inline(__always)
  final func withDependencyList<Result>(_ body: (inout DependencyList) -> Result) -> Result {
    dependencyLock.withLock { unsafe body(&dependencyList) }
  }

  // MARK: Running

  /// Starts the operation: checks that it may run, calls ``main()`` and finishes it.
  ///
  /// A queue calls this method on one of its workers. The default implementation has three cases:
  ///
  /// - If the operation has finished, the method does nothing.
  /// - If the operation was cancelled, the method finishes it without calling ``main()``. An
  ///   override of ``isFinished`` makes no difference to this.
  /// - Otherwise the method calls ``main()``. If an override of ``isFinished`` still returns false
  ///   after that, the operation keeps executing until the subclass reports its end.
  ///
  /// An override doesn't call `super`. It checks ``isCancelled`` first, and sets its own
  /// `isExecuting` and `isFinished`.
  ///
  /// - Precondition: If you call the method yourself, the operation isn't in a queue and isn't
  ///   executing. The operation is also ready or cancelled.
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

  /// Performs the work of a synchronous operation; the default implementation does nothing.
  ///
  /// The default ``start()`` calls this method once, on the thread on which ``start()`` runs, while
  /// no lock is held. Check ``isCancelled`` from time to time. An override need not call `super`.
  open func main() {}

  /// Releases the work that ``main()`` runs, because the operation has finished.
  func letGoOfWork() {}

  /// Requests that the operation stop; the operation finishes by itself.
  ///
  /// The method sets ``isCancelled``. The effect depends on the state of the operation:
  ///
  /// - If the operation is in a queue and hasn't started, it no longer waits for its dependencies.
  ///   The queue starts it ahead of other operations and without a slot, so that it leaves the
  ///   queue without a call of ``main()``. A suspended queue does so when it is resumed.
  /// - If the operation isn't in a queue, it finishes when it is added to a queue or started.
  /// - If the operation is executing, it continues until its code checks ``isCancelled``.
  /// - If the operation has finished, nothing changes.
  ///
  /// An override calls `super`.
  open func cancel() { cancelAsRequested(reason: nil) }

  /// Cancels the task of the operation's body, if the operation has such a task.
  ///
  /// It is called when an operation that executes is cancelled, before a body that waits for its slot
  /// continues.
  func cancelTask() {}

  /// A block that runs once, on another thread, after ``isFinished`` became true; nil from then on.
  ///
  /// When ``isFinished`` becomes true, the slot of the operation is free and its dependents start.
  /// Until the block has returned, the operation stays among the `operations` of its queue, and a
  /// wait for the whole queue continues. A block that is set after the end never runs.
  ///
  /// The completion blocks of several operations run in no particular order and may overlap, even
  /// in a queue that runs one operation at a time. If the order matters, do the work at the end of
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

  /// Whether the operation was cancelled before it finished.
  open var isCancelled: Bool { isCancelledFlag }

  /// Whether the operation is executing.
  open var isExecuting: Bool { life.current.phase == .executing }

  /// Whether the operation has finished: its work returned, or the operation was cancelled and
  /// didn't run.
  open var isFinished: Bool { life.current.phase >= .ended }

  /// Whether the operation is asynchronous; the old name of ``isAsynchronous``.
  open var isConcurrent: Bool { isAsynchronous }

  /// Whether the work of the operation continues after ``start()`` has returned; false unless
  /// overridden.
  ///
  /// Queues ignore this property.
  open var isAsynchronous: Bool { false }

  /// Whether all dependencies of the operation have finished; also true if it is executing,
  /// finished or cancelled.
  ///
  /// An override can delay the start further. Report with `didChangeValue(forKey: "isReady")` that
  /// the value became true. An override can't start the operation before its dependencies have
  /// finished, whether it calls `super` or not.
  open var isReady: Bool {
    let life = life.current
    if life.isCancelled || life.phase > .enqueued { return true }
    let readiness = readiness.current
    return readiness.dependenciesAreFinished && !readiness.isHeld
  }

  /// The reason for the cancel; nil after a plain ``cancel()``, or if the operation wasn't
  /// cancelled.
  public final var cancellationReason: (any Error)? {
    guard isCancelledFlag else { return nil }
    return layer.map { $0.reasonOfCancel } ?? withLinks { $0.extra?.cancellationReason }
  }

  final var isCancelledFlag: Bool { life.current.isCancelled }

  // MARK: Dependencies

  /// Makes this operation wait until another operation has finished, regardless of its outcome.
  ///
  /// You may call this method while the operation waits in a queue. A dependency that is added
  /// before the start delays the operation. After the start, a dependency is only recorded. Adding
  /// the same dependency again changes nothing. An operation that is made to depend on itself is
  /// immediately cancelled, with an ``OperationCycleError``.
  ///
  /// Operations that wait for each other in a cycle are cancelled once one of them is in a queue.
  /// The dependency that completes the cycle is then removed, as ``OperationCycleError`` describes.
  ///
  /// - Parameter op: An operation in any queue or none. It is retained until this operation is
  ///   released, or until `op` isn't a dependency anymore.
  /// - Complexity: O(1), amortized.
  open func addDependency(_ op: Operation) {
    linkDependency(op)
    readinessMayFollow(op)
    valuesMayHaveChanged()
  }

  /// Removes a dependency, so that this operation no longer waits for it.
  ///
  /// - Parameter op: The dependency. An operation that isn't a dependency is ignored.
  /// - Complexity: O(1), amortized.
  open func removeDependency(_ op: Operation) {
    unlinkDependency(op)
    valuesMayHaveChanged()
  }

  /// The operations that were added with ``addDependency(_:)``, in that order, finished or not.
  ///
  /// The array doesn't contain operations that ``removeDependency(_:)`` has removed. If a cycle was
  /// cancelled, the array doesn't contain the dependency that completed the cycle.
  ///
  /// - Complexity: O(n), n the number of dependencies.
  open var dependencies: [Operation] { withDependencyList { $0.operations } }

  // MARK: Waiting

  /// Blocks the thread until the operation has finished.
  ///
  /// Don't call this method on the main thread of an app, because the thread can't draw in the
  /// meantime. On Apple's systems, the wait doesn't raise the priority of the threads that run the
  /// operation. Xcode's Thread Performance Checker reports such a wait as a hang risk.
  ///
  /// In asynchronous code, use ``untilFinished()``. Neither method waits for the completion block
  /// or for observers of properties. They may run even after the method has returned.
  ///
  /// - Precondition: If the code of an operation, the *caller*, calls the method, this operation
  ///   doesn't wait for the caller. It would wait if it depended on the caller, needed the slot
  ///   that the caller holds, or waited for the caller in its own code. If the method is called on
  ///   the main thread, neither this operation nor any operation for which it waits needs the main
  ///   thread.
  @available(*, noasync, message: "It blocks the thread; use 'try await untilFinished()'.")
  open func waitUntilFinished() {
    if withLinks({ $0.isClosed }) { return }
    noteBlocking(by: "waitUntilFinished()") {
      let wait = ThreadWait()
      if register(.thread(wait)) { wait.block() }
    }
  }

  /// Suspends the task until the operation has finished, without blocking a thread.
  ///
  /// Like ``waitUntilFinished()``, this method doesn't wait for the completion block or for
  /// observers of properties. They may run even after it has returned.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first; the operation continues.
  ///   ``OperationCycleError`` if the task is the body of an operation, the *caller*, and this
  ///   operation waits for the caller. It waits if it depends on the caller, needs the slot that
  ///   the caller holds, or awaits the caller in its own body.
  public final func untilFinished() async throws {
    try await untilFinished(AsyncWait())
  }

  /// Suspends the task until the operation has finished, or the caller has ended the wait with an error.
  package final func untilFinished(_ wait: AsyncWait) async throws {
    if life.current.phase == .finished { return try Task.checkCancellation() }
    let token = try OwnWaits.begin(for: .operation(self))
    defer { OwnWaits.end(token) }
    do {
      try await wait.run { self.register(.task($0)) }
    } catch {
      withLinks { $0.extra?.waiters.waitCancelled() }
      throw error
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

  /// The name of the operation in descriptions; nil unless set.
  open var name: String? {
    get { withLinks { $0.extra?.name } }
    set {
      withLinks { links in
        if newValue != nil || links.extra != nil { links.makeExtra().name = newValue }
      }
    }
  }

  /// A value by which the program identifies the operation, such as an enumeration case; nil unless
  /// set.
  ///
  /// The name is for people, and the tag is for code. The origins of errors, graphs and timelines
  /// contain both the name and the tag. The `==` and the `hash(into:)` of the tag may be called
  /// from any thread.
  public final var tag: (any Hashable & Sendable)? {
    get { withLinks { $0.extra?.tag } }
    set {
      // The old value is released without the lock.
      let old = withLinks { links -> (any Hashable & Sendable)? in
        guard newValue != nil || links.extra != nil else { return nil }
        return exchange(&links.makeExtra().tag, with: newValue)
      }
      withExtendedLifetime(old) {}
    }
  }

  /// The importance of the work for the user of the program.
  ///
  /// The operation stores the value for code that reads it. The threads that run the operation have
  /// the level of its queue: ``OperationQueue/qualityOfService``.
  open var qualityOfService: QualityOfService {
    get { withLinks { $0.extra?.qualityOfService ?? .default } }
    set { withLinks { $0.makeExtra().qualityOfService = newValue } }
  }

  /// A recorded value from 0 to 1, without effect.
  @available(*, deprecated, message: "Set qualityOfService instead; this value has no effect.")
  open var threadPriority: Double {
    get { withLinks { $0.extra?.threadPriority ?? 0.5 } }
    set { withLinks { $0.makeExtra().threadPriority = min(max(newValue, 0), 1) } }
  }

  /// The priority of the operation among the ready operations of its queue.
  ///
  /// You may change the priority while the operation waits in its queue. The operation then takes
  /// its place among the operations of the new priority, as if it had always had that priority.
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

  /// Returns whether both operations are the same object.
  public static func == (a: Operation, b: Operation) -> Bool { a === b }

  /// Hashes the identity of the operation.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The name that was set, or the type; messages and descriptions use this label.
  package final var label: String { name ?? "\(type(of: self))" }

  /// The name of the operation, or its type if it has no name, and its state.
  open var description: String { "\(label) (\(stateText))" }

  /// The description of the operation, and the causes for which it waits.
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
