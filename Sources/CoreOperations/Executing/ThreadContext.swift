import Synchronization

/// The code that a thread runs at this moment: the queue, and the operation that the code belongs to.
///
/// A worker has one context for all operations that it starts, so that a step costs a plain store. Contexts
/// nest, because a block may start another operation manually, or add an operation to a queue whose executor
/// runs it immediately.
@safe
package final class ThreadContext: @unchecked Sendable {
  // Sendable: only the thread that created the context uses it.

  private static let slot = ThreadLocal<ThreadContext>()

  /// The innermost context of this thread.
  static var current: ThreadContext? { slot.value }

  /// The contexts of this thread, the innermost first.
  static var all: Stack { Stack(top: slot.value) }

  struct Stack: Sequence, IteratorProtocol {
    private var top: ThreadContext?

    fileprivate init(top: ThreadContext?) { self.top = top }

    mutating func next() -> ThreadContext? {
      defer { top = top?.outer }
      return top
    }
  }

  /// The queue whose operation runs on this thread or in this task; nil outside of operations.
  static var queueRunningHere: OperationQueue? {
    let context = slot.value
    let queue = if let context { unsafe context.queue } else { TaskContext.current?.queue }
    return queue?.isHidden == true ? nil : queue
  }

  /// The queue, which the worker keeps alive.
  unowned(unsafe) var queue: OperationQueue?
  /// The scheduler of the worker that has this context; nil for all other contexts.
  ///
  /// The worker keeps the scheduler alive. The scheduler isn't retained here, because its reference count is
  /// shared by all processors.
  fileprivate(set) var scheduler: Unmanaged<Scheduler>?
  /// The current work of the thread.
  var work = Work.nothing

  /// The work of a thread.
  @safe
  enum Work {
    case nothing
    /// The conditions of an operation are evaluated by the service worker, which does this for operations
    /// without slots.
    case evaluation(of: ObjectIdentifier)
    case closure(ClosureNumber, Progress)
    case barrier(Progress)
    /// An operation runs, which its queue or the caller of its `start()` keeps alive.
    ///
    /// The operation is ahead if it was started without a slot, because it won't execute.
    case operation(Unmanaged<Operation>, isAhead: Bool, Progress)
    /// The queue has continued without the worker, which has to do nothing more.
    case leftToOthers
  }

  /// The progress of a worker's work.
  enum Progress {
    case running
    /// The work has returned and is being released, before its end is reported.
    case returned
    /// The work has finished the operation and is being released, before the operation closes.
    case finished
    /// The operation has closed, which the worker reports to the queue.
    case closed
  }

  /// The progress of the work; running for work without progress.
  var progress: Progress {
    get {
      switch work {
      case .closure(_, let progress), .barrier(let progress), .operation(_, _, let progress):
        progress
      case .nothing, .evaluation, .leftToOthers: .running
      }
    }
    set {
      switch work {
      case .closure(let number, _): work = .closure(number, newValue)
      case .barrier: work = .barrier(newValue)
      case .operation(let operation, let isAhead, _):
        work = unsafe .operation(operation, isAhead: isAhead, newValue)
      case .nothing, .evaluation, .leftToOthers: return
      }
    }
  }

  /// Closes the operation that the work has finished, unless other code has closed it since.
  func closeFinished(_ operation: Operation) {
    guard progress == .finished else { return }
    progress = .running
    operation.close()
  }

  /// A Boolean value that indicates whether the queue has continued without the worker.
  var hasLeft: Bool { if case .leftToOthers = work { true } else { false } }

  /// Records that the worker has done its work, unless the queue has continued without the worker.
  func workEnded() { if !hasLeft { work = .nothing } }

  /// The operation whose code runs here.
  ///
  /// If a closure is running, reading this property turns it into an operation, with the lock of its queue.
  /// So don't read it with a lock held.
  var operation: Operation? {
    switch work {
    case .operation(let operation, _, _): unsafe operation.takeUnretainedValue()
    case .closure(let number, _):
      unsafe scheduler?._withUnsafeGuaranteedRef { $0.operation(ofRunning: number) }
    case .nothing, .evaluation, .barrier, .leftToOthers: nil
    }
  }
  /// The operation that was started here and is released with this context, because the queue may have
  /// released it.
  var kept: Operation?
  /// The next step of the worker, while it runs code of the program that may have to wait for that step.
  @exclusivity(unchecked) var next: UnsafeMutablePointer<NextStep?>?
  /// The context whose code is suspended on this thread until this context ends.
  let outer: ThreadContext?
  /// A Boolean value that indicates whether this context belongs to a worker on a thread of the shared pool;
  /// see ``TaskBeginning``.
  var mayBeginTasks = false
  /// The first job of a task that this thread is creating.
  var beginning = Beginning.none

  /// The request of a thread that creates a task to the executor; see ``TaskBeginning``.
  enum Beginning {
    case none
    case keepJob
    case job(UnownedJob)
  }

  private init(queue: OperationQueue?, operation: Operation?) {
    unsafe self.queue = queue
    outer = Self.slot.value
    if let operation {
      work = unsafe .operation(.passUnretained(operation), isAhead: false, .running)
    }
  }

  /// The operation whose body runs, or one of whose immediate conditions is evaluated; nil in its callbacks.
  var bodyOperation: Operation? { isInBody ? operation : asked }
  private var isInBody = false
  /// The operation one of whose immediate conditions is evaluated here; the evaluating call keeps it alive.
  var asked: Operation? { unsafe askedReference?.takeUnretainedValue() }
  private var askedReference: Unmanaged<Operation>?

  /// Calls a closure that evaluates an immediate condition of an operation; this thread must not block during
  /// the call.
  package static func asking<Answer>(_ operation: Operation, _ ask: () -> Answer) -> Answer {
    guard let context = unsafe slot.reference else {
      return with(queue: operation.withLinks { $0.scheduler }?.owner) { _ in
        asking(operation, ask)
      }
    }
    return unsafe context._withUnsafeGuaranteedRef { context in
      let outer = unsafe context.askedReference
      unsafe context.askedReference = .passUnretained(operation)
      defer { unsafe context.askedReference = outer }
      return ask()
    }
  }

  // MARK: Code that isn't the work of an operation

  /// Code that delays an operation until it returns, and isn't the operation's work.
  package enum Callback: UInt8 {
    case observer, propertyObserver, queueObserver, isReady

    /// The description of the code in the message about a wait that would never end.
    var words: String {
      switch self {
      case .observer: "an observer"
      case .propertyObserver: "an observer of a property"
      case .queueObserver: "an observer of the queue"
      case .isReady: "isReady"
      }
    }
  }

  /// The operation that a callback delays, and the kind of the callback.
  var held: (operation: Operation, by: Callback)? {
    unsafe heldReference.map { unsafe ($0.takeUnretainedValue(), heldBy) }
  }
  private var heldReference: Unmanaged<Operation>?
  private var heldBy = Callback.observer

  /// The operation that was held before, to be passed to ``endHolding(_:)``.
  @safe
  package struct Outer {
    fileprivate let operation: Unmanaged<Operation>?
    fileprivate let code: Callback
    /// The innermost context, which the operation was held in; retained if it was created for this call.
    fileprivate let context: Unmanaged<ThreadContext>
    fileprivate let isMade: Bool
  }

  /// Records that a callback begins.
  ///
  /// A call of ``endHolding(_:)`` follows on this thread.
  package static func beginHolding(_ operation: Operation, by code: Callback) -> Outer {
    if let context = unsafe slot.reference {
      return unsafe hold(operation, by: code, in: context, isMade: false)
    }
    let context = unsafe Unmanaged.passRetained(ThreadContext(queue: nil, operation: nil))
    unsafe slot.reference = context
    return unsafe hold(operation, by: code, in: context, isMade: true)
  }

  private static func hold(
    _ operation: Operation,
    by code: Callback,
    in context: Unmanaged<ThreadContext>,
    isMade: Bool
  ) -> Outer {
    unsafe context._withUnsafeGuaranteedRef { inner in
      let outer = unsafe Outer(
        operation: inner.heldReference,
        code: inner.heldBy,
        context: context,
        isMade: isMade
      )
      unsafe inner.heldReference = .passUnretained(operation)
      inner.heldBy = code
      return outer
    }
  }

  package static func endHolding(_ outer: Outer) {
    unsafe outer.context._withUnsafeGuaranteedRef { context in
      unsafe context.heldReference = outer.operation
      context.heldBy = outer.code
      if outer.isMade { slot.value = context.outer }
    }
    if outer.isMade { unsafe outer.context.release() }
  }

  /// Runs a callback.
  static func holding<Result>(
    _ operation: Operation,
    by code: Callback,
    _ body: () -> Result
  ) -> Result {
    let outer = beginHolding(operation, by: code)
    defer { endHolding(outer) }
    return body()
  }

  /// Runs the body of an operation, in the context of this thread if its worker is running the operation.
  package static func runBody(of operation: Operation, _ body: () -> Void) {
    guard let context = unsafe innermost(at: operation) else {
      return with(queue: queueRunningHere, operation: operation) { $0.enterBody(body) }
    }
    unsafe context._withUnsafeGuaranteedRef { $0.enterBody(body) }
  }

  /// Returns whether this context runs the code of an operation, other than a closure that has become an
  /// operation.
  func isAt(_ operation: Operation) -> Bool {
    guard case .operation(let running, _, _) = work else { return false }
    return unsafe running.toOpaque() == Unmanaged.passUnretained(operation).toOpaque()
  }

  /// Makes queues continue without the workers on this thread, because code of the program is about to block
  /// it.
  static func willBlock() {
    for contexts in [all, Stack(top: hidden.value)] {
      for context in contexts {
        unsafe context.scheduler?._withUnsafeGuaranteedRef { $0.workerBlocks(context) }
      }
    }
  }

  /// Returns whether this context runs work of a queue, either an operation or a barrier.
  func isWorker(of queue: OperationQueue) -> Bool { unsafe self.queue === queue }

  /// Returns whether the caller is the body of an operation.
  package static func isInBody(of operation: Operation) -> Bool {
    guard let context = unsafe innermost(at: operation) else { return false }
    return unsafe context._withUnsafeGuaranteedRef { $0.isInBody }
  }

  /// Returns the innermost context if it runs an operation; the reference isn't counted, because the stack
  /// holds a reference.
  private static func innermost(at operation: Operation) -> Unmanaged<ThreadContext>? {
    guard let context = unsafe slot.reference,
      unsafe context._withUnsafeGuaranteedRef({ $0.isAt(operation) })
    else { return nil }
    return unsafe context
  }

  /// Makes this the context of a worker.
  func become(workerOf scheduler: Scheduler) {
    unsafe self.scheduler = .passUnretained(scheduler)
  }

  /// Calls a body with the context and the scheduler of the worker that has started an operation on this
  /// thread and runs no other code.
  ///
  /// - Returns: Whether there is such a worker.
  static func withWorker(
    running operation: Operation,
    _ body: (ThreadContext, Scheduler) -> Void
  ) -> Bool {
    guard let context = unsafe innermost(at: operation) else { return false }
    return unsafe context._withUnsafeGuaranteedRef { context in
      guard let scheduler = unsafe context.scheduler else { return false }
      unsafe scheduler._withUnsafeGuaranteedRef { body(context, $0) }
      return true
    }
  }

  /// Returns the queue of an operation whose body this thread runs, without reading it from the queue itself.
  package static func queue(of operation: Operation) -> OperationQueue? {
    guard let scheduler = operation.withLinks({ $0.scheduler }) else { return nil }
    guard let context = slot.value, context.isAt(operation) else {
      return scheduler.owner
    }
    return unsafe context.queue
  }

  private func enterBody(_ body: () -> Void) {
    isInBody = true
    body()
    isInBody = false
  }

  /// Runs unrelated code as if it were on a separate thread.
  package static func withoutAny(_ body: () -> Void) {
    let (context, outer) = (slot.value, hidden.value)
    slot.value = nil
    hidden.value = context
    body()
    slot.value = context
    hidden.value = outer
  }

  /// The innermost context whose code is suspended on this thread by ``withoutAny(_:)``.
  private static let hidden = ThreadLocal<ThreadContext>()

  /// Makes a new context the innermost context while a body runs.
  static func with<Result>(
    queue: OperationQueue?,
    operation: Operation? = nil,
    _ body: (ThreadContext) -> Result
  ) -> Result {
    let context = ThreadContext(queue: queue, operation: operation)
    slot.value = context
    defer {
      withExtendedLifetime((context, queue, operation)) { slot.value = context.outer }
    }
    return body(context)
  }
}

