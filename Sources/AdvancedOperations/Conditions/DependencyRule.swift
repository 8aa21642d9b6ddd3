import CoreOperations

/// Holds when the outcomes of the operation's dependencies satisfy a closure.
///
/// ```swift
/// publish.addCondition(
///   DependencyRule("at most one failed") { outcomes in
///     let failures = outcomes.count { $0?.isFailed == true }
///     if failures > 1 { return .broken }
///     return outcomes.contains { $0 == nil } ? .undecided : .satisfied
///   }
/// )
/// ```
///
/// It sees the operation's own dependencies, and not theirs: what failed two steps before is known
/// to the operation in between, which fails for it if it has a rule as well.
///
/// The rule is evaluated each time a dependency finishes, until it is decided:
///
/// - ``Decision/broken``: the condition fails immediately. The operation leaves its queue without
///   waiting for its other dependencies, and its other conditions are not evaluated.
/// - ``Decision/satisfied``: the operation still waits for all dependencies. The rule is evaluated
///   once more when the last one has finished, and again when the operation starts.
///
/// A rule therefore has to be *monotonic*: once it is decided for some outcomes, it returns the
/// same decision when outcomes that were nil become known. In a suspended queue a rule isn't
/// evaluated until the queue is resumed.
///
/// Common rules are ready to use: ``allSucceeded``, ``anySucceeded``, ``noneFailed``,
/// ``anyFailed``, ``noneCancelled`` and ``anyCancelled``. A dependency has exactly one outcome: one
/// that was cancelled did not fail, and one that was skipped neither failed nor succeeded.
public struct DependencyRule: OperationCondition {
  /// The answer of a rule to the outcomes that are known.
  @nonexhaustive
  public enum Decision: Sendable, Hashable {
    /// The rule is satisfied, whatever the outcomes that aren't known will be.
    case satisfied
    /// The rule is broken, whatever the outcomes that aren't known will be.
    case broken
    /// The answer depends on outcomes that aren't known.
    case undecided
  }

  /// The outcomes of the dependencies don't satisfy the rule.
  ///
  /// ``failure`` keeps what went wrong with the dependencies, so ``OperationFailure/first(_:)`` and
  /// ``OperationFailure/rootCauses`` find the errors that broke the rule.
  public struct Broken: Error, CustomStringConvertible {
    /// The outcome of each dependency, in the order in which they were added: its name and a word.
    public var dependencies: [String]
    /// The failures of the dependencies that broke the rule, each an inherited element.
    ///
    /// Empty when no failure broke the rule, as when a rule wants a failure and there is none.
    public var failure: OperationFailure
    /// Whether failures of dependencies broke the rule.
    public var isInherited: Bool { !failure.elements.isEmpty }
    /// Whether the rule was still undecided after all dependencies had finished.
    private let isUndecided: Bool

    package init(
      dependencies: [String],
      failure: OperationFailure = OperationFailure(elements: []),
      isUndecided: Bool = false
    ) {
      self.dependencies = dependencies
      self.failure = failure
      self.isUndecided = isUndecided
    }

    /// One or two sentences with the first eight dependencies.
    public var description: String {
      let rest = dependencies.count > 8 ? ", and \(dependencies.count - 8) more" : ""
      let sentence =
        switch dependencies.count {
        case 0: "There are no dependencies."
        case 1: "Its dependency \(dependencies[0])."
        default: "Of its dependencies, \(dependencies.prefix(8).joined(separator: ", "))\(rest)."
        }
      return isUndecided ? "The rule is undecided. " + sentence : sentence
    }
  }

  /// The rule in words.
  public let name: String
  private let rule: @Sendable ([OperationOutcome?]) -> Decision
  /// Which outcomes break the rule.
  private let breaking: Breaking

  /// Which outcomes of dependencies break a rule.
  private enum Breaking {
    /// Each of these does, whatever the others are.
    case single(@Sendable (OperationOutcome) -> Bool)
    /// All together: no single one does, but failures among them are the reason.
    case all
    /// The absence of others: no failure is the reason.
    case absence
    /// Known only to the closure of the rule.
    case unknown
  }

