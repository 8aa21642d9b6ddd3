import CoreOperations

extension AdvancedOperation {
  /// The last dependency has finished: evaluates the conditions, unless the operation is cancelled.
  final func evaluateConditions() {
    let question = change { core -> AdvancedCore.Question? in
      switch core.machine.dependenciesFinished() {
      case .evaluate: core.question
      case .none: nil
      }
    }
    if let question { begin(question) }
  }

  /// The dependencies have finished: looks into the journal, lets helpers run, and evaluates the
  /// conditions.
  ///
  /// On a worker without a slot, or by hand on the executor.
  final func begin(_ question: AdvancedCore.Question) {
    if question.isJournaled, let entry = journalEntry { lookUp(entry) } else { evaluate(question) }
  }

  /// Lets helpers run, and evaluates the conditions.
  final func evaluate(_ question: AdvancedCore.Question) {
    if let verdict = verdictOfInputs() {
      switch verdict {
      case .failed, .skipped:
        apply(verdict)
        return
      case .satisfied, .valueKnown: break
      }
    }
    switch question.policy {
    case .evaluateAll: askAfterHelpers(question)
    case .stopAtFirstFailure:
      noteQuestion(question.conditions, question.claims)
      askInOrder(ConditionWalk(question.conditions))
    }
  }

  // MARK: Helpers

  /// What a condition wants to run before it is evaluated.
  enum Help: Sendable {
    case none
    case run([Operation])
    /// It can't be run.
    case refused(OperationStateMachine.Verdict)
  }

  /// Calls `dependency(for:)` of a condition, or of its parts.
  final func help(for condition: any OperationCondition) -> Help {
    let helpers = ThreadContext.asking(self) { condition.helpers(for: self) }
    if helpers.isEmpty { return .none }
    for helper in helpers {
      guard let group = helper.waitingGroup else { continue }
      let error = OperationHelperError(helper: helper.label, group: group.label)
      return .refused(.failed([Self.element(condition.name, error)]))
    }
    return .run(helpers)
  }

  private func askAfterHelpers(_ question: AdvancedCore.Question) {
    var helpers: [Operation] = []
    var names: [String] = []
    for condition in question.conditions {
      switch help(for: condition) {
      case .none: continue
      case .run(let brought):
        helpers += brought
        names += brought.map { _ in condition.name }
      case .refused(let verdict):
        apply(verdict)
        return
      }
    }
    // Without helpers no closure is made, which would be an allocation.
    if helpers.isEmpty { ask(question) } else { run(helpers, of: names) { self.ask(question) } }
  }

  private func ask(_ question: AdvancedCore.Question) {
    if isCancelled { return }
    noteQuestion(question.conditions, question.claims)
    let conditions = question.conditions
    // A single one, which is the usual case, is evaluated without an array of results.
    if conditions.count == 1 {
      askInOrder(ConditionWalk(conditions, isHelped: true))
    } else {
      askTogether(conditions)
    }
  }

  /// Runs the helpers of conditions.
  ///
  /// - Parameters:
  ///   - helpers: The helpers, added to the queue if they are in none.
  ///   - conditions: For each of them, the name of the condition that brought it.
  ///   - next: Called when all of them have finished.
  final func run(
    _ helpers: [Operation],
    of conditions: [String],
    then next: @escaping @Sendable () -> Void
  ) {
    if helpers.contains(self) {
      cancel(withError: OperationCycleError(path: [label, label]))
      return
    }
    // Of two operations that wait for each other, at least one sees both: each marks what it waits
    // for as awaited and keeps it, then looks.
    for helper in helpers { helper.neededAsHelper() }
    let added = helpers.filter { $0.claimAsHelper() }
    let isCancelled = withCore { core in
      if core.machine.isCancelled { return true }
      let extra = core.makeExtra()
      extra.asking.helpers = helpers
      extra.helpedConditions = conditions
      return false
    }
    if isCancelled {
      Asking(helpers: helpers).cancel(reason: cancellationReason)
    } else {
      whenEnded(helpers, next)
    }
    for helper in helpers { noteWait(for: helper) }
    RunTimeCycles.checkWait(of: self)
    if !addToQueue(added) {
      AdvancedOperationQueue(environment: environment).addOperations(added)
    }
  }

