import CoreOperations

/// Holds when the outcomes of the operation's dependencies are as a closure wants them.
///
/// ```swift
/// publish.addCondition(
///   DependencyRule("at most one failed") { outcomes in
///     let failures = outcomes.count { $0?.failure != nil }
///     if failures > 1 { return false }
///     return outcomes.contains { $0 == nil } ? nil : true
///   }
/// )
/// ```
///
/// Asked each time a dependency has finished, until it answers: an operation whose rule says no leaves
/// at once, without waiting for its other dependencies or asking its other conditions. One whose rule
/// says yes still waits for all of them, because dependencies always hold; it is asked again then,
/// and should not have changed its mind. In a suspended queue it isn't asked before that is resumed.
///
/// Rules that many need are there already: ``allSucceeded``, ``anySucceeded``, ``noneFailed`` and
/// ``anyFailed``.
public struct DependencyRule: OperationCondition {
  /// The outcomes are not as the rule wants them.
  public struct Broken: Error, Hashable, CustomStringConvertible {
    /// What each dependency came to, in the order in which they were added: its name and a word.
    public var dependencies: [String]
    /// Whether a dependency that failed or was cancelled is among them.
    public var isInherited: Bool
    /// Creates the error.
    public init(dependencies: [String], isInherited: Bool) {
      self.dependencies = dependencies
      self.isInherited = isInherited
    }
    /// One sentence with the dependencies.
    public var description: String {
      dependencies.isEmpty
        ? "There are no dependencies."
        : "The dependencies are: \(dependencies.joined(separator: ", "))."
    }
  }

  /// The rule in words.
  public let name: String
  private let rule: @Sendable ([OperationOutcome?]) -> Bool?
  /// Whether an outcome can break it while others are open.
  private let isBroken: @Sendable (_ by: OperationOutcome) -> Bool

  /// Creates a rule.
  ///
  /// - Parameters:
  ///   - text: The rule in words, for errors and explanations.
  ///   - rule: Gets an outcome per dependency, in the order in which they were added; nil for those
  ///     that have not finished. Plain operations count as cancelled or succeeded. Answers nil as
  ///     long as that depends on what isn't known; nil in the end means that the rule doesn't hold.
  ///     Called by a worker without a lock held, from one thread at a time per operation; it should
  ///     not block.
  /// - Complexity: O(n) each time the rule is asked, n the number of dependencies: up to O(n²) in all.
  ///   The rules that are there already are only asked when one has ended that can break them.
  public init(_ text: String, _ rule: @escaping @Sendable ([OperationOutcome?]) -> Bool?) {
    self.init(text, brokenBy: { _ in true }, rule)
  }

  /// Creates a rule that only certain outcomes can break while others are open.
  private init(
    _ text: String,
    brokenBy isBroken: @escaping @Sendable (OperationOutcome) -> Bool,
    _ rule: @escaping @Sendable ([OperationOutcome?]) -> Bool?
  ) {
    name = text
    self.rule = rule
    self.isBroken = isBroken
  }

  /// What the rule says; nil can't be while dependencies hold.
  public func verdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    earlyVerdict(for: operation) ?? .failed(Self.broken(operation))
  }

  /// What the rule says.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    earlyVerdict(for: operation) ?? .failed(Self.broken(operation))
  }

  private static func broken(_ operation: AdvancedOperation) -> Broken {
    let ends = operation.dependencies.map { ($0.label, outcome(of: $0)) }
    return Broken(
      dependencies: ends.map { "\($0) \($1?.word ?? "has not finished")" },
      isInherited: ends.contains { $1?.failure != nil }
    )
  }

  private static func outcome(of dependency: Operation) -> OperationOutcome? {
    if let advanced = dependency as? AdvancedOperation {
      return advanced.isFinished ? advanced.outcome : nil
    }
    guard dependency.isFinished else { return nil }
    return dependency.isCancelled ? .cancelled(OperationFailure(elements: [])) : .succeeded
  }
}

extension DependencyRule: EarlyCondition {
  func earlyVerdict(for operation: AdvancedOperation) -> OperationConditionResult? {
    rule(operation.dependencies.map(Self.outcome)).map { isKept in
      isKept ? .satisfied : .failed(Self.broken(operation))
    }
  }

  func mayRefuse(because dependency: Operation) -> Bool {
    Self.outcome(of: dependency).map(isBroken) ?? true
  }
}

extension DependencyRule.Broken: InheritedFailure {}

extension DependencyRule {
  /// Every dependency succeeded; broken by the first that didn't.
  public static var allSucceeded: DependencyRule {
    DependencyRule("all dependencies succeeded", brokenBy: { !$0.isSuccess }) { outcomes in
      if outcomes.contains(where: { $0?.isSuccess == false }) { return false }
      return outcomes.contains { $0 == nil } ? nil : true
    }
  }

  /// At least one dependency succeeded.
  public static var anySucceeded: DependencyRule {
    DependencyRule("any dependency succeeded", brokenBy: { _ in false }) { outcomes in
      if outcomes.contains(where: { $0?.isSuccess == true }) { return true }
      return outcomes.contains { $0 == nil } ? nil : false
    }
  }

  /// No dependency failed or was cancelled; they succeeded or were skipped.
  public static var noneFailed: DependencyRule {
    DependencyRule("no dependency failed", brokenBy: { $0.failure != nil }) { outcomes in
      if outcomes.contains(where: { $0?.failure != nil }) { return false }
      return outcomes.contains { $0 == nil } ? nil : true
    }
  }

  /// At least one dependency failed or was cancelled: for what cleans up.
  public static var anyFailed: DependencyRule {
    DependencyRule("any dependency failed", brokenBy: { _ in false }) { outcomes in
      if outcomes.contains(where: { $0?.failure != nil }) { return true }
      return outcomes.contains { $0 == nil } ? nil : false
    }
  }
}
