import CoreOperations

extension AdvancedOperation {
  /// The dependencies have finished: lets helpers run, then asks the conditions.
  ///
  /// On a worker without a slot, or by hand on the executor.
  final func begin(_ question: AdvancedCore.Question) {
    if let verdict = verdictOfInputs() {
      switch verdict {
      case .failed, .skipped:
        apply(verdict)
        return
      case .satisfied: break
      }
    }
    var helpers: [AdvancedOperation] = []
    for condition in question.conditions {
      guard let helper = condition.dependency(for: self) else { continue }
      if let group = helper.waitingGroup {
        let error = OperationHelperError(helper: helper.label, group: group.label)
        apply(.failed([Self.element(condition.name, error)]))
        return
      }
      helpers.append(helper)
    }
    if helpers.isEmpty {
      ask(question)
    } else if helpers.contains(self) {
      cancel(withError: OperationCycleError(path: [label, label]))
    } else {
      run(helpers) { self.ask(question) }
    }
  }

  // MARK: Helpers

  private func run(_ helpers: [AdvancedOperation], then next: @escaping @Sendable () -> Void) {
    let added = helpers.filter { $0.claimAsHelper() }
    let isCancelled = withCore { core in
      if core.machine.isCancelled { return true }
      let extra = core.makeExtra()
      extra.helpers = added
      extra.awaitedHelpers = helpers
      return false
    }
    if isCancelled { for helper in added { helper.cancel(forwarding: cancellationReason) } }
    whenEnded(helpers, next)
    // Of two operations that wait for each other, at least one sees both: each keeps what it waits for
    // and marks that as awaited, then looks.
    for helper in helpers { helper.withCore { $0.isAwaitedAsHelper = true } }
    for helper in helpers { noteWait(for: helper) }
    RunTimeRings.lookAtOther(of: self)
    if !addToQueue(added) {
      AdvancedOperationQueue(environment: environment).addOperations(added)
    }
  }

  private func whenEnded(
    _ helpers: [AdvancedOperation],
    _ next: @escaping @Sendable () -> Void
  ) {
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
  }

  /// Whether the operation is in no queue and in no group; it is the caller's to add to a queue then.
  final func claimAsHelper() -> Bool {
    withCore { $0.extra?.group == nil && claim() }
  }

  /// The group that will run the operation, and has not started.
  final var waitingGroup: AdvancedOperation? {
    isUnclaimed ? awaitedParent as? AdvancedOperation : nil
  }

  // MARK: Asking

  private func ask(_ question: AdvancedCore.Question) {
    if isCancelled { return }
    noteQuestion(question.conditions, question.claims)
    switch question.policy {
    case .evaluateAll: askAll(question.conditions)
    case .stopAtFirstFailure: askInOrder(question.conditions)
    }
  }

  private func askAll(_ conditions: [any OperationCondition]) {
    // The usual case costs no array.
    if conditions.count == 1 {
      if let result = verdictAtOnce(of: conditions[0]) {
        apply(Self.verdict(ofOnly: conditions[0], result))
      } else {
        evaluate(asking: Self.firstCondition) { operation in
          Self.verdict(ofOnly: conditions[0], await conditions[0].evaluate(for: operation))
        }
      }
      return
    }
    let known = conditions.map { verdictAtOnce(of: $0) }
    let open = known.indices.filter { known[$0] == nil }
    if open.isEmpty {
      apply(Self.verdict(of: conditions, known))
      return
    }
    evaluate(asking: open) { operation in
      var results = known
      if open.count == 1 {
        results[open[0]] = await conditions[open[0]].evaluate(for: operation)
      } else {
        await withTaskGroup(of: (Int, OperationConditionResult).self) { group in
          for index in open {
            // Each of these tasks is one whose end the operation waits for.
            group.addTask {
              await TaskOccupant.with(operation) {
                (index, await conditions[index].evaluate(for: operation))
              }
            }
          }
          for await (index, result) in group {
            results[index] = result
            operation.withCore { $0.extra?.openConditions.removeAll { $0 == index } }
          }
        }
      }
      return Self.verdict(of: conditions, results)
    }
  }

  private static let firstCondition = [0]

  /// What a condition knows at once; it must not block the thread.
  private func verdictAtOnce(
    of condition: any OperationCondition
  ) -> OperationConditionResult? {
    ThreadOccupant.asking(self) { condition.verdict(for: self) }
  }

  private static func verdict(
    ofOnly condition: any OperationCondition,
    _ result: OperationConditionResult
  ) -> OperationStateMachine.Verdict {
    result.isSatisfied ? .satisfied : verdict(of: [condition], [result])
  }

  private func askInOrder(_ conditions: [any OperationCondition]) {
    for (index, condition) in conditions.enumerated() {
      guard let result = verdictAtOnce(of: condition) else {
        let rest = conditions[index...]
        evaluate(asking: [index]) { operation in
          for (index, condition) in zip(rest.indices, rest) {
            operation.withCore { $0.extra?.openConditions = [index] }
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
    asking open: [Int],
    _ body: @escaping @Sendable (AdvancedOperation) async -> OperationStateMachine.Verdict
  ) {
    let now = environment.clock.now
    withCore { core in
      guard core.machine.state == .evaluatingConditions else { return }
      let extra = core.makeExtra()
      extra.openConditions = open
      if extra.stateTimes[.evaluatingConditions] == nil {
        extra.stateTimes[.evaluatingConditions] = now
      }
    }
    let task = evaluateInTask(body)
    let isCancelled = withCore { core in
      if core.machine.isCancelled { return true }
      if core.machine.state == .evaluatingConditions { core.makeExtra().evaluation = task }
      return false
    }
    if isCancelled { task.cancel() }
  }

  /// One verdict of all: failures win over skips, skips over satisfied; in attach order.
  static func verdict(
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
      isInherited: OperationConditionError.isInherited(error)
    )
  }

  final func apply(_ verdict: OperationStateMachine.Verdict) {
    var isByHand = false
    let action = change { core in
      core.extra?.evaluation = nil
      core.extra?.openConditions = []
      isByHand = core.machine.isStartedByHand
      return core.machine.verdictsArrived(verdict)
    }
    switch action {
    case .becomeReady(let isMarked):
      if isByHand {
        environment.enqueue { self.goOnByHand() }
      } else {
        releaseReadinessHold(startsAhead: isMarked)
      }
    case .ignore: return
    }
  }

  // MARK: After a wait for a claim

  package final func reviewBeforeReoffer() { finishReview(startsAhead: review()) }

  /// Asks again what is known at once; returns whether the operation won't execute because of it.
  final func review() -> Bool {
    let (conditions, claims) = withCore { core in
      (core.conditions, core.machine.isCancelled ? [] : core.claims)
    }
    noteQuestion(conditions, claims)
    return askAgain(conditions)
  }

  /// The operation has its claims, for which it waited: asks again what is known at once, with all that
  /// it needs in hand, so that nobody goes by meanwhile, and nobody who holds them can outdate an answer.
  ///
  /// If one says no, it is marked, starts without executing, and gives all back at its end.
  final func reviewGranted() {
    let conditions = withCore { $0.machine.isCancelled ? [] : $0.conditions }
    if conditions.contains(where: \.isImmediate) { _ = askAgain(conditions) }
  }

  /// Returns whether the operation won't execute because of what it was told.
  private func askAgain(_ conditions: [any OperationCondition]) -> Bool {
    let asked = conditions.compactMap { condition in
      verdictAtOnce(of: condition).map { (condition, $0) }
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
