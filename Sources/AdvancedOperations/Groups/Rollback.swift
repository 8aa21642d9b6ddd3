import CoreOperations

/// The rollbacks of a group, in the order in which they were registered: a plain value behind a lock.
struct RollbackList {
  typealias Rollback = @Sendable () async throws -> Void

  /// The place in an outer group's list for the rollbacks of an inner group that has succeeded.
  ///
  /// The outer group gets the place before the end of the inner group is decided. So rollbacks that other
  /// children of the outer group register because of that end come after it. The place is filled before the
  /// inner group is idle, and so before the outer group reads it.
  final class Place: Sendable {
    private let rollbacks = Locked<[Rollback]>([])

    func fill(_ rollbacks: [Rollback]) { self.rollbacks.withLock { $0 = rollbacks } }
    func take() -> [Rollback] { rollbacks.withLock { exchange(&$0, with: []) } }
  }

  private enum Entry {
    case rollback(Rollback)
    case place(Place)
  }

  private var entries: [Entry] = []
  /// The rollbacks that were taken out to run, released when the group is idle, because a `deinit` may wait
  /// for the group.
  private var taken: [Rollback] = []
  private(set) var isClosed = false
  /// A Boolean value that indicates whether rollbacks are running, one after the other.
  private(set) var isRunning = false

  /// Keeps rollbacks; returns false and keeps none if they would never run.
  mutating func add(_ rollbacks: [Rollback]) -> Bool {
    if !isClosed { entries += rollbacks.map { .rollback($0) } }
    return !isClosed
  }

  /// Keeps a place for the rollbacks of an inner group; returns nil if they would never run.
  mutating func addPlace() -> Place? {
    if isClosed { return nil }
    let place = Place()
    entries.append(.place(place))
    return place
  }

  /// Takes out the next rollback to run; returns nil and closes the list if there are no more.
  mutating func next() -> Rollback? {
    while let last = entries.popLast() {
      switch last {
      case .rollback(let rollback):
        isRunning = true
        taken.append(rollback)
        return rollback
      case .place(let place): entries += place.take().map { .rollback($0) }
      }
    }
    isClosed = true
    isRunning = false
    return nil
  }

  /// Releases the rollbacks that were run, because the group is idle.
  mutating func forgetTaken() { taken = [] }

  /// Closes the list if it is empty; returns whether it is closed.
  mutating func closeIfEmpty() -> Bool {
    if entries.isEmpty { isClosed = true }
    return isClosed
  }

  /// Closes the list, and takes out all rollbacks, in the order in which they were registered.
  mutating func close() -> [Rollback] {
    isClosed = true
    return exchange(&entries, with: []).flatMap { entry in
      switch entry {
      case .rollback(let rollback): [rollback]
      case .place(let place): place.take()
      }
    }
  }
}

extension AdvancedOperation {
  /// Registers a closure that undoes the work of the operation if its group rolls back.
  ///
  /// Register the closure before the operation starts, and undo the work with information that is known then,
  /// such as an idempotency key:
  ///
  /// ```swift
  /// let reserve = ResultOperation(name: "reserve") { try await hall.reserve(2, for: id) }
  /// reserve.onRollback { try await hall.release(id) }
  /// let order = GroupOperation(name: "order", errorPolicy: .failFast) {
  ///   reserve
  ///   reserve.then(name: "pay") { _ in try await bank.charge(40, for: id) }
  /// }
  /// ```
  ///
  /// The closure runs if the body was called, even if the body threw an error or exceeded a time limit. The
  /// closure also runs after a cancel that came before the answer to a request. So the closure has to accept
  /// that there may be no work to undo. The closure also runs if the value of the operation came from its
  /// ``OperationJournal``. The closure doesn't run if the body was never called. The closure runs once,
  /// however many attempts a ``RetryPolicy`` makes.
  ///
  /// The innermost group that the operation is in rolls back when its children have ended:
  ///
  /// - If the group failed, was cancelled or was skipped, all registered rollbacks run once, before observers
  ///   are notified that the group will finish. The operation that started last is undone first. If a
  ///   rollback registers another rollback, that rollback runs next. An error that a rollback throws is an
  ///   error of the group, unless a `finish()` from outside has decided the group's end before. The other
  ///   rollbacks run even if a rollback throws.
  /// - If the group succeeded and is in another group, the outer group takes over the rollbacks. In the order
  ///   of the outer group, these rollbacks have the place of the end of the inner group. If the outer group
  ///   fails, it undoes the work of the inner group, too. The transfer applies at any depth, and to groups
  ///   that are attempts of a ``RetryOperation`` or rounds of a ``RepeatOperation`` in a group.
  /// - If the group succeeded and isn't in another group, the rollbacks are released and don't run.
  ///
  /// The body may register more rollbacks, for example if a rollback needs a result of the work. If a cancel
  /// comes before the body registers a rollback, the work isn't undone.
  ///
  /// If you call this method on a group, the closure undoes the work of the group as a whole. The closure
  /// runs whenever the group doesn't succeed, even if the group never executed, because an earlier run of the
  /// program may have done the work.
  ///
  /// - Parameter body: A closure that undoes the work. The closure runs in a task, while no lock is held, and
  ///   ``AdvancedOperation/current`` is the group that rolls back. If an outer group has taken over the
  ///   rollback, that group is the current operation. The closure is released when it won't run any more.
  /// - Returns: Whether the closure was registered. False if the operation has ended without its body, if it
  ///   doesn't execute in a group, or if its group has rolled back or doesn't have to roll back.
  @discardableResult
  public final func onRollback(_ body: @escaping @Sendable () async throws -> Void) -> Bool {
    // A group has its own list of rollbacks.
    if let group = self as? GroupOperation { return group.register([body]) }
    let isDecided = withCore { core -> Bool? in
      // If rollbacks wait for the body to be called, this rollback waits behind them, so that they stay in
      // order.
      let isNext = !core.machine.hasStarted || core.extra?.rollbacks.isEmpty == false
      guard isNext else { return nil }
      if core.machine.isEndDecided { return false }
      core.makeExtra().rollbacks.append(body)
      return true
    }
    return isDecided ?? group?.register([body]) ?? false
  }

