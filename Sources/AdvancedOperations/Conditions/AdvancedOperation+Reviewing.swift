import CoreOperations

/// Immediate conditions are evaluated again when the operation has waited since they were.
extension AdvancedOperation {
  /// Evaluates immediate conditions again; returns whether the operation won't execute because of
  /// it.
  final func review() -> Bool {
    let question = withCore { core in core.machine.isCancelled ? nil : core.question }
    guard let question else { return false }
    noteQuestion(question.conditions, question.claims)
    return askAgain(question)
  }

  /// The operation has its claims, for which it waited: evaluates immediate conditions again while
  /// it holds all that it needs, so that no operation that came later passes it meanwhile, and no
  /// other holder can outdate an answer.
  ///
  /// If one of them doesn't hold any more, the operation is marked: it starts without executing,
  /// and gives all back at its end.
  final func reviewGranted() {
    let question = withCore { core in
      core.machine.isCancelled || core.machine.state >= .executing ? nil : core.question
    }
    guard let question, question.conditions.contains(where: \.hasImmediatePart) else { return }
    _ = askAgain(question)
  }

  /// Returns whether the operation won't execute because of an answer.
  private func askAgain(_ question: AdvancedCore.Question) -> Bool {
    // The usual case costs no array.
    var refusing: [any OperationCondition] = []
    var results: [OperationConditionResult] = []
    for condition in question.conditions {
      guard let result = verdictAtOnce(of: condition), !result.isSatisfied else { continue }
      refusing.append(condition)
      results.append(result)
      if question.policy == .stopAtFirstFailure { break }
    }
    if refusing.isEmpty { return false }
    switch change({ $0.machine.reviewed(Self.verdict(of: refusing, results)) }) {
    case .becomeReady(let isMarked):
      if isMarked { environment.exclusivity.withdraw(self) }
      return isMarked
    case .ignore: return false
    }
  }
}
