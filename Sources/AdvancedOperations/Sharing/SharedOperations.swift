public import CoreOperations

/// Operations that callers share by key: callers who need the same value at the same time wait for one
/// operation.
///
/// Use it for work that several parts of a program request independently, such as the refresh of a token or
/// the download of an image. The first caller for a key creates the operation, and callers who come before
/// its end join it:
///
/// ```swift
/// let images = SharedOperations<URL, Image>("images", queue: queue) { url in
///   ResultOperation(name: "load \(url)", retry: .exponential(.seconds(1)).attempts(3)) {
///     try await download(url)
///   }
/// }
/// let image = try await images.value(for: url)
/// ```
///
/// - *Cancellation*: If the task of a caller is cancelled, that call throws `CancellationError` immediately,
///   and the operation continues for the other callers. When the last caller has gone, the operation is
///   cancelled. A caller who comes after that gets a new operation.
/// - *A single body for each key*: The operation that replaces a cancelled operation is created when no body
///   of the cancelled operation is running any more. Therefore the bodies of a key never overlap.
/// - *Failures*: A failure reaches all callers who waited. The next call creates a new operation. Nothing is
///   stored: neither values nor failures.
/// - *Priority*: The calling task with the highest task priority determines the queue priority of the
///   operation. The priority changes when callers come and go. It also applies to predecessors that are
///   added to the queue together with the operation. An operation to which `make` gives another priority
///   than ``Operation/QueuePriority/normal`` keeps that priority.
/// - *Task-locals*: The body has the task-locals and the task priority of the caller whose call created the
///   operation.
///
/// `operation.explain()` reports the number of callers who wait for a shared operation.
///
/// Methods may be called from any thread. The `==` and the `hash(into:)` of a key are called without a lock,
/// and so is `make`.
public final class SharedOperations<Key: Hashable & Sendable, Output: Sendable>: Sendable {
  /// The name of the shared work in explanations.
  public let name: String
  private let queue: OperationQueue
  private let make: @Sendable (Key) -> ResultOperation<Output>
  private let lines = Locked<[Int: [Line]]>([:])

  /// The runs of one key, the oldest first; guarded by the lock of `lines`.
  private final class Line: @unchecked Sendable {
    let key: Key
    let hash: Int
    var runs: [SharedRun<Output>] = []

    init(_ key: Key, hash: Int) {
      self.key = key
      self.hash = hash
    }
  }

  /// Creates an object that has no operations yet.
  ///
  /// - Parameters:
  ///   - name: The name of the shared work in explanations.
  ///   - queue: The queue to which the operations are added.
  ///   - make: A closure that returns a new operation for a key. The operation isn't in a queue or a group. A
  ///     call of ``value(for:)`` or ``freshValue(for:)`` calls the closure if it can't join an existing
  ///     operation of the key, for example because that operation has finished. If the new operation depends
  ///     on other new operations, they are added to the queue as well.
  public init(
    _ name: String = "",
    queue: OperationQueue,
    make: @escaping @Sendable (_ key: Key) -> ResultOperation<Output>
  ) {
    self.name = name
    self.queue = queue
    self.make = make
  }

  /// Joins the unfinished operation for a key, or creates one, and returns its value.
  ///
  /// An operation that was cancelled isn't joined.
  ///
  /// - Parameter key: The key of the work.
  /// - Returns: The value of the operation.
  /// - Throws: The ``OperationFailure`` of the operation if it failed, was cancelled by others or was
  ///   skipped. `CancellationError` if the calling task is cancelled first. `OperationCycleError` if the
  ///   calling task is the body of an operation for which this operation waits, for example its own body.
  /// - Complexity: O(1) without the call of `make`, unless the hash values of many keys are equal.
  public func value(for key: Key) async throws -> Output {
    try await value(for: key) { $0.isJoinable }
  }

  /// Returns the value of an operation that starts after this call.
  ///
  /// Use it if a value that is already being computed may be outdated, for example to save a document again
  /// after a change. The call joins an operation of which neither the body, nor a predecessor, nor a
  /// condition has begun. If there is none, a new operation is created when the running operation has ended:
  /// fifty calls during a run lead to one more run.
  ///
  /// - Parameter key: The key of the work.
  /// - Returns: The value of the operation.
  /// - Throws: The errors of ``value(for:)``.
  public func freshValue(for key: Key) async throws -> Output {
    try await value(for: key) { $0.startsLater }
  }

