package import CoreOperations

extension AdvancedOperation {
  /// The dependencies have finished: lets helpers run, then asks the conditions.
  ///
  /// On a worker without a slot, or by hand on the executor.
  final func beginEvaluation() {
    if let verdict = verdictOfInputs() {
      switch verdict {
      case .failed, .skipped:
        apply(verdict)
        return
      case .satisfied: break
      }
    }
    let conditions = core.withLock { $0.conditions }
    let helpers = conditions.compactMap { $0.dependency(for: self) }
    if helpers.isEmpty {
      ask(conditions)
    } else {
      run(helpers) { self.ask(conditions) }
    }
  }

  // MARK: Helpers

  private func run(_ helpers: [AdvancedOperation], then next: @escaping @Sendable () -> Void) {
    let added = helpers.filter { $0.claimAsHelper() }
    let environment = environment
    let open = Locked(helpers.count)
    for helper in helpers {
      helper.afterFinished {
        let isLast = open.withLock { open in
          open -= 1
          return open == 0
        }
        // Not here: this may be the thread of somebody who cancels.
        if isLast { environment.enqueue(next) }
      }
    }
    let isCancelled = core.withLock { core in
      if core.machine.isCancelled { return true }
      core.makeExtra().helpers = added
      return false
    }
    if isCancelled { for helper in added { helper.cancel(forwarding: cancellationReason) } }
    if !addToQueue(added) {
      AdvancedOperationQueue(environment: environment).addOperations(added)
    }
  }

  /// Whether nobody runs the operation yet; it is the caller's to add to a queue then.
  final func claimAsHelper() -> Bool {
    core.withLock { core in
      guard isUnclaimed, !core.isClaimedAsHelper else { return false }
      core.isClaimedAsHelper = true
      return true
    }
  }

  // MARK: Asking

  private func ask(_ conditions: [any OperationCondition]) {
    let policy = core.withLock { core in
      core.machine.isCancelled ? nil : Optional(core.conditionPolicy)
    }
    noteQuestion(conditions)
    switch policy {
    case nil: return
    case .evaluateAll: askAll(conditions)
    case .stopAtFirstFailure: askInOrder(conditions)
    }
  }

  /// Has the domain remember when immediate conditions were asked, if their answer can be outdated by
  /// one who holds what this operation claims.
  private func noteQuestion(_ conditions: [any OperationCondition]) {
    let claims = core.withLock { $0.machine.isCancelled ? [] : $0.claims }
    if claims.isEmpty || !conditions.contains(where: \.isImmediate) { return }
    environment.exclusivity.conditionsAsked(claims, for: self)
    if isCancelled { environment.exclusivity.withdraw(self) }
  }

  private func askAll(_ conditions: [any OperationCondition]) {
    var results = conditions.map { $0.verdict(for: self) }
    let open = results.indices.filter { results[$0] == nil }
    if open.isEmpty {
      apply(Self.verdict(of: conditions, results))
      return
    }
    evaluate { operation in
      if open.count == 1 {
        results[open[0]] = await conditions[open[0]].evaluate(for: operation)
      } else {
        await withTaskGroup(of: (Int, OperationConditionResult).self) { group in
          for index in open {
            group.addTask { (index, await conditions[index].evaluate(for: operation)) }
          }
          for await (index, result) in group { results[index] = result }
        }
      }
      return Self.verdict(of: conditions, results)
    }
  }

  private func askInOrder(_ conditions: [any OperationCondition]) {
    for (index, condition) in conditions.enumerated() {
      guard let result = condition.verdict(for: self) else {
        let rest = conditions[index...]
        evaluate { operation in
          for condition in rest {
            let result =
              if let immediate = condition.verdict(for: operation) { immediate } else {
                await condition.evaluate(for: operation)
              }
            if !result.isSatisfied { return Self.verdict(of: [condition], [result]) }
          }
          return .satisfied
        }
        return
      }
      if !result.isSatisfied {
        apply(Self.verdict(of: [condition], [result]))
        return
      }
    }
    apply(.satisfied)
  }

