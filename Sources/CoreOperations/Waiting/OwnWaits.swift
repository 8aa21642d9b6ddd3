import Dispatch
import Synchronization

/// The waits that operations begin with their own code, which may complete a cycle that no
/// dependency shows.
package enum OwnWaits {
  /// How many binding ones are going on in this process: while there are none, nothing else needs
  /// to look.
  private static let count = Atomic<Int>(0)
  private static let lastID = Atomic<UInt64>(0)

  static var isAny: Bool { isInterruptible || count.load(ordering: .sequentiallyConsistent) > 0 }

  /// Registered waits, to be ended by ``end(_:)``.
  package struct Token {
    fileprivate var operations: [Operation] = []
    fileprivate var id: UInt64 = 0
    fileprivate var isBinding = true
    /// The number of the wait that blocks the main thread; nil where it blocks no thread, or
    /// another one.
    fileprivate var mainThread: UInt64?
    /// The queues that go on although this thread cancels their operations.
    fileprivate var paused: [Scheduler] = []
    /// Where the wait of code that is no operation's is noted.
    fileprivate var notes: WaitNotes?
    static let none = Token()
  }

  /// Begins a wait of the operation whose code runs here; ``end(_:)`` follows.
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
  /// Of several waits that complete a cycle together, the last one to be registered sees the
  /// others.
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

  /// Notes the wait of a task that an operation's code has made, for explanations.
  ///
  /// What becomes of that task, only the code knows, so that it completes no cycle. The wait of
  /// code that is no operation's is noted where a simulation wants to know.
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

  /// Begins a wait that blocks the thread; one that would never end traps.
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
      // Refused although other code may raise the limit: what seldom is so would hang elsewhere,
      // and nothing would say why.
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

  /// Notes that a wait blocks the main thread, if this is that; one that needs the main thread
  /// traps.
  ///
  /// - Returns: The number to end it with; nil on another thread.
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

  /// Whether code of a barrier runs here for whose return something waits.
  private static func isBehindBarrierRunningHere(_ target: WaitTarget) -> Bool {
    ThreadContext.all.contains { context in
      guard case .barrier(.running) = context.work,
        let scheduler = unsafe context.scheduler?.takeUnretainedValue()
      else { return false }
      switch target {
      case .operation(let operation):
        // One that was cancelled leaves past the barrier.
        return operation.withLinks { $0.scheduler } === scheduler && !operation.isCancelledFlag
          && scheduler.hasBarrier(inFrontOf: operation)
      case .queue(let queue): return queue.scheduler === scheduler
      }
    }
  }

  /// The operations that can't go on before this code returns; the innermost first.
  ///
  /// One whose `start()` is overridden isn't among them: who ends it, only itself knows.
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
  /// Blocks the thread, until this operation has finished, with a closure; has cycles looked for
  /// through that wait meanwhile.
  ///
  /// - Parameters:
  ///   - call: What the program has called, for the message about a wait that would never end.
  ///   - block: Returns when this operation has finished.
  final func noteBlocking(by call: String, _ block: () -> Void) {
    let token = OwnWaits.beginBlocking(for: .operation(self), call: call)
    block()
    OwnWaits.end(token)
  }
}

/// What code waits for: the end of an operation, or of all that a queue has.
package enum WaitTarget {
  case operation(Operation)
  case queue(OperationQueue)

  /// What has to happen before the wait is over, as far as it is known at this moment.
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

/// A wait that the code of an operation is in.
struct OwnWait {
  let id: UInt64
  let target: WaitTarget
  /// Whether the operation can't end before it: not so for that of a task that its code has made,
  /// and may cancel, or let be.
  let isBinding: Bool
  var blocksThread = false
}

extension [OwnWait] {
  /// Removes the waits with an id, and returns them, to be released without the lock.
  fileprivate mutating func remove(_ id: UInt64) -> [OwnWait] {
    let removed = filter { $0.id == id }
    removeAll { $0.id == id }
    return removed
  }
}

/// The waits that block the main thread: nothing that runs there goes on before they are over.
///
/// An operation whose queue runs on the main thread needs what that waits for, like one that is
/// behind it in a line. So the searches for cycles find when it is needed for that in turn.
enum MainThreadWaits {
  private static let count = Atomic<Int>(0)
  private static let waits = Locked<[OwnWait]>([])
  /// Those of queues that have run on the main thread: that of `main`, and of those that were given
  /// the main dispatch queue.
  private static let schedulers = Locked<[WeakScheduler]>([])

  private struct WeakScheduler {
    weak let scheduler: Scheduler?
  }

  /// False where threads are simulated, which don't depend on others of the process.
  static var isAny: Bool { !isInterruptible && count.load(ordering: .sequentiallyConsistent) > 0 }

  /// A queue runs on the main thread from now on.
  static func noteQueue(of scheduler: Scheduler) {
    schedulers.withLock { all in
      all.removeAll { $0.scheduler == nil || $0.scheduler === scheduler }
      all.append(WeakScheduler(scheduler: scheduler))
    }
  }

  /// What an operation waits for that needs the main thread; nil when nothing blocks that.
  static var wait: Wait? {
    let waits = waits.withLock { $0 }
    guard let last = waits.last else { return nil }
    let needs = waits.flatMap { wait in wait.target.nodes.map { WaitNeed($0, stamp: wait.id) } }
    return Wait(.mainThread(waitsFor: last.target.label), of: [], until: .needs(needs))
  }

  /// A wait begins to block the main thread.
  ///
  /// - Returns: The labels along the cycle, if the wait needs what can't happen before it is over;
  ///   nil if it doesn't.
  /// - Complexity: O(1) while no queue has anything to run on the main thread; O(v + e) of what the
  ///   wait needs otherwise.
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

/// What code waits for that is no operation's: a simulation runs such code, and says what it waits
/// for when it doesn't return.
package final class WaitNotes: Sendable {
  /// Where the waits of the running code are noted; nil for nowhere.
  @TaskLocal package static var current: WaitNotes?

  private let operations = Locked<[UInt64: Operation]>([:])

  package init() {}

  /// The operations that are waited for, in the order in which the waits began.
  package var awaited: [Operation] {
    operations.withLock { $0.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// A wait begins.
  func note(_ id: UInt64, for operation: Operation) {
    operations.withLock { $0[id] = operation }
  }

  /// A wait is over.
  func end(_ id: UInt64) {
    let operation = operations.withLock { $0.removeValue(forKey: id) }
    withExtendedLifetime(operation) {}
  }
}
