import CoreOperations

/// What undoes the work of a group, in the order of registering: a plain value behind a lock.
struct RollbackList {
  typealias Rollback = @Sendable () async throws -> Void

  /// Where a group that is a child of another one puts what it has registered, once it has
  /// succeeded.
  ///
  /// The outer group gets the place before the end of the inner one is decided: what the outer
  /// group's other children register because of that end comes behind it. It is filled before the
  /// inner group is quiet, so before the outer group looks at it.
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
  /// Those that were taken out to be run, to be released when the group is quiet: a `deinit` may
  /// wait for the group.
  private var taken: [Rollback] = []
  private(set) var isClosed = false
  /// Whether what was taken out is being run, one after the other.
  private(set) var isRunning = false

  /// Keeps what undoes something; returns false, and doesn't, when it would never be run.
  mutating func add(_ rollbacks: [Rollback]) -> Bool {
    if !isClosed { entries += rollbacks.map { .rollback($0) } }
    return !isClosed
  }

  /// Keeps a place for what an inner group hands over; nil when that would never be run.
  mutating func addPlace() -> Place? {
    if isClosed { return nil }
    let place = Place()
    entries.append(.place(place))
    return place
  }

  /// Takes out what is to be run next; nil ends this, and nothing is kept from then on.
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

  /// The group is quiet: forgets what was run.
  mutating func forgetTaken() { taken = [] }

  /// Closes the list if there is nothing in it; returns whether it is closed.
  mutating func closeIfEmpty() -> Bool {
    if entries.isEmpty { isClosed = true }
    return isClosed
  }

  /// Closes the list, and takes out everything, in the order of registering.
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
  /// Registers what undoes the work of the operation, for when its group rolls back.
  ///
  /// Register before the operation starts, and undo by what is known then, such as an idempotency
  /// key:
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
  /// The closure runs if the body was called, whatever became of that: after a success, an error, a
  /// time limit, and a cancel that came before the answer to a request. So it has to accept that
  /// there may be nothing to undo. It also runs if the value of the operation came from its
  /// ``OperationJournal``. It doesn't run if the body was never called. However many attempts a
  /// ``RetryPolicy`` makes, it runs once.
  ///
  /// The innermost group that the operation is in rolls back when its children have ended:
  ///
  /// - If the group failed, was cancelled or was skipped, all that is registered runs once, before
  ///   observers are notified that the group will finish. The operation that started last is undone
  ///   first. What a rollback registers runs next. What it throws is an error of the group, unless a
  ///   `finish()` from outside has decided the group's end before. The other rollbacks run
  ///   nonetheless.
  /// - If the group succeeded and is in another group, that group takes over what is registered, at
  ///   the place in its own order at which the inner group ended. If the outer group fails, it undoes
  ///   the work of the inner one, too. This holds at any depth, and for groups that are attempts of a
  ///   ``RetryOperation`` or rounds of a ``RepeatOperation`` in a group.
  /// - If the group succeeded and is in no other group, what is registered is released and doesn't
  ///   run.
  ///
  /// The body may register more, such as the undo of work whose result it needs for that. If a
  /// cancel comes before that call, the work isn't undone.
  ///
  /// Called on a group, this registers what undoes the work of the group as a whole. That runs
  /// whenever the group doesn't succeed, even if it never executed: its work may be that of an
  /// earlier run of the program.
  ///
  /// - Parameter body: Undoes the work; runs in a task in which ``AdvancedOperation/current`` is the
  ///   group that rolls back, with no lock held: the outer one, for what that has taken over.
  ///   Released when it won't run any more.
  /// - Returns: Whether it was registered. False if the operation has ended without its body, if it
  ///   executes in no group, and if its group has rolled back or doesn't have to.
  @discardableResult
  public final func onRollback(_ body: @escaping @Sendable () async throws -> Void) -> Bool {
    // A group rolls back by itself.
    if let group = self as? GroupOperation { return group.register([body]) }
    let isDecided = withCore { core -> Bool? in
      // Those that wait for the body to be called stay in order.
      let isNext = !core.machine.hasStarted || core.extra?.rollbacks.isEmpty == false
      guard isNext else { return nil }
      if core.machine.isEndDecided { return false }
      core.makeExtra().rollbacks.append(body)
      return true
    }
    return isDecided ?? group?.register([body]) ?? false
  }

  /// The body is called, or a journal has the value: has the group undo the work if that fails.
  final func registerRollbacks() {
    let rollbacks = withCore { $0.extra.map { exchange(&$0.rollbacks, with: []) } ?? [] }
    if !rollbacks.isEmpty { _ = group?.register(rollbacks) }
  }
}

extension AdvancedOperation {
  /// Whether rollbacks are running; false for what is no group.
  final var isUndoing: Bool {
    (self as? GroupOperation)?.members.withLock { $0.rollbacks.isRunning } ?? false
  }
}

extension GroupOperation {
  /// Keeps what undoes work that has begun in the group; returns whether that may still run.
  final func register(_ rollbacks: [RollbackList.Rollback]) -> Bool {
    members.withLock { $0.rollbacks.add(rollbacks) }
  }

  /// Undoes what has to be undone, and ends.
  final func childrenHaveEnded() {
    let failure = members.withLock { $0.takeErrors() }.summary
    let place = placeInOuterGroup()
    var registered: [RollbackList.Rollback] = []
    if endsWell(failure, { registered = members.withLock { $0.rollbacks.close() } }) {
      // The outer group doesn't look at it before this group is quiet.
      place?.fill(registered)
      end([])
      // Released now: a `deinit` may wait for the group.
      registered = []
      return
    }
    guard let last = members.withLock({ $0.rollbacks.next() }) else { return end([]) }
    // Not with the task-locals of the child that ended last, in whose task this may be.
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

  /// Where to put what is registered if the group succeeds; nil when there is nothing, or no place.
  ///
  /// To be called before the end is decided, because other operations may start with that end and
  /// register something in the outer group, which has to be undone before.
  private func placeInOuterGroup() -> RollbackList.Place? {
    guard let outer = group, !members.withLock({ $0.rollbacks.closeIfEmpty() }) else { return nil }
    return outer.members.withLock { $0.rollbacks.addPlace() }
  }

  /// Decides the outcome as a success, if it isn't decided and nothing speaks against that.
  ///
  /// Otherwise keeps what the children came to, so that a `finish()` that comes while things are
  /// undone doesn't make a success of it.
  ///
  /// - Parameters:
  ///   - failure: What the children came to.
  ///   - close: Called in the same step, so that nothing is registered later that would be neither
  ///     run nor refused.
  /// - Returns: Whether nothing is to be undone.
  private func endsWell(_ failure: OperationFailure, _ close: () -> Void) -> Bool {
    if members.withLock({ !$0.isLeaving }), failure.elements.isEmpty, decideSuccess(close) {
      return true
    }
    return withCore { core in
      // `finish()` may have been called from outside before.
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
