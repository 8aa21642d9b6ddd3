import CoreOperations

extension AdvancedOperation {
  /// A dependency was added: watches it if there are conditions that may answer early.
  final func dependencyAdded(_ dependency: Operation) {
    let hasConditions = withCore { core in
      core.machine.isEnqueued && core.machine.state == .pending && !core.conditions.isEmpty
    }
    if hasConditions { watch([dependency]) }
  }

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
    for dependency in dependencies {
      dependency.whenFinished { [weak self] dependency in self?.dependencyEnded(dependency) }
    }
    return true
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
    let conditions = withCore { core in
      core.extra?.isAskedSoon = false
      core.extra?.isAskOwed = true
      return core.machine.state == .pending && !core.machine.isCancelled ? core.conditions : []
    }
    if dependenciesAreFinished || queue?.isSuspended == true { return }
    // Before looking: what ends from here on asks again by itself.
    withCore { $0.extra?.isAskOwed = false }
    let refusal = Self.refusal(of: conditions) { condition in
      CurrentCode.asking(self) { condition.knownEarly(for: self) }
    }
    guard let refusal else { return }
    switch change({ $0.machine.decidedEarly(refusal) }) {
    case .becomeReady:
      dropDependencies()
      leaveAhead()
    case .ignore: return
    }
  }
}
