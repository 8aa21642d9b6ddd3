import CoreOperations

extension ResultOperation where Output: Codable {
  /// Records the operation's value in a journal, and takes it from there after a restart.
  ///
  /// ```swift
  /// let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)
  /// ```
  ///
  /// The operation looks its value up when its dependencies have finished, whatever their outcomes
  /// are:
  ///
  /// - If the journal has the value, the operation succeeds with it. Nothing of the operation is
  ///   executed or evaluated: neither its body nor interceptors, conditions and their prerequisite
  ///   operations. The operation takes no claim and no slot. Observers are notified of the end
  ///   without a start, and ``AdvancedOperation/isFromJournal`` is true.
  /// - If the journal has no value, everything is as without a journal until the body has returned.
  ///   Then the value is recorded, while the operation is still executing and holds its slot and
  ///   claims. Observers, dependents and ``value`` see the end of the operation after that.
  /// - If the journal throws, the operation fails with an ``OperationJournalError``. If looking up
  ///   has failed, the body wasn't called. If recording has failed, the work is done, and the body
  ///   isn't called again, whatever the `retry` policy says.
  ///
  /// A failure, a skip and a cancel aren't recorded. If the operation is cancelled before the body
  /// has returned, its value is dropped, because it may be a part of the work. A later cancel lets
  /// the journal continue: the operation waits for it and ends as cancelled, and its value is in the
  /// journal.
  ///
  /// Conditions are evaluated after the journal has answered. Even a ``DependencyRule``, which may
  /// refuse early, is evaluated when all dependencies have finished. The operation doesn't fail with
  /// an input before that either, because the journal may have its value. An operation that looks
  /// its value up is in the state ``AdvancedOperation/State-swift.enum/evaluatingConditions``. Time
  /// limits of a `retry` policy don't include the time that the journal takes; a
  /// ``TimeoutObserver`` does.
  ///
  /// Every operation with a value can be recorded:
  ///
  /// - The operation that ``recover(name:body:)`` returns records its value, whether the closure or
  ///   the other operation has produced it. After a restart it succeeds with that value whatever the
  ///   outcome of the other operation is, and the closure isn't called.
  /// - A ``RetryOperation`` records the value of the attempt that has succeeded. After a restart it
  ///   creates no attempt, and so no rollback of an attempt is registered.
  /// - A subclass records the value of its body. Its ``AdvancedOperation/finished(withErrors:)`` is
  ///   called even if the value came from the journal.
  ///
  /// The method can be called from any thread.
  ///
  /// - Parameters:
  ///   - key: The name of the value in the journal; see ``OperationJournal`` about keys. It becomes
  ///     the name of the operation, unless that has one.
  ///   - journal: The journal that keeps the value. Retained until the operation has finished.
  /// - Returns: The operation itself.
  /// - Precondition: The operation was neither enqueued nor started, and isn't recorded yet.
  /// - Complexity: O(1).
  @discardableResult
  public final func recorded(as key: String, in journal: some OperationJournal) -> Self {
    use(JournalEntry(key, in: journal, of: Output.self))
    return self
  }
}

extension ResultOperation where Output == Void {
  /// Records in a journal that the operation has succeeded, and doesn't run it again after a
  /// restart.
  ///
  /// ```swift
  /// let publish = ResultOperation { try await upload("app") }.recorded(as: "publish", in: journal)
  /// ```
  ///
  /// The recorded value is `true`. Everything else is as for an operation with a
  /// value: see ``recorded(as:in:)-2hb34``.
  ///
  /// - Parameters:
  ///   - key: The name of the operation in the journal; see ``OperationJournal`` about keys. It
  ///     becomes the name of the operation, unless that has one.
  ///   - journal: The journal that keeps the fact. Retained until the operation has finished.
  /// - Returns: The operation itself.
  /// - Precondition: The operation was neither enqueued nor started, and isn't recorded yet.
  /// - Complexity: O(1).
  @discardableResult
  public final func recorded(as key: String, in journal: some OperationJournal) -> Self {
    use(JournalEntry(key, in: journal))
    return self
  }
}

extension ResultOperation {
  /// Chosen instead of the method for `Void`, which would record that a closure has returned, and
  /// lose its value, if that isn't `Codable`.
  @available(
    *,
    deprecated,
    message: "The value isn't Codable here. Make its type Codable and nonisolated to record it."
  )
  @discardableResult
  public final func recorded(as key: String, in journal: some OperationJournal) -> Self {
    trap(
      "recorded(as:in:) was called on operation “\(label)”, whose value, \(Output.self), isn't "
        + "Codable where it was called. Make it Codable, and nonisolated."
    )
  }

  /// Gives the operation its place in a journal, and its name if it has none.
  fileprivate final func use(_ entry: JournalEntry) {
    let action = withCore { core in
      let action = core.machine.journalAttached(isFirst: !core.isJournaled)
      if action == .record {
        core.isJournaled = true
        core.work?.use(entry)
      }
      return action
    }
    switch action {
    // Without the lock, because the name can be observed.
    case .record: if name == nil { name = entry.key }
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
  }
}

extension AdvancedOperation {
  /// Whether the operation succeeded with a value that it found in its ``OperationJournal``.
  ///
  /// True from the decision of its end on, so that observers can tell it from one that has run:
  /// neither its body nor anything around it has. False for all others, also for one whose value
  /// was found and that was cancelled before its end was decided.
  ///
  /// ```swift
  /// build.onFinish { operation, _ in
  ///   if operation.isFromJournal { print("\(operation.name ?? ""): done before") }
  /// }
  /// ```
  public final var isFromJournal: Bool { withCore { $0.machine.endedWithKnownValue } }

  /// The key of the operation in its journal; nil without one, and once it has finished.
  package final var journalKey: String? { journalEntry?.key }

  /// The value of an operation that has succeeded; nil for one that gives none.
  package final var erasedValue: (any Sendable)? { output }

  /// Looks the value up; conditions are evaluated if it isn't there.
  final func lookUp(_ entry: JournalEntry) {
    evaluate([]) { operation in
      do throws(OperationJournalError) {
        guard let value = try await entry.value() else { return .notRecorded }
        operation.restore(value)
        operation.registerRollbacks()
        return .decided(.valueKnown)
      } catch {
        let element = OperationFailure.Element(origin: .body, error: error)
        return .decided(.failed([element]))
      }
    }
  }

  /// The value isn't recorded: the conditions are evaluated as if there were no journal.
  final func evaluateUnrecorded() {
    var task: Task<Void, Never>?
    let evaluation = withCore { core -> ConditionEvaluation? in
      swap(&task, &core.makeExtra().evaluation.task)
      return core.machine.state == .evaluatingConditions ? core.evaluation : nil
    }
    guard let evaluation else { return }
    if evaluation.conditions.isEmpty { return resume(evaluate(evaluation)) }
    // As a worker would: this may be the thread of the journal.
    environment.enqueue { self.resume(self.evaluate(evaluation)) }
  }
}
