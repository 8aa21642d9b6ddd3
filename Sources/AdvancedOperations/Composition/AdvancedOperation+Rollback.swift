import CoreOperations

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
