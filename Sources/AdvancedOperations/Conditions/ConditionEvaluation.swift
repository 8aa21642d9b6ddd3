import CoreOperations

/// The conditions of an operation, and the order in which they are evaluated.
///
/// ```
/// dependenciesDidFinish ─▶ journal ─▶ inputs ─▶ prerequisites ─▶ immediateResult(for:) ─▶ evaluate(for:) in a task
///                                                               └──────────────┴─▶ conclude
/// decideStart, grantedStartBegins ─▶ evaluateAgain: immediateResult(for:), with a slot and all claims
/// ```
struct ConditionEvaluation {
  let conditions: [any OperationCondition]
  let policy: AdvancedOperation.ConditionPolicy
  let isJournaled: Bool
  /// A Boolean value that indicates whether circuit breakers also decide about the start.
  let hasBreakers: Bool
  /// A Boolean value that indicates whether conditions wait for changes instead of failing.
  let hasPatients: Bool
}

/// The task that evaluates the conditions of an operation, and the operations that it waits for.
///
/// The evaluation is cancelled with the operation, and is released without the operation's lock. A
/// prerequisite is cancelled with the last operation that needs it.
struct RunningEvaluation {
  var task: Task<Void, Never>?
  /// The prerequisites that have to finish before the conditions are evaluated, including prerequisites that
  /// other queues run.
  var prerequisites: [Operation] = []
  /// The watches that are called when prerequisites and dependencies finish, which may outlive the operation.
  var watches: [EndWatch] = []
  /// The waits of the task for changes of conditions.
  var waits: [ConditionWait] = []
  /// The wait for changes of an operation that could start otherwise.
  var startWait: StartWait?

  var isInUse: Bool {
    task != nil || !prerequisites.isEmpty || !watches.isEmpty || startWait != nil
  }

  /// Cancels the task, the watches, and the prerequisites that no other operation needs.
  func cancel(reason: (any Error)?) {
    task?.cancel()
    for watch in watches { watch.remove() }
    startWait?.remove()
    prerequisites.filter { $0.removeNeed(of: .condition) }.cancelTogether {
      $0.cancelAsChild(reason: reason, isFromParent: false)
    }
  }
}

extension AdvancedCore {
  var evaluation: ConditionEvaluation {
    ConditionEvaluation(
      conditions: conditions,
      policy: conditionPolicy,
      isJournaled: isJournaled,
      hasBreakers: hasBreakers,
      hasPatients: hasPatients
    )
  }
}

// MARK: - When the dependencies have finished

extension AdvancedOperation {
  package final func dependenciesDidFinish() -> LayerReadiness {
    let evaluation = change { core -> ConditionEvaluation? in
      switch core.machine.dependenciesFinished() {
      case .evaluate: core.evaluation
      case .none: nil
      }
    }
    guard let evaluation else { return .pending }
    guard evaluation.isJournaled, let entry = journalEntry else { return evaluate(evaluation) }
    lookUp(entry)
    return .pending
  }

  /// Evaluates the conditions, after their prerequisites.
  final func evaluate(_ evaluation: ConditionEvaluation) -> LayerReadiness {
    switch verdictOfInputs() {
    case .failed(let elements): return conclude(.failed(elements))
    case .skipped(let reason): return conclude(.skipped(reason: reason))
    case .satisfied, .valueKnown, nil: break
    }
    let conditions = evaluation.conditions
    // A single condition is the usual case, and is evaluated without an array of results.
    if conditions.count <= 1 || evaluation.policy == .stopAtFirstFailure {
      return evaluateInOrder(ConditionWalk(conditions))
    }
    var needed: [Operation] = []
    var names: [String] = []
    for condition in conditions {
      switch prerequisites(for: condition) {
      case .none: continue
      case .run(let brought):
        needed += brought
        names += brought.map { _ in condition.name }
      case .refused(let verdict): return conclude(verdict)
      }
    }
    // Without prerequisites no closure is created, which would be an allocation.
    if needed.isEmpty { return evaluateAll(conditions) }
    run(needed, of: names) { self.resume(self.evaluateAll(conditions)) }
    return .pending
  }