  /// The operation that a call of ``value(for:)`` would join at this moment.
  ///
  /// Use it to show progress, to explain, or to add a dependency. If all callers leave, the operation is
  /// cancelled, unless a call of `queue.run` or a condition needs it.
  ///
  /// - Parameter key: The key of the work.
  /// - Returns: The operation; nil if there is none, or if it isn't created yet.
  public func operation(for key: Key) -> ResultOperation<Output>? {
    withLine(of: key, makingOne: false) { line in
      line.runs.first { $0.isJoinable }?.operation
    } ?? nil
  }

  /// Whether nothing is kept for any key.
  package var isEmpty: Bool { lines.withLock { $0.isEmpty } }

  // MARK: Calls

  private func value(
    for key: Key,
    joining isWanted: (SharedRun<Output>) -> Bool
  ) async throws -> Output {
    try Task.checkCancellation()
    let call = join(key, isWanted)
    changePriority(of: call.run)
    defer { leave(call) }
    do {
      return try await withTaskCancellationHandler {
        try await value(of: call)
      } onCancel: {
        uninterrupted { self.leave(call, cancellingFor: CancellationError()) }
      }
    } catch let cycle as OperationCycleError {
      leave(call, cancellingFor: cycle)
      throw cycle
    }
  }

  private func value(of call: Call) async throws -> Output {
    let run = call.run
    // Waits that the search for cycles knows; the milestone also waits for bodies that outlast their end.
    for operation in call.earlier { try await operation.untilFinished() }
    try await run.isDue.wait()
    switch lines.withLock({ _ in run.turn(ofCaller: call.number) }) {
    case .hasLeft: throw CancellationError()
    case .makesOperation: makeOperation(for: call)
    case .waits: break
    }
    try await run.isMade.wait()
    guard let operation = lines.withLock({ _ in run.operation }) else {
      internalError("a shared run has no operation")
    }
    try await operation.untilFinished()
    do { return try operation.finishedValue() } catch {
      // The operation may have been cancelled because this caller was the last one.
      try Task.checkCancellation()
      throw error
    }
  }

  /// A caller who has joined a run.
  private struct Call: Sendable {
    let line: Line
    let run: SharedRun<Output>
    let number: Int
    /// The operations of earlier runs, which have to end first.
    let earlier: [ResultOperation<Output>]

    /// Created with the lock held.
    init(_ line: Line, _ run: SharedRun<Output>, _ number: Int) {
      self.line = line
      self.run = run
      self.number = number
      earlier = run.isWaiting ? line.runs.filter { $0 !== run }.compactMap(\.operation) : []
    }
  }

  private func join(_ key: Key, _ isWanted: (SharedRun<Output>) -> Bool) -> Call {
    let priority = Task.currentPriority
    let call = withLine(of: key, makingOne: true) { line in
      for run in line.runs where isWanted(run) {
        if let number = run.addCaller(priority) { return Call(line, run, number) }
      }
      let run = SharedRun<Output>(isDue: line.runs.isEmpty)
      line.runs.append(run)
      return Call(line, run, run.addCaller(priority) ?? 0)
    }
    guard let call else {
      internalError("a key of shared operations has no callers")
    }
    return call
  }

  /// Creates the operation of a run, and adds it to the queue unless all callers have left.
  private func makeOperation(for call: Call) {
    let (run, line) = (call.run, call.line)
    let operation = make(line.key)
    let isForNobody = lines.withLock { lines in
      if run.callerCount > 0 { return false }
      remove(run, from: line, &lines)
      return true
    }
    if isForNobody { return }
    let work = SharedRun<Output>.Work(operation)
    operation.withCore { core in
      core.makeExtra().remark = { [weak self, weak line, weak run] in
        line.flatMap { self?.remark(on: run, in: $0) }
      }
    }
    let unneeded = lines.withLock { _ in run.made(work) }
    changePriority(of: run)
    run.isMade.reach()
    // An operation that is cancelled before it is added leaves without executing.
    queue.cancel(unneeded, reason: CancellationError())
    queue.add(work.needs.added)
    let open = EventCountdown(work.operations.count)
    for operation in work.operations {
      operation.whenIdle { _ in if open.isLast() { self.remove(run, from: line) } }
    }
  }

