import CoreOperations

extension ResultOperation where Output: Codable {
  /// Records the operation's value in a journal, and reads the value from the journal after a restart.
  ///
  /// ```swift
  /// let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)
  /// ```
  ///
  /// The operation looks up its value when its dependencies have finished, with any outcomes:
  ///
  /// - If the journal has the value, the operation succeeds with it. The operation doesn't run its body, its
  ///   interceptors or prerequisite operations, and doesn't evaluate its conditions. The operation acquires
  ///   no claim and no slot. Observers are notified of the end without a start, and
  ///   ``AdvancedOperation/isFromJournal`` is true.
  /// - If the journal has no value, the operation runs as without a journal until the body has returned. The
  ///   operation then records its value while it is still executing and holds its slot and claims. Observers
  ///   and dependents are notified of the end afterwards, and ``value`` returns afterwards.
  /// - If the journal throws, the operation fails with an ``OperationJournalError``. If looking up has
  ///   failed, the body wasn't called. If recording has failed, the work is done, and the body isn't called
  ///   again, even with a `retry` policy.
  ///
  /// A failure, a skip and a cancel aren't recorded. If the operation is cancelled before the body has
  /// returned, its value is dropped, because it may be a part of the work. A later cancel doesn't interrupt
  /// the journal. The operation waits until its value is recorded, and then ends as cancelled.
  ///
  /// Conditions are evaluated after the journal has answered. Even a ``DependencyRule``, which may refuse
  /// early, is evaluated when all dependencies have finished. A failed input doesn't end the operation early
  /// either. The operation first waits for its other dependencies and looks up its own value. With a recorded
  /// value, the operation succeeds in spite of the failed input. An operation that looks up its value is in
  /// the state ``AdvancedOperation/State-swift.enum/evaluatingConditions``. Time limits of a `retry` policy
  /// don't include the time that the journal takes; a ``TimeoutObserver`` does.
  ///
  /// Every operation with a value can be recorded:
  ///
  /// - The operation that ``recover(name:body:)`` returns records its value if the closure or the other
  ///   operation has produced it. After a restart the operation succeeds with that value, even if the other
  ///   operation fails, and the closure isn't called.
  /// - A ``RetryOperation`` records the value of the attempt that has succeeded. After a restart the
  ///   operation doesn't create an attempt, so no rollback of an attempt is registered.
  /// - A subclass records the value of its body. Its ``AdvancedOperation/finished(withErrors:)`` is
  ///   called even if the value came from the journal.
  ///
  /// The method can be called from any thread.
  ///
  /// - Parameters:
  ///   - key: The name of the value in the journal; see ``OperationJournal`` about keys. The key becomes the
  ///     name of the operation if it has no name.
  ///   - journal: The journal that stores the value, which is retained until the operation has finished.
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
  /// Records in a journal that the operation has succeeded, so that it doesn't run again after a restart.
  ///
  /// ```swift
  /// let publish = ResultOperation { try await upload("app") }.recorded(as: "publish", in: journal)
  /// ```
  ///
  /// The recorded value is `true`. Everything else is as for an operation with a
  /// value: see ``recorded(as:in:)-2hb34``.
  ///
  /// - Parameters:
  ///   - key: The name of the operation in the journal; see ``OperationJournal`` about keys. The key becomes
  ///     the name of the operation if it has no name.
  ///   - journal: The journal that stores the record, which is retained until the operation has finished.
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
  /// Reports that the value of the operation isn't `Codable`.
  ///
  /// The compiler chooses this method if the value isn't `Codable`. Otherwise, it would choose the method for
  /// `Void`, which would record that a closure has returned, and lose its value.
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

  /// Attaches an entry of a journal to the operation, and uses the key as its name if it has no name.
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
    // The name is set without the lock, because the name can be observed.
    case .record: if name == nil { name = entry.key }
    case .reject(let mistake): trap(mistake.sentence(about: self))
    }
  }
}

extension AdvancedOperation {
  /// A Boolean value that indicates whether the operation succeeded with a value from its
  /// ``OperationJournal``.
  ///
  /// The value is true as soon as the outcome is decided, so observers can distinguish the operation from an
  /// operation whose body ran. The value is false for all other operations, including an operation that was
  /// cancelled after the lookup, before its outcome was decided.
  ///
  /// ```swift
  /// build.onFinish { operation, _ in
  ///   if operation.isFromJournal { print("\(operation.name ?? ""): done before") }
  /// }
  /// ```
  public final var isFromJournal: Bool { withCore { $0.machine.endedWithKnownValue } }

  /// The key of the operation in its journal; nil without a journal, and after the operation has finished.
  package final var journalKey: String? { journalEntry?.key }

  /// The value of an operation that has succeeded; nil for an operation without a value.
  package final var erasedValue: (any Sendable)? { output }

  /// Looks up the value, and evaluates the conditions if the journal doesn't have it.
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

  /// Evaluates the conditions as without a journal, because the value isn't recorded.
  final func evaluateUnrecorded() {
    var task: Task<Void, Never>?
    let evaluation = withCore { core -> ConditionEvaluation? in
      swap(&task, &core.makeExtra().evaluation.task)
      return core.machine.state == .evaluatingConditions ? core.evaluation : nil
    }
    guard let evaluation else { return }
    if evaluation.conditions.isEmpty { return resume(evaluate(evaluation)) }
    // A worker evaluates the conditions, because this may be the thread of the journal.
    environment.enqueue { self.resume(self.evaluate(evaluation)) }
  }
}
