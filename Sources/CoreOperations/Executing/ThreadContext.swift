import Synchronization

/// What a thread runs at this moment: the queue, and the operation whose code it is.
///
/// A worker has one for all that it starts, so that a step costs a plain store. They nest: a block
/// may start another operation manually, or add one to a queue whose executor runs it at once.
@safe
package final class ThreadContext: @unchecked Sendable {
  // Sendable: only ever touched by the thread that made it.

  private static let slot = ThreadLocal<ThreadContext>()

  /// The innermost one of this thread.
  static var current: ThreadContext? { slot.value }

  /// Those of this thread, the innermost first.
  static var all: Stack { Stack(top: slot.value) }

  struct Stack: Sequence, IteratorProtocol {
    private var top: ThreadContext?

    fileprivate init(top: ThreadContext?) { self.top = top }

    mutating func next() -> ThreadContext? {
      defer { top = top?.outer }
      return top
    }
  }

  /// The queue whose operation runs on this thread or in this task; nil outside of any.
  static var queueRunningHere: OperationQueue? {
    let context = slot.value
    let queue = if let context { unsafe context.queue } else { TaskContext.current?.queue }
    return queue?.isHidden == true ? nil : queue
  }

  /// Kept alive by the worker.
  unowned(unsafe) var queue: OperationQueue?
  /// That of the worker that this is the context of, and which keeps it alive; nil for all others.
  ///
  /// Not retained, because the worker does that: the reference would be counted on all processors.
  fileprivate(set) var scheduler: Unmanaged<Scheduler>?
  /// What the thread is at.
  var work = Work.nothing

  /// What a thread is at.
  @safe
  enum Work {
    case nothing
    /// The conditions of an operation are evaluated, by the one worker that does so for operations
    /// without slots.
    case evaluation(of: ObjectIdentifier)
    case closure(ClosureNumber, Progress)
    case barrier(Progress)
    /// The operation is kept alive by its queue, or by the caller of its `start()`. It is ahead if it
    /// was started without a slot, because it won't execute.
    case operation(Unmanaged<Operation>, isAhead: Bool, Progress)
    /// The queue has gone on without the worker, which is to do nothing more.
    case leftToOthers
  }

  /// How far the work of a worker is.
  enum Progress {
    case running
    /// It has returned and is being released, before its end is reported.
    case returned
    /// It has finished the operation and is being released, before that closes.
    case finished
    /// The operation has closed, which the worker reports to the queue.
    case closed
  }

  /// How far the work is; running where that has no meaning.
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

  /// Closes the operation that the work has finished, unless somebody has done so since.
  func closeFinished(_ operation: Operation) {
    guard progress == .finished else { return }
    progress = .running
    operation.close()
  }

  /// Whether the queue has gone on without the worker.
  var hasLeft: Bool { if case .leftToOthers = work { true } else { false } }

  /// The worker is done with its work, unless the queue has gone on without it.
  func workEnded() { if !hasLeft { work = .nothing } }

  /// The operation whose code runs here.
  ///
  /// A closure that runs becomes an operation when this is read, with the lock of its queue: not to
  /// be read with a lock held.
  var operation: Operation? {
    switch work {
    case .operation(let operation, _, _): unsafe operation.takeUnretainedValue()
    case .closure(let number, _):
      unsafe scheduler?._withUnsafeGuaranteedRef { $0.operation(ofRunning: number) }
    case .nothing, .evaluation, .barrier, .leftToOthers: nil
    }
  }
  /// What was started here and is released with this, because the queue may have let go of it.
  var kept: Operation?
  /// What the worker does next, while it runs code of the program that may have to wait for that.
  @exclusivity(unchecked) var next: UnsafeMutablePointer<NextStep?>?
  /// Whose code is suspended on this thread until this one returns.
  let outer: ThreadContext?
  /// Whether this is that of a worker on a thread of the shared pool; see ``TaskBeginning``.
  var mayBeginTasks = false
  /// The first job of a task that this thread is making.
  var beginning = Beginning.none

  /// What the thread that makes a task wants of the executor; see ``TaskBeginning``.
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

  /// The operation whose body runs, as opposed to its callbacks, or one of whose immediate
  /// conditions is evaluated.
  var bodyOperation: Operation? { isInBody ? operation : asked }
  private var isInBody = false
  /// The operation one of whose immediate conditions is evaluated here; kept alive by that call.
  var asked: Operation? { unsafe askedReference?.takeUnretainedValue() }
  private var askedReference: Unmanaged<Operation>?

  /// Asks a condition of an operation for what it knows at once: this thread must not block
  /// meanwhile.
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

  /// Code that keeps an operation from going on before it returns, and isn't its work.
  package enum Callback: UInt8 {
    case observer, propertyObserver, queueObserver, isReady

    /// As it is called in the message about a wait that would never end.
    var words: String {
      switch self {
      case .observer: "an observer"
      case .propertyObserver: "an observer of a property"
      case .queueObserver: "an observer of the queue"
      case .isReady: "isReady"
      }
    }
  }

  /// The operation that such code keeps from going on, and what that is.
  var held: (operation: Operation, by: Callback)? {
    unsafe heldReference.map { unsafe ($0.takeUnretainedValue(), heldBy) }
  }
  private var heldReference: Unmanaged<Operation>?
  private var heldBy = Callback.observer

  /// What was held before, to be given to ``endHolding(_:)``.
  @safe
  package struct Outer {
    fileprivate let operation: Unmanaged<Operation>?
    fileprivate let code: Callback
    /// The innermost context, to which that belongs; retained if it was made for this.
    fileprivate let context: Unmanaged<ThreadContext>
    fileprivate let isMade: Bool
  }

  /// Such code begins; ``endHolding(_:)`` follows on this thread.
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

  /// Runs such code.
  static func holding<Result>(
    _ operation: Operation,
    by code: Callback,
    _ body: () -> Result
  ) -> Result {
    let outer = beginHolding(operation, by: code)
    defer { endHolding(outer) }
    return body()
  }

  /// Runs the body of an operation, as the context of this thread if that is what its worker is
  /// at.
  package static func runBody(of operation: Operation, _ body: () -> Void) {
    guard let context = unsafe innermost(at: operation) else {
      return with(queue: queueRunningHere, operation: operation) { $0.enterBody(body) }
    }
    unsafe context._withUnsafeGuaranteedRef { $0.enterBody(body) }
  }

  /// Whether the code of an operation runs here that was one when it began.
  func isAt(_ operation: Operation) -> Bool {
    guard case .operation(let running, _, _) = work else { return false }
    return unsafe running.toOpaque() == Unmanaged.passUnretained(operation).toOpaque()
  }

  /// Code of the program is about to block this thread.
  static func willBlock() {
    for contexts in [all, Stack(top: hidden.value)] {
      for context in contexts {
        unsafe context.scheduler?._withUnsafeGuaranteedRef { $0.workerBlocks(context) }
      }
    }
  }

  /// Whether this is at the work of a queue, be it an operation or a barrier.
  func isWorker(of queue: OperationQueue) -> Bool { unsafe self.queue === queue }

  /// Whether this is called from the body of an operation.
  package static func isInBody(of operation: Operation) -> Bool {
    guard let context = unsafe innermost(at: operation) else { return false }
    return unsafe context._withUnsafeGuaranteedRef { $0.isInBody }
  }

  /// The innermost one if that is at an operation; not counted, because the stack holds a
  /// reference.
  private static func innermost(at operation: Operation) -> Unmanaged<ThreadContext>? {
    guard let context = unsafe slot.reference,
      unsafe context._withUnsafeGuaranteedRef({ $0.isAt(operation) })
    else { return nil }
    return unsafe context
  }

  /// This is the context of a worker.
  func become(workerOf scheduler: Scheduler) {
    unsafe self.scheduler = .passUnretained(scheduler)
  }

  /// Calls a body with that of the worker which has started an operation on this thread, and does
  /// nothing else, and with its scheduler.
  ///
  /// - Returns: Whether there is one.
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

  /// The queue of an operation whose body this thread runs, found without asking the queue itself.
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

  /// Runs code that has nothing to do with what this thread is at, as if it were on a thread of its
  /// own.
  package static func withoutAny(_ body: () -> Void) {
    let (context, outer) = (slot.value, hidden.value)
    slot.value = nil
    hidden.value = context
    body()
    slot.value = context
    hidden.value = outer
  }

  /// The innermost one whose code is suspended on this thread by ``withoutAny(_:)``.
  private static let hidden = ThreadLocal<ThreadContext>()

  /// Makes a new one the innermost for as long as a body runs.
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

/// A step that a worker was told to take, and the closure that it may have to run.
struct NextStep: Sendable {
  var step: SchedulerState.Step
  var closure: QueueClosures.Closure?
}

/// What a task runs, and what inherits its task-locals: the operation whose code it is, and the
/// queue.
package final class TaskContext: Sendable {
  @TaskLocal static var current: TaskContext?

  let operation: Operation
  let queue: OperationQueue?
  /// Set before the task runs.
  private let task: Atomic<Int>

  /// Whether the running task is the one whose end the operation waits for, and not one that it
  /// made.
  var isOwnTask: Bool {
    // Outside of any task, what a thread inherits isn't its own either.
    let current = TaskIdentity.current
    return current != nil && current?.hash == task.load(ordering: .relaxed)
  }

  /// Of a task that isn't made yet, and will be the one whose end the operation waits for.
  init(_ operation: Operation, queue: OperationQueue?, task: Int = 0) {
    self.operation = operation
    self.queue = queue
    self.task = Atomic(task)
  }

  /// The operation doesn't wait for the end of the running task any more.
  package static func disown() { current?.task.store(0, ordering: .relaxed) }

  /// The task was made, and has not run.
  ///
  /// It reads this in a job that is run later, and so is ordered behind it.
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

/// Which task it is; compared, and never followed.
private struct TaskIdentity {
  // That of a task that is over may be given to another one, which then inherited its locals after
  // the operation had ended, and its waits are no operation's.
  let hash: Int

  static var current: TaskIdentity? {
    unsafe withUnsafeCurrentTask { unsafe $0.map { unsafe TaskIdentity(hash: $0.hashValue) } }
  }
}

/// Which operations' code it is that runs on this thread and in this task.
package enum CurrentCode {
  /// The innermost operation of the layer whose body, or one of whose immediate conditions, runs
  /// here; nil outside of all.
  package static var operation: Operation? {
    for context in ThreadContext.all {
      if let operation = context.bodyOperation, operation.isLayered { return operation }
    }
    return TaskContext.current?.operation
  }

  /// The operations whose code this is: bodies, callbacks on their workers, and immediate
  /// conditions.
  package static var callers: [Operation] {
    var callers = ThreadContext.all.compactMap { $0.operation ?? $0.asked }
    if let operation = TaskContext.current?.operation { callers.append(operation) }
    return callers
  }
}

extension OperationQueue {
  /// Whether this is called on a worker of the queue, in an operation or a barrier, or by a
  /// completion block of a member.
  package final var isCalledByWorker: Bool {
    scheduler.isInOwnCompletion || ThreadContext.all.contains { $0.isWorker(of: self) }
  }
}
