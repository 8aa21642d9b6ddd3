import AdvancedOperations
import Synchronization
import WorkflowDocument

extension RunCore {
  /// Makes the operations of all steps, and puts them into a group.
  func makeOperations() -> Made {
    let pools = Dictionary(
      uniqueKeysWithValues: workflow.resources.map { name, amount in
        (name, ResourcePool(name, capacity: amount.value, domain: environment.claimDomain))
      }
    )
    let operations = steps.indices.map { makeOperation($0, pools) }
    let places = Dictionary(steps.enumerated().map { ($1.id, $0) }) { first, _ in first }
    for (index, step) in steps.enumerated() {
      for need in step.predecessors {
        if let place = places[need] { operations[index].addDependency(operations[place]) }
      }
    }
    let group = GroupOperation(
      name: workflow.name,
      maxConcurrentOperationCount: max(options.jobs, 1)
    ) { operations }
    return Made(steps: operations, group: group)
  }

  private func makeOperation(
    _ index: Int,
    _ pools: [String: ResourcePool]
  ) -> ResultOperation<StepEnd> {
    let step = steps[index]
    let journal = StepJournal(core: self)
    let policy = step.policy { [weak self] in
      self?.state.withLock { $0.steps[index].earlierFailures } ?? 0
    } requestedDelay: { [weak self] in
      self?.state.withLock { $0.steps[index].requestedDelay }
    }
    let operation = ResultOperation(retry: policy) { [weak self] in
      guard let self else { throw CancellationError() }
      return try await self.body(of: index)
    }.recorded(as: step.id, in: journal)
    addConditions(to: operation, index)
    addClaims(to: operation, step, pools)
    operation.addObserver(recorder)
    operation.addObserver(StepObserver(core: self, index: index))
    return operation
  }

  private func addConditions(to operation: ResultOperation<StepEnd>, _ index: Int) {
    let step = steps[index]
    // One that doesn't run needn't have what it requires.
    operation.conditionPolicy = .stopAtFirstFailure
    if !step.followsOutcomes, !step.needs.isEmpty {
      operation.addCondition(
        NeedsDone { [weak self] in self?.openNeed(of: step) }
      )
    }
    // Files don't say what a step gave that made them: if nobody knows that any more, it runs.
    let isUnknown = !step.outputs.isEmpty && earlierOutputs[step.id] == nil
    for condition in step.when where !(isUnknown && condition.isFileGuard) {
      let condition = self.condition(condition, of: index, unfinished: unfinished)
      operation.addCondition(SkippedUnless(condition: condition))
    }
    if !step.exclusive.isEmpty || !step.uses.isEmpty {
      operation.addCondition(TakenUpFirst(gate: gate, index: index))
    }
    // With a retry, each attempt looks whether they hold.
    if step.retry == nil {
      for condition in requirements(of: index) { operation.addCondition(condition) }
    }
    if step.hasClaims {
      operation.addCondition(BecomesReady { [waits] in waits.isReady($0) })
    }
  }

  /// The conditions that a step can't do without.
  func requirements(of index: Int) -> [any OperationCondition] {
    steps[index].require.map { condition($0, of: index) }
  }

  private func addClaims(
    to operation: ResultOperation<StepEnd>,
    _ step: Step,
    _ pools: [String: ResourcePool]
  ) {
    if step.isInteractive { operation.addClaim(MutuallyExclusive("the terminal")) }
    for name in step.exclusive { operation.addClaim(MutuallyExclusive(name)) }
    for (name, amount) in step.uses.sorted(by: { $0.key < $1.key }) {
      if let pool = pools[name] { operation.addClaim(ResourceUnits(amount.value, of: pool)) }
    }
    for rate in step.rates {
      operation.addClaim(RateLimit(rate.key, max(rate.count, 1), per: rate.duration))
    }
  }

  private func openNeed(of step: Step) -> NeedNotDone? {
    state.withLock { state in
      for need in step.needs {
        guard let place = state.place(of: need) else { continue }
        let needed = state.steps[place]
        guard let end = needed.end, end.outcome == .failed || end.outcome == .cancelled else {
          continue
        }
        return needed.root ?? NeedNotDone(root: need, outcome: end.outcome)
      }
      return nil
    }
  }

