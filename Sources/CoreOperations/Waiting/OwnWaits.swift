import Dispatch
import Synchronization

/// The waits that the code of operations begins, which may complete a cycle that isn't visible in
/// dependencies.
package enum OwnWaits {
  /// The number of binding waits in this process.
  ///
  /// While the number is 0, no other code needs to check.
  private static let count = Atomic<Int>(0)
  private static let lastID = Atomic<UInt64>(0)

  static var isAny: Bool { isInterruptible || count.load(ordering: .sequentiallyConsistent) > 0 }

  /// A registered wait, to be ended by ``end(_:)``.
  package struct Token {
    fileprivate var operations: [Operation] = []
    fileprivate var id: UInt64 = 0
    fileprivate var isBinding = true
    /// The number of the wait that blocks the main thread; nil if the wait blocks no thread or another
    /// thread.
    fileprivate var mainThread: UInt64?
    /// The queues that continue although this thread is cancelling their operations.
    fileprivate var paused: [Scheduler] = []
    /// The record of the wait, if the waiting code doesn't belong to an operation.
    fileprivate var notes: WaitNotes?
    static let none = Token()
  }

  /// Begins a wait of the operation whose code runs here.
  ///
  /// A call of ``end(_:)`` follows.
  ///
  /// - Throws: ``OperationCycleError`` if the target waits for that operation.
  package static func begin(for target: WaitTarget) throws(OperationCycleError) -> Token {
    switch register(target, blocksThread: false) {
    case .success(let token): token
    case .failure(let cycle): throw OperationCycleError(cycle)
    }
  }

  /// Begins a wait, or returns the cycle that it would complete.
  ///
  /// If several waits complete a cycle together, the last wait to be registered sees the others.
  private static func register(
    _ target: WaitTarget,
    blocksThread: Bool
  ) -> Result<Token, WaitSearch.Cycle> {
    let task = TaskContext.current
    let waiting = operationsRunningHere(in: task)
    if waiting.isEmpty { return .success(noteWait(ofTaskMadeBy: task?.operation, for: target)) }
    let id = lastID.add(1, ordering: .relaxed).newValue
    count.add(1, ordering: .sequentiallyConsistent)
    note(
      OwnWait(id: id, target: target, isBinding: true, blocksThread: blocksThread),
      of: waiting
    )
    let awaited =
      switch target {
      case .operation(let operation): [operation]
      case .queue(let queue): queue.scheduler.markAsNeeded()
      }
    let token = Token(operations: waiting, id: id)
    var result: Result<Token, WaitSearch.Cycle> = .success(token)
    RunTimeCycles.mark(awaited, .code) { search in
      for operation in waiting where !search.canHappen(.idle(operation)) {
        guard let cycle = WaitSearch.cycle(through: .idle(operation)) else { continue }
        end(token)
        result = .failure(cycle)
        return
      }
    }
    return result
  }

  /// Records the wait of a task that the code of an operation has created, for explanations.
  ///
  /// Such a wait doesn't complete a cycle, because only the code controls the task. A wait of
  /// code that doesn't belong to an operation is recorded if a simulation has asked for it.
  private static func noteWait(
    ofTaskMadeBy operation: Operation?,
    for target: WaitTarget
  ) -> Token {
    guard let operation else { return noteWait(for: target, in: WaitNotes.current) }
    guard operation.endsWithItsCode else { return .none }
    let id = lastID.add(1, ordering: .relaxed).newValue
    note(OwnWait(id: id, target: target, isBinding: false), of: [operation])
    return Token(operations: [operation], id: id, isBinding: false)
  }

  private static func noteWait(for target: WaitTarget, in notes: WaitNotes?) -> Token {
    guard let notes, case .operation(let operation) = target else { return .none }
    let id = lastID.add(1, ordering: .relaxed).newValue
    notes.note(id, for: operation)
    return Token(id: id, isBinding: false, notes: notes)
  }

  private static func note(_ wait: OwnWait, of operations: [Operation]) {
    for operation in operations {
      operation.withLinks { $0.makeExtra().ownWaits.append(wait) }
    }
  }

  package static func end(_ token: Token) {
    if let wait = token.mainThread { MainThreadWaits.end(wait) }
    Sweep.goOn(token.paused)
    if token.operations.isEmpty {
      token.notes?.end(token.id)
      return
    }
    for operation in token.operations {
      let garbage = operation.withLinks { $0.extra?.ownWaits.remove(token.id) }
      withExtendedLifetime(garbage) {}
    }
    if token.isBinding { count.subtract(1, ordering: .sequentiallyConsistent) }
  }

  /// Begins a wait that blocks the thread, or traps if the wait would never end.
  static func beginBlocking(for target: WaitTarget, call: String) -> Token {
    HeldEvents.tellAll()
    ThreadContext.willBlock()
    if let asked = ThreadContext.current?.asked {
      trap(
        "\(call) was called on \(target.label) by an immediate condition of operation "
          + "“\(asked.label)”, on a worker that others need: an ImmediateCondition must not block. "
          + "Make it an OperationCondition whose evaluate(for:) awaits."
      )
    }
    if isBehindBarrierRunningHere(target) {
      trap(
        "\(call) was called on \(target.label) by a barrier block that "
          + "\(target.label) waits for, so the wait would never end. Wait somewhere else, or let "
          + "the barrier return."
      )
    }
    switch register(target, blocksThread: true) {
    case .success(var token):
      token.paused = Sweep.pause()
      token.mainThread = beginOnMainThread(for: target, call: call)
      return token
    case .failure(let cycle):
      let held = ThreadContext.current?.held
      let caller =
        held.map { "\($0.by.words) of “\($0.operation.label)”, for which \(target.label) waits: " }
        ?? "an operation that \(target.label) waits for: "
      // The wait is refused although other code might raise the limit. Programs seldom do that, and in all
      // other programs the wait would hang without a message.
      trap(
        "\(call) was called on \(target.label) by " + caller
          + cycle.labels.map(\.name).joined(separator: " → ")
          + (cycle.isForSlot
            ? ". Only a higher limit would end the wait: set it before. Or add a dependency instead, "
              + "or wait outside of the operation."
            : ". The wait would never end. Add a dependency instead, or wait outside of the "
              + "operation.")
      )
    }
  }

  /// Records that a wait blocks the main thread, if this is the main thread.
  ///
  /// A wait that needs the main thread traps.
  ///
  /// - Returns: The number that ends the record; nil on another thread.
  private static func beginOnMainThread(for target: WaitTarget, call: String) -> UInt64? {
    guard !isInterruptible, MainThread.isCurrent else { return nil }
    let id = lastID.add(1, ordering: .relaxed).newValue
    guard let path = MainThreadWaits.begin(id, for: target) else { return id }
    trap(
      "\(call) was called on \(target.label) on the main thread, which \(target.label) waits for: "
        + path.joined(separator: " → ") + ". The wait would never end. "
        + "Await the end instead, or wait on another thread."
    )
  }

  /// Whether a barrier runs here for whose return the target waits.
  private static func isBehindBarrierRunningHere(_ target: WaitTarget) -> Bool {
    ThreadContext.all.contains { context in
      guard case .barrier(.running) = context.work,
        let scheduler = unsafe context.scheduler?.takeUnretainedValue()
      else { return false }
      switch target {
      case .operation(let operation):
        // A cancelled operation doesn't wait for the barrier.
        return operation.withLinks { $0.scheduler } === scheduler && !operation.isCancelledFlag
          && scheduler.hasBarrier(inFrontOf: operation)
      case .queue(let queue): return queue.scheduler === scheduler
      }
    }
  }

  /// Returns the operations that can't continue before this code returns, beginning with the innermost one.
  ///
  /// An operation that overrides `start()` isn't included, because only its own code knows when it ends.
  private static func operationsRunningHere(in task: TaskContext?) -> [Operation] {
    var operations: [Operation] = []
    for context in ThreadContext.all {
      if let held = context.held { operations.append(held.operation) }
      if let operation = context.operation, operation.endsWithItsCode {
        operations.append(operation)
      }
    }
    if let task, task.isOwnTask, task.operation.layer?.isIdle != true {
      operations.append(task.operation)
    }
    return operations
  }
}

