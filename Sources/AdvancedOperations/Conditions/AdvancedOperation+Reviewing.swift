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
      return ThreadContext.asking(self) { parts.review(for: self) }
    }
    guard let refusal else { return false }
    switch change({ $0.machine.reviewed(refusal) }) {
    case .becomeReady(let isMarked):
      if isMarked { withdrawClaims() }
      return isMarked
    case .ignore: return false
    }
  }

  /// The operation starts: makes it the probe of circuits that its conditions want to be closed and
  /// that are half open; marks it if another one tries.
  ///
  /// Only now, when it has its slot and its claims: an operation that waits for them would keep
  /// all others from trying.
  final func admitToCircuits() {
    let question = withCore { $0.machine.mayStart ? $0.question : nil }
    guard let question else { return noteAdmission(nil) }
    let stopsAtFirst = question.policy == .stopAtFirstFailure
    let refusal = Self.refusal(of: question.conditions, stopsAtFirst: stopsAtFirst) { condition in
      if condition.breakers.allSatisfy(\.isClosed) { return nil }
      if let closed = condition as? CircuitClosed { return closed.admit(self) }
      return ThreadContext.asking(self) {
        (condition as? any CompoundCondition)?.parts.review(for: self, starts: true)
      }
    }
    noteAdmission(refusal)
  }

  /// Another thread may have come first, if the operation was started by hand.
  private func noteAdmission(_ refusal: OperationStateMachine.Verdict?) {
    let isMarked = withCore { core in
      guard core.isAdmissionDue else { return false }
      core.isAdmissionDue = false
      guard let refusal else { return false }
      switch core.machine.reviewed(refusal) {
      case .becomeReady(let isMarked): return isMarked
      case .ignore: return false
      }
    }
    if isMarked { withdrawClaims() }
  }
}