  /// Evaluates all conditions at the same time, after their prerequisites have finished.
  private func evaluateAll(_ conditions: [any OperationCondition]) -> LayerReadiness {
    if isCancelled { return .pending }
    let known = conditions.map { immediateVerdict(of: $0) }
    let open = known.indices.filter { known[$0] == nil }
    if open.isEmpty { return conclude(Self.verdict(of: conditions, known)) }
    evaluate(open) { operation in
      var results = known
      if open.count == 1 {
        results[open[0]] = await conditions[open[0]].evaluate(for: operation)
      } else {
        await withTaskGroup(of: (Int, OperationConditionResult).self) { group in
          for index in open {
            // The operation waits for the end of each of these tasks.
            group.addTask {
              await TaskContext.with(operation) {
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
      return .decided(Self.verdict(of: conditions, results))
    }
    return .pending
  }

  /// The number of the first condition, in an array that is created once for the usual case.
  private static let firstCondition = [0]

  /// Evaluates conditions one after the other.
  ///
  /// The first condition that isn't immediate begins a task.
  private func evaluateInOrder(_ walk: ConditionWalk) -> LayerReadiness {
    if isCancelled { return .pending }
    var walk = walk
    switch walk.resume(of: self) {
    case .decided(let verdict): return conclude(verdict)
    case .prerequisites(let prerequisites): evaluateInOrder(walk, after: prerequisites)
    case .evaluate:
      evaluate(walk.index == 0 ? Self.firstCondition : [walk.index]) { [walk] operation in
        var walk = walk
        while true {
          let result = await walk.condition.evaluate(for: operation)
          if let verdict = walk.evaluated(result) { return .decided(verdict) }
          switch walk.resume(of: operation) {
          case .decided(let verdict): return .decided(verdict)
          case .prerequisites(let prerequisites): return .needsPrerequisites(prerequisites, walk)
          case .evaluate: operation.withCore { $0.extra?.openConditions = [walk.index] }
          }
        }
      }
    }
    return .pending
  }

  private func evaluateInOrder(_ walk: ConditionWalk, after prerequisites: [Operation]) {
    let name = walk.condition.name
    run(prerequisites, of: prerequisites.map { _ in name }) {
      self.resume(self.evaluateInOrder(walk))
    }
  }

  /// Returns the immediate answer of a condition; nil if the condition has none.
  ///
  /// The condition must not block the thread.
  fileprivate final func immediateVerdict(
    of condition: any OperationCondition
  ) -> OperationConditionResult? {
    ThreadContext.asking(self) { condition.immediateResult(for: self) }
  }

  // MARK: In a task

  /// The result of a task that evaluates conditions.
  enum Evaluation: Sendable {
    /// The verdict is decided, because all conditions are evaluated or one condition decides.
    case decided(OperationStateMachine.Verdict)
    /// The next condition, in order, needs prerequisites.
    case needsPrerequisites([Operation], ConditionWalk)
    /// The journal has no value for the operation, and no condition has been evaluated.
    case notRecorded
  }

  /// Evaluates conditions in a task that is cancelled with the operation.
  ///
  /// - Parameters:
  ///   - open: The numbers of the conditions that the task evaluates first.
  ///   - body: A closure that receives the operation and evaluates the conditions.
  final func evaluate(
    _ open: [Int],
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
    let task = startTask(body)
    let isCancelled = withCore { core in
      if core.machine.isCancelled { return true }
      // This task may have ended already, and the next task may have been created.
      let extra = core.makeExtra()
      if core.machine.state == .evaluatingConditions, extra.evaluationCount == number {
        extra.evaluation.task = task
      }
      return false
    }
    if isCancelled { task.cancel() }
  }

  /// Starts a task with the task-locals and the priority that the body will have.
  ///
  /// The start uses up the captured task, so the captured task first captures itself again for the body. In
  /// the task, the operation is the current one, even if it was created in the body of another operation.
  ///
  /// - Returns: The task, which may not have begun yet.
  private func startTask(
    _ body: @escaping @Sendable (AdvancedOperation) async -> Evaluation
  ) -> Task<Void, Never> {
    let executor = environment.taskExecutor
    if let captured = exchangeCaptured(nil) {
      return captured.run(on: executor) {
        self.exchangeCaptured(.captureAgain())?.discard()
        self.taskEnded(await TaskContext.with(self) { await body(self) })
      }
    }
    if executor == nil {
      let task = TaskBeginning.leave(asking: self) { executor in
        Task(executorPreference: executor) {
          let evaluation = await body(self)
          // The code that follows isn't code of the condition.
          TaskContext.disown()
          self.taskEnded(evaluation)
        }
      }
      if let task { return task }
    }
    return BodyExecutor.startTask(on: executor) {
      self.taskEnded(await TaskContext.with(self) { await body(self) })
    }
  }

  /// Handles the result of a task that has evaluated conditions, when no code of the conditions is running.
  private func taskEnded(_ evaluation: Evaluation) {
    switch evaluation {
    case .decided(let verdict): resume(conclude(verdict))
    case .needsPrerequisites(let prerequisites, let walk):
      var task: Task<Void, Never>?
      let isCancelled = withCore { core in
        swap(&task, &core.makeExtra().evaluation.task)
        core.makeExtra().openConditions = []
        return core.machine.isCancelled
      }
      if !isCancelled { evaluateInOrder(walk, after: prerequisites) }
    case .notRecorded: evaluateUnrecorded()
    }
  }

  // MARK: The result

  /// Concludes the evaluation of the conditions with a verdict.
  ///
  /// - Returns: The readiness, by which the queue decides whether to start the operation.
  private func conclude(_ verdict: OperationStateMachine.Verdict) -> LayerReadiness {
    let verdict = namingPrerequisites(in: verdict)
    let action = change { core in
      core.extra?.evaluation.task = nil
      core.extra?.openConditions = []
      return core.machine.verdictsArrived(verdict)
    }
    return switch action {
    case .becomeReady(let isMarked): .released(leavesAhead: isMarked)
    case .ignore: .pending
    }
  }

  /// Passes a readiness to the queue if the conditions weren't evaluated on the worker that the queue waits
  /// for.
  final func resume(_ readiness: LayerReadiness) {
    switch readiness {
    case .pending: return
    case .released(let leavesAhead): releaseReadinessHold(leavesAhead: leavesAhead)
    }
  }

  /// Returns the verdict with additional remarks.
  ///
  /// A condition that isn't satisfied names its prerequisites that didn't succeed.
  private func namingPrerequisites(
    in verdict: OperationStateMachine.Verdict
  ) -> OperationStateMachine.Verdict {
    guard case .failed(var elements) = verdict else { return verdict }
    let (prerequisites, conditions) = withCore { core in
      (core.extra?.evaluation.prerequisites ?? [], core.extra?.conditionsOfPrerequisites ?? [])
    }
    for (prerequisite, condition) in zip(prerequisites, conditions) {
      guard let failure = prerequisite.outcomeOfDependency?.failure,
        let index = elements.firstIndex(where: { $0.origin == .condition(condition) })
      else { continue }
      elements[index].remarks.append(.prerequisite(prerequisite.label, failure))
    }
    return .failed(elements)
  }

  /// Returns the verdict of all conditions, in the order in which they were attached.
  ///
  /// A failure takes precedence over a skip, and a skip over satisfied conditions.
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
      case nil: internalError("condition “\(condition.name)” was not evaluated")
      }
    }
    return OperationStateMachine.Verdict(failures: failures, skipReason: reason)
  }

  /// Returns the verdict of the conditions that aren't satisfied; nil if each condition is satisfied or has
  /// no answer.
  static func refusal(
    of conditions: [any OperationCondition],
    stopsAtFirst: Bool = false,
    _ evaluate: (any OperationCondition) -> OperationConditionResult?
  ) -> OperationStateMachine.Verdict? {
    // In the usual case, all conditions are satisfied and the arrays stay empty, which costs no allocation.
    var refusing: [any OperationCondition] = []
    var results: [OperationConditionResult] = []
    for condition in conditions {
      guard let result = evaluate(condition), !result.isSatisfied else { continue }
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
}

/// An evaluation of conditions in order, each after its prerequisites, up to the first one that isn't
/// satisfied.
struct ConditionWalk: Sendable {
  private let conditions: [any OperationCondition]
  /// The number of the next condition.
  private(set) var index = 0
  /// A Boolean value that indicates whether the prerequisites of the next condition have finished, or the
  /// condition needs none.
  private var arePrerequisitesDone = false

  init(_ conditions: [any OperationCondition]) { self.conditions = conditions }

  /// The next condition.
  var condition: any OperationCondition { conditions[index] }

  /// A reason why a walk stops.
  enum Stop {
    case decided(OperationStateMachine.Verdict)
    /// The next condition needs prerequisites. The walk resumes after they have finished.
    case prerequisites([Operation])
    /// The next condition isn't immediate. The caller evaluates it and calls ``evaluated(_:)``.
    case evaluate
  }

  /// Evaluates immediate conditions up to a condition that takes time, or until the verdict is known.
  mutating func resume(of operation: AdvancedOperation) -> Stop {
    while index < conditions.count {
      if !arePrerequisitesDone {
        arePrerequisitesDone = true
        switch operation.prerequisites(for: condition) {
        case .none: break
        case .run(let prerequisites): return .prerequisites(prerequisites)
        case .refused(let verdict): return .decided(verdict)
        }
      }
      guard let result = operation.immediateVerdict(of: condition) else { return .evaluate }
      if let verdict = evaluated(result) { return .decided(verdict) }
    }
    return .decided(.satisfied)
  }

  /// Adds the answer of the next condition.
  ///
  /// - Returns: The verdict if the answer decides; nil if the walk continues.
  mutating func evaluated(_ result: OperationConditionResult) -> OperationStateMachine.Verdict? {
    if !result.isSatisfied { return AdvancedOperation.verdict(of: [condition], [result]) }
    index += 1
    arePrerequisitesDone = false
    return nil
  }
}

// MARK: - At the start

extension AdvancedOperation {
  /// The result of the evaluation at the start.
  enum Review {
    case satisfied
    /// The operation was marked, and finishes without executing.
    case marked
    /// The operation waits until a condition changes. The caller returns its slot and its claims.
    case waits
  }

  /// Evaluates the immediate conditions again when the operation starts, with its slot and its claims.
  ///
  /// Anything may have changed since the dependencies finished.
  ///
  /// If a condition isn't satisfied any more, the operation is marked. A marked operation finishes without
  /// executing, and then releases its slot and its claims. Conditions that had to be waited for keep their
  /// answers.
  ///
  /// - Parameter isStarting: True if the operation starts when its conditions are satisfied, so that circuit
  ///   breakers also decide.
  /// - Returns: The result.
  final func evaluateAgain(isStarting: Bool = true) -> Review {
    let (evaluation, keepsAnswers) = withCore { core -> (ConditionEvaluation?, Bool) in
      guard core.machine.mayStart, !core.conditions.isEmpty else { return (nil, false) }
      return (core.evaluation, core.extra?.keptAnswers.isEmpty == false)
    }
    guard let evaluation else { return .satisfied }
    guard evaluation.hasPatients else {
      return mark(verdictAtStart(evaluation, keepsAnswers, isStarting, nil).verdict)
    }
    let begin = endStartWait() ?? environment.clock.now
    while true {
      let (verdict, waits) = verdictAtStart(evaluation, keepsAnswers, isStarting, begin)
      if verdict != nil || waits.isEmpty { return mark(verdict) }
      if beginStartWait(waits, since: begin) { return .waits }
    }
  }

  private func mark(_ verdict: OperationStateMachine.Verdict?) -> Review {
    guard let verdict else { return .satisfied }
    switch change({ $0.machine.reviewed(verdict) }) {
    case .becomeReady(let isMarked):
      if isMarked { withdrawClaims() }
      return isMarked ? .marked : .satisfied
    case .ignore: return .satisfied
    }
  }

  /// Returns the verdict of the conditions at the start, nil if none refuses the operation, and the conditions
  /// that wait for a change.
  private func verdictAtStart(
    _ evaluation: ConditionEvaluation,
    _ keepsAnswers: Bool,
    _ isStarting: Bool,
    _ begin: Duration?
  ) -> (verdict: OperationStateMachine.Verdict?, waits: [ConditionWait]) {
    var waits: [ConditionWait] = []
    func refusal(
      _ evaluate: (any OperationCondition) -> OperationConditionResult?
    ) -> OperationStateMachine.Verdict? {
      let stopsAtFirst = evaluation.policy == .stopAtFirstFailure
      return Self.refusal(of: evaluation.conditions, stopsAtFirst: stopsAtFirst, evaluate)
    }
    func result(of condition: any OperationCondition, starts: Bool) -> OperationConditionResult? {
      if let parts = condition.compoundParts {
        return parts.review(for: self, starts: starts, waitingSince: begin, &waits)
      }
      return condition.patient.flatMap {
        $0.resultAtStart(of: self, isStarting: starts, waitingSince: begin ?? .zero, &waits)
      }
    }
    var verdict = refusal { condition in
      if evaluation.hasBreakers, !condition.breakers.allSatisfy(\.isClosed) { return nil }
      let isMixed = keepsAnswers && condition.compoundParts?.isMixed == true
      guard isMixed || begin != nil && condition.mayWait else {
        return immediateVerdict(of: condition)
      }
      return ThreadContext.asking(self) { result(of: condition, starts: false) }
    }
    // Circuit breakers decide last, because the probe of a half-open circuit keeps all other operations out.
    // An operation becomes the probe only if it has its slot and its claims, and if no other condition
    // prevents its start.
    if verdict == nil, waits.isEmpty, evaluation.hasBreakers, isStarting {
      verdict = refusal { condition in
        if condition.breakers.allSatisfy(\.isClosed) { return nil }
        if let closed = condition as? CircuitClosed, !closed.waits { return closed.admit(self) }
        return ThreadContext.asking(self) { result(of: condition, starts: true) }
      }
    }
    return (verdict, waits)
  }
}