extension Operation {
  fileprivate var endsWithItsCode: Bool {
    let phase = life.current.phase
    guard let layer else { return phase == .executing }
    return phase == .started || phase == .finished && !layer.isIdle
  }
}

extension Operation {
  /// Blocks the thread with a closure until this operation has finished.
  ///
  /// In the meantime, searches for cycles see the wait.
  ///
  /// - Parameters:
  ///   - call: The call of the program, for the message about a wait that would never end.
  ///   - block: A closure that returns when this operation has finished.
  final func noteBlocking(by call: String, _ block: () -> Void) {
    let token = OwnWaits.beginBlocking(for: .operation(self), call: call)
    block()
    OwnWaits.end(token)
  }
}

/// The target of a wait in code: the end of an operation, or an empty queue.
package enum WaitTarget {
  case operation(Operation)
  case queue(OperationQueue)

  /// The events that have to happen before the wait ends, as far as they are known at this moment.
  var nodes: [WaitNode] {
    switch self {
    case .operation(let operation): [.end(operation)]
    case .queue(let queue): queue.scheduler.members.map { .idle($0) }
    }
  }

  var label: String {
    switch self {
    case .operation(let operation): operation.label
    case .queue(let queue): "queue “\(queue.label)”"
    }
  }
}

/// A wait of the code of an operation.
struct OwnWait {
  let id: UInt64
  let target: WaitTarget
  /// Whether the operation can't end before the wait ends.
  ///
  /// The value is false for a wait of a task that the code has created, because the code may cancel or ignore
  /// the task.
  let isBinding: Bool
  var blocksThread = false
}