  /// Removes a caller.
  ///
  /// Does nothing the second time.
  ///
  /// - Parameters:
  ///   - call: The call that has ended.
  ///   - reason: The reason with which the operation is cancelled if this was the last caller; nil if the
  ///     operation has ended.
  private func leave(_ call: Call, cancellingFor reason: (any Error)? = nil) {
    let run = call.run
    // Both changes happen in one step, so that a new caller finds either a run with callers or no run.
    let departure = lines.withLock { lines in
      let departure = run.removeCaller(call.number)
      if case .lastBeforeMaking = departure { remove(run, from: call.line, &lines) }
      return departure
    }
    switch departure {
    case .hasLeftBefore, .lastBeforeMaking: return
    case .othersWait: changePriority(of: run)
    case .last(let work, let unneeded):
      guard let reason else { return }
      queue.cancel(unneeded, reason: reason)
      // Members of a suspended queue stay there until it is resumed.
      if work.operations.allSatisfy(\.neverExecutes) { remove(run, from: call.line) }
    }
  }

  /// Removes a run whose bodies aren't running and won't run.
  private func remove(_ run: SharedRun<Output>, from line: Line) {
    let next = lines.withLock { lines in
      remove(run, from: line, &lines)
      return line.runs.first
    }
    // If the next run was already due, this has no effect.
    next?.isDue.reach()
  }

  private func remove(
    _ run: SharedRun<Output>,
    from line: Line,
    _ lines: inout [Int: [Line]]
  ) {
    line.runs.removeAll { $0 === run }
    if !line.runs.isEmpty { return }
    lines[line.hash]?.removeAll { $0 === line }
    if lines[line.hash]?.isEmpty == true { lines[line.hash] = nil }
  }

  // MARK: Keys

  /// Finds the runs of a key, and calls a closure with them under the lock.
  ///
  /// - Parameters:
  ///   - key: The key. It is compared without the lock.
  ///   - makingOne: Whether an entry is added if the key has none.
  ///   - body: A closure that gets the runs of the key.
  /// - Returns: The result of the closure; nil if the key has no entry.
  private func withLine<Result>(
    of key: Key,
    makingOne: Bool,
    _ body: (Line) -> Result
  ) -> Result? {
    let hash = key.hashValue
    var known = lines.withLock { $0[hash] ?? [] }
    while true {
      let found = known.first { $0.key == key }
      let (result, isDone) = lines.withLock { lines -> (Result?, Bool) in
        let now = lines[hash] ?? []
        if let found, now.contains(where: { $0 === found }) { return (body(found), true) }
        // Other threads have added or removed keys in the meantime.
        let hasNew = now.contains { line in !known.contains { $0 === line } }
        known = now
        if hasNew || found != nil { return (nil, false) }
        if !makingOne { return (nil, true) }
        let line = Line(key, hash: hash)
        lines[hash, default: []].append(line)
        return (body(line), true)
      }
      if isDone { return result }
    }
  }

  // MARK: Priority and explanation

  /// Sets the priority of a run's operations to the priority of its callers.
  ///
  /// The property may be overridden, so it is set without the lock. A single thread sets it, and checks again
  /// afterwards.
  private func changePriority(of run: SharedRun<Output>) {
    while let change = lines.withLock({ _ in run.beginPriorityChange() }) {
      for operation in change.operations { operation.queuePriority = change.priority }
      lines.withLock { _ in run.endPriorityChange() }
    }
  }

  /// The numbers of callers who wait for the operation of a run, and for the next one; nil without callers.
  private func remark(on run: SharedRun<Output>?, in line: Line) -> String? {
    let (here, later) = lines.withLock { _ in
      (
        run?.callerCount ?? 0,
        line.runs.filter { $0 !== run && $0.operation == nil }.reduce(0) { $0 + $1.callerCount }
      )
    }
    let of = name.isEmpty ? "" : " of “\(name)”"
    func text(_ count: Int, _ end: String) -> String? {
      count == 0
        ? nil : "\(counted(count, "caller"))\(of) \(count == 1 ? "waits" : "wait") for \(end)"
    }
    let parts = [text(here, "it"), text(later, "the operation after it")].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}

extension Operation {
  /// Whether the operation was cancelled before its body began, so that the body never begins.
  fileprivate var neverExecutes: Bool {
    (self as? AdvancedOperation)?.withCore { $0.machine.isCancelled && !$0.machine.hasStarted }
      ?? false
  }
}