  private func whenEnded(_ helpers: [Operation], _ next: @escaping @Sendable () -> Void) {
    let environment = environment
    let open = Locked(helpers.count)
    keep(
      helpers.map { helper in
        helper.watchEnd { _ in
          let isLast = open.withLock { open in
            open -= 1
            return open == 0
          }
          // Not here: this may be a thread that is cancelling.
          if isLast { environment.enqueue(next) }
        }
      }
    )
  }

  // MARK: Asking

  /// Evaluates all conditions at the same time.
  private func askTogether(_ conditions: [any OperationCondition]) {
    let known = conditions.map { verdictAtOnce(of: $0) }
    let open = known.indices.filter { known[$0] == nil }
    if open.isEmpty { return apply(Self.verdict(of: conditions, known)) }
    let isOutdated = conditions.contains(where: \.hasImmediatePart)
    evaluate(asking: open) { operation in
      var results = known
      if open.count == 1 {
        results[open[0]] = await conditions[open[0]].evaluate(for: operation)
      } else {
        await operation.evaluateTogether(open.map { ($0, conditions[$0]) }) { results[$0] = $1 }
      }
      return .decided(Self.verdict(of: conditions, results), isOutdated: isOutdated)
    }
  }

  private func evaluateTogether(
    _ open: [(index: Int, condition: any OperationCondition)],
    _ take: (Int, OperationConditionResult) -> Void
  ) async {
    await withTaskGroup(of: (Int, OperationConditionResult).self) { group in
      for (index, condition) in open {
        // Each of these tasks is one whose end the operation waits for.
        group.addTask {
          await TaskContext.with(self) { (index, await condition.evaluate(for: self)) }
        }
      }
      for await (index, result) in group {
        take(index, result)
        withCore { $0.extra?.openConditions.removeAll { $0 == index } }
      }
    }
  }

  /// What a condition knows at once; it must not block the thread.
  final func verdictAtOnce(
    of condition: any OperationCondition
  ) -> OperationConditionResult? {
    ThreadContext.asking(self) { condition.verdict(for: self) }
  }

  final func evaluate(
    asking open: [Int],
    _ body: @escaping @Sendable (AdvancedOperation) async -> Evaluation
  ) {
    let now = environment.clock.now
    var number = 0
    withCore { core in
      guard core.machine.state == .evaluatingConditions else { return }
      let extra = core.makeExtra()
      extra.evaluationCount += 1
      number = extra.evaluationCount
      extra.openConditions = open
      if extra.stateTimes.evaluating == nil { extra.stateTimes.evaluating = now }
    }
    let task = evaluateInTask(body)
    let isCancelled = withCore { core in
      if core.machine.isCancelled { return true }
      // Unless it has ended by now, and the next one was made.
      let extra = core.makeExtra()
      if core.machine.state == .evaluatingConditions, extra.evaluationCount == number {
        extra.asking.evaluation = task
      }
      return false
    }
    if isCancelled { task.cancel() }
  }

  /// What a task that evaluates conditions came to.
  enum Evaluation: Sendable {
    /// All of them are evaluated, or one of them decides.
    ///
    /// Immediate conditions that were evaluated before a wait are outdated.
    case decided(OperationStateMachine.Verdict, isOutdated: Bool)
    /// A condition needs a helper; its turn has come, in order.
    case needsHelp([Operation], ConditionWalk)
    /// The journal has no value; no condition is evaluated.
    case notRecorded
  }

