import CoreOperations

/// Conditions that are evaluated one after the other, as `.stopAtFirstFailure` wants it.
extension AdvancedOperation {
  /// What a task that evaluates conditions came to.
  enum Evaluation: Sendable {
    /// All of them are evaluated, or one of them decides.
    ///
    /// Immediate conditions that were evaluated before a wait are outdated.
    case decided(OperationStateMachine.Verdict, isOutdated: Bool)
    /// A condition needs a helper; its turn has come, in order.
    case needsHelp(AdvancedOperation, at: Int, isOutdated: Bool)
    /// The journal has no value; no condition is evaluated.
    case notRecorded
  }

  /// A task has evaluated conditions; called when none of their code goes on.
  final func conclude(_ evaluation: Evaluation) {
    switch evaluation {
    case .decided(let verdict, let isOutdated): apply(verdict, isOutdated: isOutdated)
    case .needsHelp(let helper, let index, let isOutdated):
      var task: Task<Void, Never>?
      let conditions = withCore { core in
        swap(&task, &core.makeExtra().evaluation)
        core.makeExtra().openConditions = []
        return core.machine.isCancelled ? [] : core.conditions
      }
      if conditions.isEmpty { return }
      goOn(with: conditions[index...], after: helper, isOutdated: isOutdated)
    case .notRecorded: evaluateUnrecorded()
    }
  }

  /// What a condition wants to run before it is evaluated.
  enum Help: Sendable {
    case none
    case run(AdvancedOperation)
    /// It can't be run.
    case refused(OperationStateMachine.Verdict)
  }

  /// Calls `dependency(for:)` of a condition.
  final func help(for condition: any OperationCondition) -> Help {
    let helper = CurrentCode.asking(self) { condition.dependency(for: self) }
    guard let helper else { return .none }
    guard let group = helper.waitingGroup else { return .run(helper) }
    let error = OperationHelperError(helper: helper.label, group: group.label)
    return .refused(.failed([Self.element(condition.name, error)]))
  }

  /// Evaluates conditions one after the other, each after its helper, until one doesn't hold.
  ///
  /// - Parameters:
  ///   - conditions: Those that are left.
  ///   - isHelped: Whether the helper of the first one has run.
  ///   - isOutdated: Whether immediate conditions were evaluated before a wait.
  final func askInOrder(
    _ conditions: ArraySlice<any OperationCondition>,
    isHelped: Bool = false,
    isOutdated: Bool = false
  ) {
    if isCancelled { return }
    for (index, condition) in zip(conditions.indices, conditions) {
      if !isHelped || index > conditions.startIndex {
        switch help(for: condition) {
        case .none: break
        case .run(let helper):
          let isOutdated = isOutdated || conditions[..<index].contains(where: \.hasImmediatePart)
          goOn(with: conditions[index...], after: helper, isOutdated: isOutdated)
          return
        case .refused(let verdict):
          apply(verdict)
          return
        }
      }
      guard let result = verdictAtOnce(of: condition) else {
        let isOutdated = isOutdated || conditions[...index].contains(where: \.hasImmediatePart)
        evaluate(asking: [index]) { operation in
          await operation.evaluateInOrder(conditions[index...], isOutdated: isOutdated)
        }
        return
      }
      if !result.isSatisfied {
        apply(Self.verdict(of: [condition], [result]))
        return
      }
    }
    apply(.satisfied, isOutdated: isOutdated)
  }

  private func goOn(
    with conditions: ArraySlice<any OperationCondition>,
    after helper: AdvancedOperation,
    isOutdated: Bool
  ) {
    run([helper], of: conditions.prefix(1).map(\.name)) {
      self.askInOrder(conditions, isHelped: true, isOutdated: isOutdated)
    }
  }

  /// The same in a task, up to a condition that needs a helper; the first one has had its own.
  private func evaluateInOrder(
    _ conditions: ArraySlice<any OperationCondition>,
    isOutdated: Bool
  ) async -> Evaluation {
    var isOutdated = isOutdated
    var isOutdatedByWait = false
    for (index, condition) in zip(conditions.indices, conditions) {
      if index > conditions.startIndex {
        switch help(for: condition) {
        case .none: break
        case .run(let helper):
          return .needsHelp(helper, at: index, isOutdated: isOutdated || isOutdatedByWait)
        case .refused(let verdict): return .decided(verdict, isOutdated: isOutdated)
        }
      }
      withCore { $0.extra?.openConditions = [index] }
      if condition.hasImmediatePart { isOutdatedByWait = true }
      let result: OperationConditionResult
      if let immediate = condition.verdict(for: self) {
        result = immediate
      } else {
        isOutdated = isOutdated || isOutdatedByWait
        result = await condition.evaluate(for: self)
      }
      if !result.isSatisfied {
        return .decided(Self.verdict(of: [condition], [result]), isOutdated: isOutdated)
      }
    }
    return .decided(.satisfied, isOutdated: isOutdated)
  }
}
