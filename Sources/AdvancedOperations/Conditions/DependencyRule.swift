import CoreOperations

/// A condition that is satisfied if the outcomes of the operation's dependencies satisfy a closure.
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
/// The rule receives only the outcomes of the operation's own dependencies. If a dependency of a dependency
/// fails, the dependency itself fails, too, if it has a rule as well.
///
/// The rule is evaluated each time a dependency finishes, until it is decided:
///
/// - ``Decision/broken``: The condition fails immediately. The operation leaves its queue without waiting for
///   its other dependencies, and its other conditions are not evaluated.
/// - ``Decision/satisfied``: The operation still waits for all dependencies. The rule is evaluated once more
///   when the last one has finished, and again when the operation starts.
///
/// A rule therefore has to be *monotonic*: once it is decided for some outcomes, it returns the
/// same decision when outcomes that were nil become known. In a suspended queue a rule isn't
/// evaluated until the queue is resumed.
///
/// Common rules are ready to use: ``allSucceeded``, ``anySucceeded``, ``noneFailed``, ``anyFailed``,
/// ``noneCancelled`` and ``anyCancelled``. A dependency has exactly one outcome. A cancelled dependency did
/// not fail, and a skipped dependency neither failed nor succeeded.
public struct DependencyRule: OperationCondition {
  /// The answer of a rule to the known outcomes.
  @nonexhaustive
  public enum Decision: Sendable, Hashable {
    /// The rule is satisfied, and the unknown outcomes can't change this.
    case satisfied
    /// The rule is broken, and the unknown outcomes can't change this.
    case broken
    /// The answer depends on unknown outcomes.
    case undecided
  }

  /// An error that reports that the outcomes of the dependencies don't satisfy the rule.
  ///
  /// ``failure`` keeps the failures of the dependencies, so ``OperationFailure/first(_:)`` and
  /// ``OperationFailure/rootCauses`` find the errors that broke the rule.
  public struct Broken: Error, CustomStringConvertible {
    /// The name of each dependency and a word for its outcome, in the order in which the dependencies were
    /// added.
    public var dependencies: [String]
    /// The failures of the dependencies that broke the rule, each an inherited element.
    ///
    /// The failure is empty if no failure broke the rule, for instance if a rule requires a failure and no
    /// dependency failed.
    public var failure: OperationFailure
    /// A Boolean value that indicates whether failures of dependencies broke the rule.
    public var isInherited: Bool { !failure.elements.isEmpty }
    /// A Boolean value that indicates whether the rule was still undecided after all dependencies had
    /// finished.
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

    /// A text of one or two sentences that names the first eight dependencies.
    public var description: String {
      let rest = dependencies.count > 8 ? ", and \(dependencies.count - 8) more" : ""
      let sentence =
        switch dependencies.count {
        case 0: "There are no dependencies."
        case 1: "Dependency \(dependencies[0])."
        default: "Of the dependencies, \(dependencies.prefix(8).joined(separator: ", "))\(rest)."
        }
      return isUndecided ? "The rule is undecided. " + sentence : sentence
    }
  }

  /// The rule in words.
  public let name: String
  private let rule: @Sendable ([OperationOutcome?]) -> Decision
  /// The outcomes that break the rule.
  private let breaking: Breaking

  /// The outcomes of dependencies that break a rule.
  private enum Breaking {
    /// An outcome breaks the rule if the closure returns true for it, independently of other outcomes.
    case single(@Sendable (OperationOutcome) -> Bool)
    /// No single outcome breaks the rule, but all together do. The reasons are the failures among them.
    case all
    /// The absence of other outcomes breaks the rule, so no failure is the reason.
    case absence
    /// Only the closure of the rule knows the outcomes that break the rule.
    case unknown
  }

  /// Creates a rule.
  ///
  /// - Parameters:
  ///   - text: The rule in words, for errors and explanations.
  ///   - rule: A closure that receives one outcome per dependency, in the order in which they were added. The
  ///     outcome is nil for a dependency that hasn't finished. An operation that isn't an
  ///     ``AdvancedOperation`` has succeeded or was cancelled. The closure must be monotonic. A rule that is
  ///     undecided after all dependencies have finished is broken. The closure should not block, because a
  ///     worker calls it. No lock is held during the call. For each operation, one thread at a time calls the
  ///     closure.
  /// - Complexity: O(n) for each evaluation, where n is the number of dependencies, and up to O(n²) in total.
  ///   Common rules, such as ``allSucceeded``, are evaluated early only if an outcome can break them.
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

