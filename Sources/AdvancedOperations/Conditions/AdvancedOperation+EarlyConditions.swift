import CoreOperations

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
          if input.outcomeOfDependency?.failure != nil { self?.askSoon() }
        }
      }
    )
    if inputs.contains(where: \.isFinished) { askSoon() }
  }

  // MARK: Conditions

  /// Has conditions that may answer early asked whenever a dependency has finished because of which
  /// they may refuse.
  final func watchDependencies() {
    if dependenciesAreFinished { return }
    let dependencies = dependencies
    let open = dependencies.filter { !$0.isFinished }
    if watch(open), open.count < dependencies.count { askSoon() }
  }

  /// Returns whether there are such conditions.
  @discardableResult
  private func watch(_ dependencies: [Operation]) -> Bool {
    // Before the journal was asked, no condition is.
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
      core.makeExtra().asking.watches += watches
      return false
    }
    if isOver { for watch in watches { watch.remove() } }
  }

  /// Asking looks at all dependencies: with n of them, asking at each end would take n² steps.
  private func dependencyEnded(_ dependency: Operation) {
    if dependenciesAreFinished { return }
    let (conditions, isOwed) = withCore { ($0.conditions, $0.extra?.isAskOwed == true) }
    let isNeeded =
      isOwed
      || conditions.contains { condition in
        (condition as? any EarlyCondition)?.mayRefuse(because: dependency) == true
      }
    if isNeeded { askSoon() }
  }

  private func askSoon() {
    if dependenciesAreFinished { return }
    let isDue = withCore { core in
      guard core.machine.state == .pending, !core.machine.isCancelled else { return false }
      let extra = core.makeExtra()
      defer { extra.isAskedSoon = true }
      return !extra.isAskedSoon
    }
    // Not here: this may be a thread that is cancelling.
    if isDue { environment.enqueue { self.askEarly() } }
  }

  /// Lets the operation leave if conditions say no already.
  private func askEarly() {
    let (conditions, watchesInputs) = withCore { core -> ([any OperationCondition], Bool) in
      core.extra?.isAskedSoon = false
      core.extra?.isAskOwed = true
      guard core.machine.state == .pending, !core.machine.isCancelled else { return ([], false) }
      return (core.conditions, core.extra?.watchesInputs == true)
    }
    if dependenciesAreFinished { return }
    if watchesInputs, let elements = failuresOfInputs() { return leaveEarly(.failed(elements)) }
    if queue?.isSuspended == true { return }
    // Before looking: what ends from here on asks again by itself.
    withCore { $0.extra?.isAskOwed = false }
    let refusal = Self.refusal(of: conditions) { condition in
      ThreadContext.asking(self) { condition.knownEarly(for: self) }
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