  /// Makes a condition.
  ///
  /// - Parameters:
  ///   - condition: The condition, as the file has it.
  ///   - index: The step.
  ///   - unfinished: What doesn't prove that a step needn't run; nil for a condition that has to hold.
  /// - Returns: The condition.
  private func condition(
    _ condition: StepCondition,
    of index: Int,
    unfinished: UnfinishedOutputs? = nil
  ) -> any OperationCondition {
    switch condition {
    case .exists(let paths): FilesExist(paths: paths.map { path($0, of: index) })
    case .missing(let paths):
      FilesMissing(paths: paths.map { path($0, of: index) }, unfinished: unfinished)
    case .newer(let inputs, let outputs):
      NewerThan(
        inputs: inputs.map { path($0, of: index) },
        outputs: outputs.map { path($0, of: index) },
        unfinished: unfinished
      )
    case .environment(let name, let value):
      EnvironmentVariable(variable: name, needed: value.map { text($0, of: index) }) {
        [weak self] in try self?.values(of: index).environment[name]
      }
    case .reachable(let host, let port):
      HostReachable(host: text(host, of: index), port: port)
    case .freeDisk(let bytes, let path):
      FreeDisk(bytes: bytes, path: self.path(path, of: index))
    case .outcome(let expression):
      StepOutcomes(expression: expression) { [weak self] step in
        self?.state.withLock { $0.end(of: step)?.outcome }
      }
    }
  }

  /// The files that tell whether a step needs to run: it writes them.
  func guardedOutputs(of index: Int) throws -> [String] {
    try steps[index].when.flatMap { condition -> [Template] in
      switch condition {
      case .missing(let paths): paths
      case .newer(_, let outputs): outputs
      case .exists, .environment, .reachable, .freeDisk, .outcome: []
      }
    }.map { try path($0, of: index)() }
  }

  private func text(_ template: Template, of index: Int) -> ConditionText {
    ConditionText { [weak self] in
      guard let self else { throw CancellationError() }
      return try template.filled(values(of: index))
    }
  }

  /// A path, relative to the folder that the step runs in.
  private func path(_ template: Template, of index: Int) -> ConditionText {
    ConditionText { [weak self] in
      guard let self else { throw CancellationError() }
      let values = try values(of: index)
      return try template.filled(values).path(in: folder(of: index, values))
    }
  }
}

extension Step {
  /// Whether it may have to wait although its needs are done and slots are free.
  var hasClaims: Bool { isInteractive || !exclusive.isEmpty || !uses.isEmpty || !rates.isEmpty }

  /// What happens when an attempt fails, or takes too long; nil: one attempt, as long as it wants.
  ///
  /// - Parameters:
  ///   - before: Returns how many attempts failed before this process; they count.
  ///   - requestedDelay: Returns the delay that the failed attempt asks for.
  /// - Returns: A policy.
  fileprivate func policy(
    after before: @escaping @Sendable () -> Int,
    requestedDelay: @escaping @Sendable () -> Duration?
  ) -> RetryPolicy? {
    guard let retry else {
      return timeout.map { RetryPolicy { _, _ in nil }.attemptTimeout($0) }
    }
    let attempts = retry.attempts ?? (retry.total == nil ? 1 : .max)
    var policy = RetryPolicy { failed, _ in
      let failed = before() + failed
      return failed < attempts ? retry.delay(after: failed) : nil
    }
    .when { !($0 is TemplateError) }
    if retry.hasJitter { policy = policy.jittered() }
    if let longest = retry.retryAfter {
      policy = policy.retryAfter(holding: rates.first?.key, atMost: longest) { _ in
        requestedDelay()
      }
    }
    if let total = retry.total { policy = policy.totalTimeout(total) }
    if let timeout { policy = policy.attemptTimeout(timeout) }
    // A step that waits for its next attempt keeps nothing from others.
    return policy.releasingSlot()
  }
}

extension RetryRule {
  /// How long to wait after so many failed attempts, without jitter.
  func delay(after failed: Int) -> Duration {
    // What grows needs an end.
    let longest = maximumDelay ?? max(delay, .seconds(86_400))
    switch backoff {
    case .constant: return min(delay, longest)
    case .linear:
      // Without a product that may be too large.
      return delay > longest / max(failed, 1) ? longest : delay * failed
    case .exponential:
      var delay = min(delay, longest)
      for _ in 1..<max(failed, 1) where delay < longest {
        if delay <= .zero { break }
        delay = delay > longest / 2 ? longest : delay * 2
      }
      return delay
    }
  }
}

extension String {
  /// The folder of a path.
  var folder: String {
    guard let slash = lastIndex(of: "/") else { return "." }
    return slash == startIndex ? "/" : String(self[..<slash])
  }

  /// A path, in a folder unless it is absolute.
  func path(in folder: String) -> String {
    if hasPrefix("/") { return self }
    return self == "." || isEmpty ? folder : "\(folder)/\(self)"
  }
}

extension Workflow {
  func missingResource(in steps: [Step]) -> RunError? {
    for step in steps {
      for name in step.uses.keys.sorted() where resources[name] == nil {
        return .noResource(name: name, step: step.id)
      }
    }
    return nil
  }
}