  /// Evaluates the rule; an undecided rule is broken, because all dependencies have finished.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    evaluate(Outcomes(of: operation), undecidedIsBroken: true)
  }

  /// Evaluates the rule; an undecided rule is broken, because all dependencies have finished.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    immediateResult(for: operation) ?? .satisfied
  }

  /// The dependencies and their outcomes, read once so that the rule and the text of its error agree.
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

  /// Returns true if a failed or cancelled dependency is a reason why the rule is broken.
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
  /// A rule that every dependency succeeded; broken as soon as a dependency failed, was cancelled or was
  /// skipped.
  public static var allSucceeded: DependencyRule {
    .none("all dependencies succeeded") { !$0.isSuccess }
  }

  /// A rule that at least one dependency succeeded.
  public static var anySucceeded: DependencyRule {
    .any("any dependency succeeded", .all) { $0.isSuccess }
  }

  /// A rule that no dependency failed; each dependency succeeded, was skipped or was cancelled.
  ///
  /// Add ``noneCancelled`` as well if a cancelled dependency should keep the operation from
  /// executing.
  public static var noneFailed: DependencyRule {
    .none("no dependency failed") { $0.isFailed }
  }

  /// A rule that at least one dependency failed; a cancelled dependency doesn't count.
  ///
  /// Use this rule for an operation that repairs or reports failures. For an operation that cleans up after
  /// failures and cancels, use ``anyFailed`` `||` ``anyCancelled``.
  public static var anyFailed: DependencyRule {
    .any("any dependency failed", .absence) { $0.isFailed }
  }

  /// A rule that no dependency was cancelled; each dependency succeeded, was skipped or failed.
  public static var noneCancelled: DependencyRule {
    .none("no dependency was cancelled") { $0.isCancelled }
  }

  /// A rule that at least one dependency was cancelled; a failed dependency doesn't count.
  public static var anyCancelled: DependencyRule {
    .any("any dependency was cancelled", .absence) { $0.isCancelled }
  }

  /// Returns a rule that is broken as soon as an outcome is of a kind, and satisfied if all outcomes are
  /// known and of other kinds.
  private static func none(
    _ text: String,
    _ isOfKind: @escaping @Sendable (OperationOutcome) -> Bool
  ) -> DependencyRule {
    DependencyRule(text, .single(isOfKind)) { outcomes in
      if outcomes.contains(where: { $0.map(isOfKind) ?? false }) { return .broken }
      return outcomes.contains { $0 == nil } ? .undecided : .satisfied
    }
  }

  /// Returns a rule that is satisfied as soon as an outcome is of a kind, and broken if all outcomes are
  /// known and of other kinds.
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
  /// Attaches a claim with `addClaim(_:)`, because a claim isn't a condition.
  @available(*, unavailable, renamed: "addClaim(_:)")
  public final func addCondition(_ claim: some OperationClaim) { addClaim(claim) }

  /// Adds a rule about the outcomes of the operation's dependencies, in a short form.
  ///
  /// ```swift
  /// publish.addCondition(.allSucceeded)
  /// ```
  ///
  /// If the operation is cancelled, the rule is recorded and never evaluated.
  ///
  /// - Parameter rule: The rule, which is retained until the operation has finished.
  /// - Precondition: The operation hasn't been enqueued or started, unless it is cancelled.
  public final func addCondition(_ rule: DependencyRule) {
    addCondition(rule as any OperationCondition)
  }
}

/// The rule ``DependencyRule/noneFailed``, under its name in PSOperations and ProcedureKit.
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

/// The rule ``DependencyRule/noneCancelled``, under its name in PSOperations and ProcedureKit.
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

/// A rule with a separate type.
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
  /// The outcome of the operation for conditions about dependencies; nil until the operation has finished.
  ///
  /// A plain operation doesn't have an ``OperationOutcome``, so it counts as cancelled or succeeded.
  final var outcomeOfDependency: OperationOutcome? {
    guard isFinished else { return nil }
    if let advanced = self as? AdvancedOperation { return advanced.outcome }
    guard isCancelled else { return .succeeded }
    let reason = cancellationReason.map { OperationFailure.Element(origin: .cancel, error: $0) }
    return .cancelled(OperationFailure(elements: reason.map { [$0] } ?? []))
  }
}

extension OperationFailure.Element {
  /// Returns the failure of a dependency as an error of an operation that depends on it.
  static func inherited(_ error: any Error, from dependency: Operation) -> Self {
    Self(origin: .dependency(dependency.nameAndTag), error: error, isInherited: true)
  }
}