/// A step that a worker has to take, and the closure that it may have to run.
struct NextStep: Sendable {
  var step: SchedulerState.Step
  var closure: QueueClosures.Closure?
}

/// The operation and the queue that a task runs for, which are inherited with its task-locals.
package final class TaskContext: Sendable {
  @TaskLocal static var current: TaskContext?

  let operation: Operation
  let queue: OperationQueue?
  /// The hash of the operation's own task, set before the task runs.
  private let task: Atomic<Int>

  /// A Boolean value that indicates whether the running task is the task whose end the operation waits for,
  /// instead of a task that it created.
  var isOwnTask: Bool {
    // Outside of any task, a context that a thread inherits doesn't belong to it either.
    let current = TaskIdentity.current
    return current != nil && current?.hash == task.load(ordering: .relaxed)
  }

  /// Creates the context of a task that isn't created yet, and whose end the operation will wait for.
  init(_ operation: Operation, queue: OperationQueue?, task: Int = 0) {
    self.operation = operation
    self.queue = queue
    self.task = Atomic(task)
  }

  /// Records that the operation doesn't wait for the end of the running task any more.
  package static func disown() { current?.task.store(0, ordering: .relaxed) }

  /// Records the task, which was created and has not run.
  ///
  /// The task reads this in a job that is run later, so the read is ordered after this write.
  func own(_ made: Task<Void, Never>) { task.store(made.hashValue, ordering: .relaxed) }

  /// Runs a body on behalf of an operation, in the task of the caller.
  nonisolated(nonsending) package static func with<Result>(
    _ operation: Operation,
    queue: OperationQueue? = nil,
    _ body: nonisolated(nonsending) () async throws -> Result
  ) async rethrows -> Result {
    let context = TaskContext(
      operation,
      queue: queue ?? operation.withLinks { $0.scheduler }?.owner,
      task: TaskIdentity.current?.hash ?? 0
    )
    return try await $current.withValue(context, operation: body)
  }
}