  /// A task has evaluated conditions; called when none of their code goes on.
  final func conclude(_ evaluation: Evaluation) {
    switch evaluation {
    case .decided(let verdict, let isOutdated): apply(verdict, isOutdated: isOutdated)
    case .needsHelp(let helpers, let walk):
      var task: Task<Void, Never>?
      let isCancelled = withCore { core in
        swap(&task, &core.makeExtra().asking.evaluation)
        core.makeExtra().openConditions = []
        return core.machine.isCancelled
      }
      if !isCancelled { askInOrder(walk, after: helpers) }
    case .notRecorded: evaluateUnrecorded()
    }
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
    return OperationStateMachine.Verdict(failures: failures, skipReason: reason)
  }

  /// What those of some conditions come to that don't hold; nil if none says so.
  static func refusal(
    of conditions: [any OperationCondition],
    stopsAtFirst: Bool = false,
    _ ask: (any OperationCondition) -> OperationConditionResult?
  ) -> OperationStateMachine.Verdict? {
    // The usual case costs no array.
    var refusing: [any OperationCondition] = []
    var results: [OperationConditionResult] = []
    for condition in conditions {
      guard let result = ask(condition), !result.isSatisfied else { continue }
      refusing.append(condition)
      results.append(result)
      if stopsAtFirst { break }
    }
    return refusing.isEmpty ? nil : verdict(of: refusing, results)
  }

  static func element(_ name: String, _ error: any Error) -> OperationFailure.Element {
    OperationFailure.Element(
      origin: .condition(name),
      error: OperationConditionError(condition: name, underlying: error),
      isInherited: OperationConditionError.isInherited(error)
    )
  }

  /// The conditions are evaluated.
  ///
  /// - Parameters:
  ///   - verdict: What they come to.
  ///   - isOutdated: Whether immediate ones were evaluated before a wait, so that they are
  ///     evaluated again when the operation starts.
  final func apply(_ verdict: OperationStateMachine.Verdict, isOutdated: Bool = false) {
    var isByHand = false
    let verdict = namingHelpers(in: verdict)
    let action = change { core in
      core.extra?.asking.evaluation = nil
      core.extra?.openConditions = []
      isByHand = core.machine.isStartedByHand
      return core.machine.verdictsArrived(verdict)
    }
    switch action {
    case .becomeReady(let isMarked):
      if isByHand {
        environment.enqueue { self.goOnByHand(hasWaited: isOutdated) }
      } else {
        releaseReadinessHold(leavesAhead: isMarked, hasWaited: isOutdated)
      }
    case .ignore: return
    }
  }

  /// The verdict, in which conditions that don't hold name their helpers that didn't succeed.
  private func namingHelpers(
    in verdict: OperationStateMachine.Verdict
  ) -> OperationStateMachine.Verdict {
    guard case .failed(var elements) = verdict else { return verdict }
    let (helpers, conditions) = withCore { core in
      (core.extra?.asking.helpers ?? [], core.extra?.helpedConditions ?? [])
    }
    for (helper, condition) in zip(helpers, conditions) {
      guard let failure = helper.outcomeOfDependency?.failure,
        let index = elements.firstIndex(where: { $0.origin == .condition(condition) })
      else { continue }
      elements[index].remarks.append(.helper(helper.label, failure))
    }
    return .failed(elements)
  }
}

extension Operation {
  /// Whether the operation is in no queue and in no group; it is the caller's to add to a queue
  /// then.
  final func claimAsHelper() -> Bool {
    let isClaimed: Bool
    if let advanced = self as? AdvancedOperation {
      // The group may go with this reference, which nothing does under a lock.
      let group: AdvancedOperation?
      (group, isClaimed) = advanced.withCore { core in
        let group = core.extra?.group
        return (group, group == nil && claim())
      }
      withExtendedLifetime(group) {}
    } else {
      isClaimed = claim()
    }
    if isClaimed { addedAsHelper() }
    return isClaimed
  }

  /// The group that will run the operation, and has not started; nil for a plain operation, which
  /// doesn't know its group.
  final var waitingGroup: AdvancedOperation? {
    guard let advanced = self as? AdvancedOperation, advanced.isUnclaimed else { return nil }
    return advanced.awaitedParent as? AdvancedOperation
  }
}
