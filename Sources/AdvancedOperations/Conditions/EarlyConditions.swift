import CoreOperations

/// A condition that may know its answer while the operation still waits for dependencies.
protocol EarlyCondition: OperationCondition {
  /// The answer, if it is known already.
  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult?

  /// Whether it may fail because of a dependency that has ended; if not, it isn't evaluated then.
  func mayRefuse(because dependency: Operation) -> Bool
}

extension EarlyCondition {
  func mayRefuse(because dependency: Operation) -> Bool { true }
}

extension OperationCondition {
  /// Whether it, or a part of it, may know its answer early.
  var mayBeEarly: Bool {
    compoundParts?.mayBeEarly ?? (self is any EarlyCondition)
  }

  /// The answer if it is known while dependencies are open.
  func earlyAnswer(for operation: AdvancedOperation) -> OperationConditionResult? {
    (self as? any EarlyCondition)?.earlyVerdict(for: operation)
  }
}

/// Conditions and inputs are watched while dependencies are open, and may let the operation leave.
extension AdvancedOperation {
  /// A dependency was added: watches it if there are conditions that may answer early.
  final func dependencyAdded(_ dependency: Operation) {
    let (isWaiting, hasConditions) = withCore { core in
      (core.machine.isSubmitted && core.machine.state == .pending, !core.conditions.isEmpty)
    }
    if isWaiting, hasConditions { watch([dependency]) }
    if isWaiting { watchInputs() }
  }

  // MARK: Inputs

  /// Whether an input may have failed while the operation waits for something else.
  final var mayLackInput: Bool {
    switch openDependencyCount {
    case 0: false
    case 1: inputs.contains(where: \.isFinished)
    default: !inputs.isEmpty
    }
  }

  /// Has the operation leave as soon as an input has failed, whatever else it waits for.
  ///
  /// Nothing is watched for an operation that waits for its only input, as those of a chain do.
  final func watchInputs() {
    guard mayLackInput else { return }
    let isDue = withCore { core in
      // The journal may have the value that the inputs are for.
      guard !core.isJournaled else { return false }
      let extra = core.makeExtra()
      defer { extra.watchesInputs = true }
      return !extra.watchesInputs
    }
    guard isDue else { return }
    let inputs = inputs
    keep(
      inputs.filter { !$0.isFinished }.map { input in
        input.watchEnd { [weak self] input in
          if input.outcomeOfDependency?.failure != nil { self?.scheduleEarlyEvaluation() }
        }
      }
    )
    if inputs.contains(where: \.isFinished) { scheduleEarlyEvaluation() }
  }

  // MARK: Conditions

  /// Has conditions evaluated early whenever a dependency has finished because of which they may
  /// fail.
  final func watchDependencies() {
    if dependenciesAreFinished { return }
    let dependencies = dependencies
    let open = dependencies.filter { !$0.isFinished }
    if watch(open), open.count < dependencies.count { scheduleEarlyEvaluation() }
  }

  /// Returns whether there are such conditions.
  @discardableResult
  private func watch(_ dependencies: [Operation]) -> Bool {
    // Before the journal has answered, no condition is evaluated.
    let conditions = withCore { $0.isJournaled ? [] : $0.conditions }
    guard conditions.contains(where: \.mayBeEarly) else { return false }
    keep(
      dependencies.map { dependency in
        dependency.watchEnd { [weak self] dependency in self?.dependencyEnded(dependency) }
      }
    )
    return true
  }

  /// Keeps watches until the operation is cancelled or has finished.
  final func keep(_ watches: [EndWatch]) {
    let isOver = withCore { core in
      if core.machine.isCancelled || core.machine.isEndDecided { return true }
      core.makeExtra().evaluation.watches += watches
      return false
    }
    if isOver { for watch in watches { watch.remove() } }
  }

  /// An evaluation reads all dependencies: with n of them, one at each end would take n² steps.
  private func dependencyEnded(_ dependency: Operation) {
    if dependenciesAreFinished { return }
    let (conditions, isOwed) = withCore { ($0.conditions, $0.extra?.isEarlyEvaluationOwed == true) }
    let isNeeded =
      isOwed
      || conditions.contains { condition in
        (condition as? any EarlyCondition)?.mayRefuse(because: dependency) == true
      }
    if isNeeded { scheduleEarlyEvaluation() }
  }

  private func scheduleEarlyEvaluation() {
    if dependenciesAreFinished { return }
    let isDue = withCore { core in
      guard core.machine.state == .pending, !core.machine.isCancelled else { return false }
      let extra = core.makeExtra()
      defer { extra.isEarlyEvaluationScheduled = true }
      return !extra.isEarlyEvaluationScheduled
    }
    // Not here: this may be a thread that is cancelling.
    if isDue { environment.enqueue { self.evaluateEarly() } }
  }

  /// Lets the operation leave if conditions fail already.
  private func evaluateEarly() {
    let (conditions, watchesInputs) = withCore { core -> ([any OperationCondition], Bool) in
      core.extra?.isEarlyEvaluationScheduled = false
      core.extra?.isEarlyEvaluationOwed = true
      guard core.machine.state == .pending, !core.machine.isCancelled else { return ([], false) }
      return (core.conditions, core.extra?.watchesInputs == true)
    }
    if dependenciesAreFinished { return }
    if watchesInputs, let elements = failuresOfInputs() { return leaveEarly(.failed(elements)) }
    if queue?.isSuspended == true { return }
    // Before the evaluation: a dependency that ends from here on schedules the next one.
    withCore { $0.extra?.isEarlyEvaluationOwed = false }
    let refusal = Self.refusal(of: conditions) { condition in
      ThreadContext.asking(self) { condition.earlyAnswer(for: self) }
    }
    if let refusal { leaveEarly(refusal) }
  }

  private func leaveEarly(_ refusal: OperationStateMachine.Verdict) {
    switch change({ $0.machine.decidedEarly(refusal) }) {
    case .becomeReady:
      dropDependencies()
      leaveAhead()
    case .ignore: return
    }
  }
}
