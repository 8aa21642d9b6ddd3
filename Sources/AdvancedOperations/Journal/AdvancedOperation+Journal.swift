import CoreOperations

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