  /// Creates a rule.
  ///
  /// - Parameters:
  ///   - text: The rule in words, for errors and explanations.
  ///   - rule: Gets one outcome per dependency, in the order in which they were added; nil for a
  ///     dependency that hasn't finished. An operation that isn't an ``AdvancedOperation`` has
  ///     succeeded or was cancelled. The closure must be monotonic. A rule that is undecided after
  ///     all dependencies have finished is broken. A worker calls the closure without a lock held,
  ///     from one thread at a time per operation; it should not block.
  /// - Complexity: O(n) for each evaluation, n the number of dependencies: up to O(n²) in all. The
  ///   rules that are ready to use are evaluated early only when an outcome can break them.
  public init(_ text: String, _ rule: @escaping @Sendable ([OperationOutcome?]) -> Decision) {
    self.init(text, .unknown, rule)
  }

  private init(
    _ text: String,
    _ breaking: Breaking,
    _ rule: @escaping @Sendable ([OperationOutcome?]) -> Decision
  ) {
    name = text
    self.rule = rule
    self.breaking = breaking
  }

  /// Evaluates the rule; a rule that is undecided is broken, because all dependencies have
  /// finished.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    evaluate(Outcomes(of: operation), undecidedIsBroken: true)
  }

  /// Evaluates the rule; a rule that is undecided is broken, because all dependencies have
  /// finished.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    immediateResult(for: operation) ?? .satisfied
  }

  /// The dependencies and their outcomes, read once: the rule and the text of its error see the
  /// same.
  private struct Outcomes {
    let dependencies: [Operation]
    let outcomes: [OperationOutcome?]

    init(of operation: AdvancedOperation) {
      dependencies = operation.dependencies
      outcomes = dependencies.map(\.outcomeOfDependency)
    }
  }

  private func evaluate(
    _ outcomes: Outcomes,
    undecidedIsBroken: Bool
  ) -> OperationConditionResult? {
    switch rule(outcomes.outcomes) {
    case .satisfied: .satisfied
    case .broken: .failed(broken(outcomes))
    case .undecided: undecidedIsBroken ? .failed(broken(outcomes, isUndecided: true)) : nil
    }
  }

  private func broken(_ outcomes: Outcomes, isUndecided: Bool = false) -> Broken {
    let ends = zip(outcomes.dependencies, outcomes.outcomes)
    return Broken(
      dependencies: ends.map { "\($0.label) \($1?.predicate ?? "has not finished")" },
      failure: OperationFailure(
        elements: ends.compactMap { dependency, outcome in
          guard let outcome, let failure = outcome.failure, isReason(outcome) else { return nil }
          return .inherited(failure, from: dependency)
        }
      ),
      isUndecided: isUndecided
    )
  }

  /// Whether a failed or cancelled dependency is a reason why the rule is broken.
  private func isReason(_ outcome: OperationOutcome) -> Bool {
    switch breaking {
    case .single(let breaks): breaks(outcome)
    case .all, .unknown: true
    case .absence: false
    }
  }
}

extension DependencyRule: EarlyCondition {
  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    evaluate(Outcomes(of: operation), undecidedIsBroken: false)
  }

  func mayRefuse(because dependency: Operation) -> Bool {
    switch breaking {
    case .single(let breaks): dependency.outcomeOfDependency.map(breaks) ?? true
    case .all, .absence: dependency.outcomeOfDependency == nil
    case .unknown: true
    }
  }
}

extension DependencyRule.Broken: InheritedFailure {}

extension DependencyRule {
  /// Every dependency succeeded; broken as soon as one failed, was cancelled or was skipped.
  public static var allSucceeded: DependencyRule {
    .none("all dependencies succeeded") { !$0.isSuccess }
  }

  /// At least one dependency succeeded.
  public static var anySucceeded: DependencyRule {
    .any("any dependency succeeded", .all) { $0.isSuccess }
  }

  /// No dependency failed; they succeeded, were skipped or were cancelled.
  ///
  /// Add ``noneCancelled`` as well if a cancelled dependency should keep the operation from
  /// executing.
  public static var noneFailed: DependencyRule {
    .none("no dependency failed") { $0.isFailed }
  }

  /// At least one dependency failed; a cancelled one doesn't count.
  ///
  /// For an operation that repairs or reports. Use ``anyFailed`` `||` ``anyCancelled`` for one that
  /// cleans up after both.
  public static var anyFailed: DependencyRule {
    .any("any dependency failed", .absence) { $0.isFailed }
  }