extension [OwnWait] {
  /// Removes the waits with an id, and returns them.
  ///
  /// The caller releases them without the lock.
  fileprivate mutating func remove(_ id: UInt64) -> [OwnWait] {
    let removed = filter { $0.id == id }
    removeAll { $0.id == id }
    return removed
  }
}

/// The waits that block the main thread, on which nothing else continues before they have ended.
///
/// An operation whose queue runs on the main thread needs everything that these waits need. So the searches
/// for cycles find a wait on the main thread that needs such an operation.
enum MainThreadWaits {
  private static let count = Atomic<Int>(0)
  private static let waits = Locked<[OwnWait]>([])
  /// The schedulers of queues that have run on the main thread: `main`, and queues with the main dispatch
  /// queue as their underlying queue.
  private static let schedulers = Locked<[WeakScheduler]>([])

  private struct WeakScheduler {
    weak let scheduler: Scheduler?
  }

  /// Whether a wait blocks the main thread; false where threads are simulated, because these don't depend on
  /// other threads of the process.
  static var isAny: Bool { !isInterruptible && count.load(ordering: .sequentiallyConsistent) > 0 }

  /// Records that a queue runs on the main thread from now on.
  static func noteQueue(of scheduler: Scheduler) {
    schedulers.withLock { all in
      all.removeAll { $0.scheduler == nil || $0.scheduler === scheduler }
      all.append(WeakScheduler(scheduler: scheduler))
    }
  }

  /// The wait of an operation that needs the main thread; nil if nothing blocks the main thread.
  static var wait: Wait? {
    let waits = waits.withLock { $0 }
    guard let last = waits.last else { return nil }
    let needs = waits.flatMap { wait in wait.target.nodes.map { WaitNeed($0, stamp: wait.id) } }
    return Wait(.mainThread(waitsFor: last.target.label), of: [], until: .needs(needs))
  }

  /// Records a wait that begins to block the main thread.
  ///
  /// - Returns: The labels along the cycle, if the wait needs an event that can't happen before the wait
  ///   ends; otherwise nil.
  /// - Complexity: O(1) if no queue has anything to run on the main thread. Otherwise O(v + e), v the number
  ///   of operations that the wait needs, directly and through other operations, and e the number of their
  ///   waits.
  static func begin(_ id: UInt64, for target: WaitTarget) -> [String]? {
    waits.withLock { $0.append(OwnWait(id: id, target: target, isBinding: true)) }
    count.add(1, ordering: .sequentiallyConsistent)
    let busy = schedulers.withLock { $0 }.compactMap(\.scheduler)
      .filter { $0.runsOnMainThread && !$0.isIdle }
    if busy.isEmpty { return nil }
    if case .queue(let queue) = target, busy.contains(where: { $0 === queue.scheduler }) {
      return [target.label, "the main thread"]
    }
    var search = WaitSearch()
    for node in target.nodes where !search.canHappen(node) {
      if let cycle = WaitSearch.cycle(through: node) { return cycle.labels.dropLast().map(\.name) }
    }
    return nil
  }

  static func end(_ id: UInt64) {
    count.subtract(1, ordering: .sequentiallyConsistent)
    let garbage = waits.withLock { $0.remove(id) }
    withExtendedLifetime(garbage) {}
  }
}

/// The waits of code that doesn't belong to an operation, recorded for a simulation.
///
/// A simulation runs such code, and reports its waits if the code doesn't return.
package final class WaitNotes: Sendable {
  /// The record of the waits of the running code; nil if they aren't recorded.
  @TaskLocal package static var current: WaitNotes?

  private let operations = Locked<[UInt64: Operation]>([:])

  package init() {}

  /// The operations that the code waits for, in the order in which the waits began.
  package var awaited: [Operation] {
    operations.withLock { $0.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// Records a wait that begins.
  func note(_ id: UInt64, for operation: Operation) {
    operations.withLock { $0[id] = operation }
  }

  /// Removes a wait that has ended.
  func end(_ id: UInt64) {
    let operation = operations.withLock { $0.removeValue(forKey: id) }
    withExtendedLifetime(operation) {}
  }
}