  private func evaluate(
    _ body: sending @escaping (AdvancedOperation) async -> OperationStateMachine.Verdict
  ) {
    let task = Task(executorPreference: environment.taskExecutor) {
      let verdict = await body(self)
      self.apply(verdict)
    }
    let isCancelled = core.withLock { core in
      if core.machine.isCancelled { return true }
      if core.machine.state == .evaluatingConditions { core.makeExtra().evaluation = task }
      return false
    }
    if isCancelled { task.cancel() }
  }

  /// One verdict of all: failures win over skips, skips over satisfied; in attach order.
  private static func verdict(
    of conditions: [any OperationCondition],
    _ results: [OperationConditionResult?]
  ) -> OperationStateMachine.Verdict {
    var failures: [OperationFailure.Element] = []
    var reason: String?
    for (condition, result) in zip(conditions, results) {
      switch result {
      case .satisfied: continue
      case .skipped(let why): reason = reason ?? why
      case .failed(let error): failures.append(Self.element(condition.name, error))
      case nil: trap("condition “\(condition.name)” was not asked")
      }
    }
    if !failures.isEmpty { return .failed(failures) }
    return reason.map { .skipped(reason: $0) } ?? .satisfied
  }

  static func element(_ name: String, _ error: any Error) -> OperationFailure.Element {
    OperationFailure.Element(
      origin: .condition(name),
      error: OperationConditionError(condition: name, underlying: error),
      isInherited: error is any InheritedFailure
    )
  }

  private func apply(_ verdict: OperationStateMachine.Verdict) {
    let action = change { core in
      core.extra?.evaluation = nil
      return core.machine.verdictsArrived(verdict)
    }
    switch action {
    case .becomeReady(let isMarked):
      if core.withLock({ $0.machine.isStartedByHand }) {
        environment.enqueue { self.goOnByHand() }
      } else {
        releaseReadinessHold(startsAhead: isMarked)
      }
    case .ignore: return
    }
  }

  // MARK: The start gate

  package final func decideStart() -> StartDecision {
    let (claims, conditions, isDecided, isByHand) = core.withLock { core in
      (
        core.claims, core.conditions, core.machine.isMarked || core.machine.isCancelled,
        core.machine.isStartedByHand
      )
    }
    if claims.isEmpty || isDecided { return .run }
    let needsReview = conditions.contains(where: \.isImmediate)
    let decision = environment.exclusivity.take(
      claims,
      for: self,
      needsReview: needsReview,
      isByHand: isByHand
    )
    switch decision {
    case .granted: return .run
    case .outdated:
      if isCancelled { environment.exclusivity.withdraw(self) }
      if isByHand {
        environment.enqueue { self.reviewByHand() }
      } else {
        reoffer(afterReview: true)
      }
      return .park
    case .wait(let holders):
      for holder in holders { holder.cancel(withError: OperationClaimError.preempted(by: label)) }
      // A cancel that came before this operation stood in line found nothing to withdraw.
      if isCancelled { environment.exclusivity.withdraw(self) }
      return .park
    case .refused(let claim, let holders):
      let error = OperationClaimError.busy(holders: holders.map(\.label))
      return mark(.failed([Self.element(claim, error)]))
    case .skipped(let claim, let holders):
      let names = holders.map(\.label).joined(separator: ", ")
      return mark(.skipped(reason: "“\(claim)” is held by \(names)"))
    }
  }

  private func mark(_ verdict: OperationStateMachine.Verdict) -> StartDecision {
    switch change({ $0.machine.reviewed(verdict) }) {
    case .becomeReady(let isMarked): isMarked ? .skip : .run
    case .ignore: .run
    }
  }

  package final func reviewBeforeReoffer() { finishReview(startsAhead: review()) }

  /// Asks again what is known at once; returns whether the operation won't execute because of it.
  final func review() -> Bool {
    let conditions = core.withLock { $0.conditions }
    noteQuestion(conditions)
    let asked = conditions.compactMap { condition in
      condition.verdict(for: self).map { (condition, $0) }
    }
    let verdict = Self.verdict(of: asked.map(\.0), asked.map { Optional($0.1) })
    switch change({ $0.machine.reviewed(verdict) }) {
    case .becomeReady(let isMarked):
      if isMarked { environment.exclusivity.withdraw(self) }
      return isMarked
    case .ignore: return false
    }
  }
}
