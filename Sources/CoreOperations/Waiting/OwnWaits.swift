import Synchronization

/// The waits that operations begin with their own code, which may complete a cycle that no
/// dependency shows.
enum OwnWaits {
  /// How many binding ones are going on in this process: while there are none, nothing else needs
  /// to look.
  private static let count = Atomic<Int>(0)
  private static let lastID = Atomic<UInt64>(0)

  static var isAny: Bool { isInterruptible || count.load(ordering: .sequentiallyConsistent) > 0 }

  /// Registered waits, to be ended by ``end(_:)``.
  struct Token {
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

  /// Begins a wait of the operation whose code runs here, and says which cycle it would close.
  ///
  /// Of several waits that complete a cycle together, the last one to be registered sees the
  /// others.
  static func begin(for target: WaitTarget) -> Result<Token, WaitSearch.Cycle> {
    let task = TaskOccupant.current
    let waiting = operationsRunningHere(in: task)
    if waiting.isEmpty { return .success(noteWait(ofTaskMadeBy: task?.operation, for: target)) }
    let id = lastID.add(1, ordering: .relaxed).newValue
    count.add(1, ordering: .sequentiallyConsistent)
    note(OwnWait(id: id, target: target, isBinding: true), of: waiting)
    let awaited =
      switch target {
      case .operation(let operation): [operation]
      case .queue(let queue): queue.scheduler.markAsNeeded()
      }
    let token = Token(operations: waiting, id: id)
    var result: Result<Token, WaitSearch.Cycle> = .success(token)
    RunTimeCycles.mark(awaited, .code) { search in
      for operation in waiting where !search.canHappen(.quiet(operation)) {
        guard let cycle = WaitSearch.cycle(through: .quiet(operation)) else { continue }
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

  static func end(_ token: Token) {
    if let wait = token.mainThread { MainThreadWaits.end(wait) }
    Sweep.goOn(token.paused)
    if token.operations.isEmpty {
      token.notes?.end(token.id)
      return
    }
    for operation in token.operations {
      let garbage = operation.withLinks { links -> [OwnWait] in
        guard let extra = links.extra else { return [] }
        let garbage = extra.ownWaits.filter { $0.id == token.id }
        extra.ownWaits.removeAll { $0.id == token.id }
        return garbage
      }
      withExtendedLifetime(garbage) {}
    }
    if token.isBinding { count.subtract(1, ordering: .sequentiallyConsistent) }
  }

  /// Begins a wait that blocks the thread; one that would never end traps.
  static func beginBlocking(for target: WaitTarget, call: String) -> Token {
    HeldEvents.tellAll()
    ThreadOccupant.willBlock()
    if let asked = ThreadOccupant.current?.asked {
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
    switch begin(for: target) {
    case .success(var token):
      token.paused = Sweep.pause()
      token.mainThread = beginOnMainThread(for: target, call: call)
      return token
    case .failure(let cycle):
      let held = ThreadOccupant.current?.held
      let caller =
        held.map { "\($0.by.words) of “\($0.operation.label)”, for which \(target.label) waits: " }
        ?? "an operation that \(target.label) waits for: "
      // Refused although other code may raise the limit: what seldom is so would hang elsewhere,
      // and nothing would say why.
      trap(
        "\(call) was called on \(target.label) by " + caller
          + cycle.labels.joined(separator: " → ")
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
    ThreadOccupant.all.contains { occupant in
      guard occupant.isInBarrier,
        let scheduler = unsafe occupant.scheduler?.takeUnretainedValue()
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
  private static func operationsRunningHere(in task: TaskOccupant?) -> [Operation] {
    var operations: [Operation] = []
    for occupant in ThreadOccupant.all {
      if let held = occupant.held { operations.append(held.operation) }
      if let operation = occupant.operation, operation.endsWithItsCode {
        operations.append(operation)
      }
    }
    if let task, task.isOwnTask, task.operation.layer?.isQuiet != true {
      operations.append(task.operation)
    }
    return operations
  }
}

extension Operation {
  fileprivate var endsWithItsCode: Bool {
    let phase = life.current.phase
    guard let layer else { return phase == .executing }
    return phase == .started || phase == .finished && !layer.isQuiet
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