  /// Registers the waiting rollbacks in the group, because the body is called or a journal has the value.
  final func registerRollbacks() {
    let rollbacks = withCore { $0.extra.map { exchange(&$0.rollbacks, with: []) } ?? [] }
    if !rollbacks.isEmpty { _ = group?.register(rollbacks) }
  }
}

extension AdvancedOperation {
  /// A Boolean value that indicates whether rollbacks are running; false for an operation that isn't a group.
  final var isUndoing: Bool {
    (self as? GroupOperation)?.members.withLock { $0.rollbacks.isRunning } ?? false
  }
}

extension GroupOperation {
  /// Keeps rollbacks of work that has begun in the group; returns whether they may still run.
  final func register(_ rollbacks: [RollbackList.Rollback]) -> Bool {
    members.withLock { $0.rollbacks.add(rollbacks) }
  }

  /// Runs the rollbacks if the group doesn't succeed, and ends the group.
  final func childrenHaveEnded() {
    let failure = members.withLock { $0.takeErrors() }.summary
    let place = placeInOuterGroup()
    var registered: [RollbackList.Rollback] = []
    if endsWell(failure, { registered = members.withLock { $0.rollbacks.close() } }) {
      // The outer group doesn't read the place before this group is idle.
      place?.fill(registered)
      end([])
      // The rollbacks are released now, because a `deinit` may wait for the group.
      registered = []
      return
    }
    guard let last = members.withLock({ $0.rollbacks.next() }) else { return end([]) }
    withCore { if $0.hasTimers { $0.extra?.stallWatch?.ended() } }
    // The task is detached, because this may be the task of the last child, whose task-locals must not apply.
    Task.detached(executorPreference: environment.bodyExecutor) {
      let elements = await TaskContext.with(self) {
        var elements: [OperationFailure.Element] = []
        var next: RollbackList.Rollback? = last
        while let rollback = next {
          do { try await rollback() } catch {
            elements.append(.rollback(error))
          }
          next = self.members.withLock { $0.rollbacks.next() }
        }
        return elements
      }
      self.end(elements)
    }
  }

  /// Returns the place for the rollbacks in the outer group; nil if there are no rollbacks or no place.
  ///
  /// Call this before the end is decided. Other operations may start with that end and register rollbacks in
  /// the outer group, which have to run before these.
  private func placeInOuterGroup() -> RollbackList.Place? {
    guard let outer = group, !members.withLock({ $0.rollbacks.closeIfEmpty() }) else { return nil }
    return outer.members.withLock { $0.rollbacks.addPlace() }
  }

  /// Decides the outcome as a success, if it isn't decided and there is no error.
  ///
  /// Otherwise records the errors of the children, so that a `finish()` during the rollbacks doesn't make the
  /// group succeed.
  ///
  /// - Parameters:
  ///   - failure: The errors of the children.
  ///   - close: A closure that is called in the same step, so that each later rollback is refused.
  /// - Returns: Whether there is no work to undo.
  private func endsWell(_ failure: OperationFailure, _ close: () -> Void) -> Bool {
    if members.withLock({ !$0.isLeaving }), failure.elements.isEmpty, decideSuccess(close) {
      return true
    }
    return withCore { core in
      // Code outside of the group may have called `finish()` before.
      let isGood =
        core.machine.holdsChildren ? core.machine.endsWell : core.machine.outcome?.isSuccess == true
      if isGood {
        close()
      } else {
        core.machine.record(failure.elements, notRunCount: failure.notRunCount)
      }
      return isGood
    }
  }
}