/// The identity of a task, which is compared and never dereferenced.
private struct TaskIdentity {
  // The hash of a task that has ended may be reused by another task. The other task then inherited its locals
  // after the operation had ended, so its waits don't belong to an operation.
  let hash: Int

  static var current: TaskIdentity? {
    unsafe withUnsafeCurrentTask { unsafe $0.map { unsafe TaskIdentity(hash: $0.hashValue) } }
  }
}

/// The operations whose code runs on this thread and in this task.
package enum CurrentCode {
  /// The innermost operation of the layer whose body or immediate condition runs here; nil outside of all.
  package static var operation: Operation? {
    for context in ThreadContext.all {
      if let operation = context.bodyOperation, operation.isLayered { return operation }
    }
    return TaskContext.current?.operation
  }

  /// The operations whose code runs here: bodies, callbacks on their workers, and immediate conditions.
  package static var callers: [Operation] {
    var callers = ThreadContext.all.compactMap { $0.operation ?? $0.asked }
    if let operation = TaskContext.current?.operation { callers.append(operation) }
    return callers
  }
}

extension OperationQueue {
  /// A Boolean value that indicates whether the caller is on a worker of the queue, in an operation or a
  /// barrier, or in a completion block of a member.
  package final var isCalledByWorker: Bool {
    scheduler.isInOwnCompletion || ThreadContext.all.contains { $0.isWorker(of: self) }
  }
}
