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
    let stopsAtFirst = question.policy == .stopAtFirstFailure
    let refusal = Self.refusal(of: question.conditions, stopsAtFirst: stopsAtFirst) { condition in
      // Others answer without waiting, or keep the answer that they gave.
      guard let parts = (condition as? any CompoundCondition)?.parts, parts.isMixed else {
        return verdictAtOnce(of: condition)
      }
      return CurrentCode.asking(self) { parts.review(for: self) }
    }
    guard let refusal else { return false }
    switch change({ $0.machine.reviewed(refusal) }) {
    case .becomeReady(let isMarked):
      if isMarked { withdrawClaims() }
      return isMarked
    case .ignore: return false
    }
  }
}
