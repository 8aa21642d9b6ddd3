import CoreOperations

/// A condition that may know its answer while the operation still waits for dependencies.
protocol EarlyCondition: OperationCondition {
  /// Returns the answer if it is known already.
  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult?

  /// Returns true if the condition may fail because of a dependency that has finished.
  ///
  /// If the method returns false, the condition isn't evaluated at the end of that dependency.
  func mayRefuse(because dependency: Operation) -> Bool
}

extension EarlyCondition {
  func mayRefuse(because dependency: Operation) -> Bool { true }
}

extension OperationCondition {
  /// A Boolean value that indicates whether the condition, or a part of it, may know its answer early.
  var mayBeEarly: Bool {
    compoundParts?.mayBeEarly ?? (self is any EarlyCondition)
  }

  /// Returns the answer if it is known while dependencies are unfinished.
  func earlyAnswer(for operation: AdvancedOperation) -> OperationConditionResult? {
    (self as? any EarlyCondition)?.earlyVerdict(for: operation)
  }
}

/// An early evaluation of conditions and inputs while dependencies are unfinished, which may let the
/// operation leave the queue early.
extension AdvancedOperation {
  /// Watches a dependency that was added, if there are conditions that may answer early.
  final func dependencyAdded(_ dependency: Operation) {
    let (isWaiting, hasConditions) = withCore { core in
      (core.machine.isSubmitted && core.machine.state == .pending, !core.conditions.isEmpty)
    }
    if isWaiting, hasConditions { watch([dependency]) }
    if isWaiting { watchInputs() }
  }

  // MARK: Inputs

  /// A Boolean value that indicates whether an input may have failed while the operation still waits for
  /// other dependencies.
  final var mayLackInput: Bool {
    switch openDependencyCount {
    case 0: false
    case 1: inputs.contains(where: \.isFinished)
    default: !inputs.isEmpty
    }
  }

  /// Lets the operation leave the queue as soon as an input has failed, even if it waits for other
  /// dependencies.
  ///
  /// An operation that waits for its only input isn't watched, as in a chain of operations.
  final func watchInputs() {
    guard mayLackInput else { return }
    let isDue = withCore { core in
      // The journal may have the operation's value, which makes the inputs unnecessary.
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

  /// Evaluates conditions early each time that a dependency has finished because of which they may fail.
  final func watchDependencies() {
    if dependenciesAreFinished { return }
    let dependencies = dependencies
    let open = dependencies.filter { !$0.isFinished }
    if watch(open), open.count < dependencies.count { scheduleEarlyEvaluation() }
  }

  /// Watches dependencies for conditions that may answer early, and returns true if there are such
  /// conditions.
  @discardableResult
  private func watch(_ dependencies: [Operation]) -> Bool {
    // Conditions aren't evaluated before the journal has answered.
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

  /// Schedules an evaluation only if a condition may refuse because of the dependency.
  ///
  /// An evaluation reads all n dependencies, so an evaluation at the end of each dependency would take n²
  /// steps.
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
    // A worker evaluates, because this thread may be cancelling an operation.
    if isDue { environment.enqueue { self.evaluateEarly() } }
  }

  /// Lets the operation leave the queue if a condition fails already.
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
    // The flag is cleared before the evaluation, so a dependency that finishes from here on schedules the
    // next evaluation.
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