  /// No dependency was cancelled; they succeeded, were skipped or failed.
  public static var noneCancelled: DependencyRule {
    .none("no dependency was cancelled") { $0.isCancelled }
  }

  /// At least one dependency was cancelled; a failed one doesn't count.
  public static var anyCancelled: DependencyRule {
    .any("any dependency was cancelled", .absence) { $0.isCancelled }
  }

  /// Broken as soon as one outcome is of a kind, satisfied when all are known and none is.
  private static func none(
    _ text: String,
    _ isOfKind: @escaping @Sendable (OperationOutcome) -> Bool
  ) -> DependencyRule {
    DependencyRule(text, .single(isOfKind)) { outcomes in
      if outcomes.contains(where: { $0.map(isOfKind) ?? false }) { return .broken }
      return outcomes.contains { $0 == nil } ? .undecided : .satisfied
    }
  }

  /// Satisfied as soon as one outcome is of a kind, broken when all are known and none is.
  private static func any(
    _ text: String,
    _ breaking: Breaking,
    _ isOfKind: @escaping @Sendable (OperationOutcome) -> Bool
  ) -> DependencyRule {
    DependencyRule(text, breaking) { outcomes in
      if outcomes.contains(where: { $0.map(isOfKind) ?? false }) { return .satisfied }
      return outcomes.contains { $0 == nil } ? .undecided : .broken
    }
  }
}

extension AdvancedOperation {
  /// A claim isn't a condition.
  @available(*, unavailable, renamed: "addClaim(_:)")
  public final func addCondition(_ claim: some OperationClaim) { addClaim(claim) }

  /// Adds a rule about the outcomes of the operation's dependencies, written in short.
  ///
  /// ```swift
  /// publish.addCondition(.allSucceeded)
  /// ```
  ///
  /// - Parameter rule: Retained until the operation finished.
  /// - Precondition: Not yet enqueued or started, unless cancelled; then it is recorded and never
  ///   evaluated.
  public final func addCondition(_ rule: DependencyRule) {
    addCondition(rule as any OperationCondition)
  }
}

/// The rule ``DependencyRule/noneFailed``, under the name that it has in PSOperations and
/// ProcedureKit.
///
/// ```swift
/// store.addDependency(parse)
/// store.addCondition(NoFailedDependencies())
/// ```
public struct NoFailedDependencies: NamedRule {
  let rule = DependencyRule.noneFailed

  /// Creates the condition.
  public init() {}
}

/// The rule ``DependencyRule/noneCancelled``, under the name that it has in PSOperations and
/// ProcedureKit.
///
/// ```swift
/// store.addDependency(parse)
/// store.addCondition(NoCancelledDependencies())
/// ```
public struct NoCancelledDependencies: NamedRule {
  let rule = DependencyRule.noneCancelled

  /// Creates the condition.
  public init() {}
}

/// A rule that has a type of its own.
protocol NamedRule: EarlyCondition {
  var rule: DependencyRule { get }
}

extension NamedRule {
  /// The rule in words.
  public var name: String { rule.name }

  /// Evaluates the rule.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    rule.immediateResult(for: operation)
  }

  /// Evaluates the rule.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await rule.evaluate(for: operation)
  }

  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    rule.earlyVerdict(for: operation)
  }

  func mayRefuse(because dependency: Operation) -> Bool { rule.mayRefuse(because: dependency) }
}

extension Operation {
  /// How the operation ended, as conditions about dependencies see it; nil until it has finished.
  ///
  /// A plain operation has no outcome of its own: it counts as cancelled or succeeded.
  final var outcomeOfDependency: OperationOutcome? {
    guard isFinished else { return nil }
    if let advanced = self as? AdvancedOperation { return advanced.outcome }
    guard isCancelled else { return .succeeded }
    let reason = cancellationReason.map { OperationFailure.Element(origin: .cancel, error: $0) }
    return .cancelled(OperationFailure(elements: reason.map { [$0] } ?? []))
  }
}

extension OperationFailure.Element {
  /// What went wrong with a dependency, as an error of an operation that depends on it.
  static func inherited(_ error: any Error, from dependency: Operation) -> Self {
    Self(origin: .dependency(dependency.nameAndTag), error: error, isInherited: true)
  }
}
