import CoreOperations

/// A walk along conditions in their order, each after its helper, until one doesn't hold: what
/// `.stopAtFirstFailure` wants.
struct ConditionWalk: Sendable {
  /// Where the walk stops.
  enum Stop {
    case decided(OperationStateMachine.Verdict)
    /// The condition whose turn it is needs helpers, after which the walk goes on.
    case help([Operation])
    /// The condition whose turn it is isn't immediate; ``answered(_:)`` follows.
    case ask
  }

  private let conditions: [any OperationCondition]
  /// Whose turn it is.
  private(set) var index = 0
  /// Whether the helpers of that one have run, or it needs none.
  private var isHelped: Bool
  /// Whether immediate conditions were evaluated before a wait.
  private(set) var isOutdated = false

  /// - Parameters:
  ///   - conditions: The conditions.
  ///   - isHelped: Whether the helpers of the first one have run.
  init(_ conditions: [any OperationCondition], isHelped: Bool = false) {
    self.conditions = conditions
    self.isHelped = isHelped
  }

  /// The condition whose turn it is.
  var condition: any OperationCondition { conditions[index] }

  /// Goes on to where something takes time, or all is decided.
  mutating func goOn(of operation: AdvancedOperation) -> Stop {
    while index < conditions.count {
      if !isHelped {
        isHelped = true
        switch operation.help(for: condition) {
        case .none: break
        case .run(let helpers):
          waits(after: conditions[..<index])
          return .help(helpers)
        case .refused(let verdict): return .decided(verdict)
        }
      }
      guard let result = operation.verdictAtOnce(of: condition) else {
        waits(after: conditions[...index])
        return .ask
      }
      if let verdict = answered(result) { return .decided(verdict) }
    }
    return .decided(.satisfied)
  }

  /// The condition whose turn it is has answered.
  ///
  /// - Returns: What that decides; nil to go on.
  mutating func answered(_ result: OperationConditionResult) -> OperationStateMachine.Verdict? {
    if !result.isSatisfied { return AdvancedOperation.verdict(of: [condition], [result]) }
    index += 1
    isHelped = false
    return nil
  }

  private mutating func waits(after evaluated: ArraySlice<any OperationCondition>) {
    isOutdated = isOutdated || evaluated.contains(where: \.hasImmediatePart)
  }
}

/// Conditions that are evaluated one after the other.
extension AdvancedOperation {
  /// Made once, for the usual case.
  private static let firstCondition = [0]

  /// Goes on with a walk along the conditions, in a task when that is due.
  final func askInOrder(_ walk: ConditionWalk) {
    if isCancelled { return }
    var walk = walk
    switch walk.goOn(of: self) {
    case .decided(let verdict): apply(verdict, isOutdated: walk.isOutdated)
    case .help(let helpers): askInOrder(walk, after: helpers)
    case .ask:
      let open = walk.index == 0 ? Self.firstCondition : [walk.index]
      evaluate(asking: open) { [walk] operation in await operation.evaluateInOrder(walk) }
    }
  }

  /// Goes on with a walk when the helpers have ended that the next condition needs.
  final func askInOrder(_ walk: ConditionWalk, after helpers: [Operation]) {
    let name = walk.condition.name
    run(helpers, of: helpers.map { _ in name }) { self.askInOrder(walk) }
  }

  /// The same in a task, up to a condition that needs a helper.
  private func evaluateInOrder(_ walk: ConditionWalk) async -> Evaluation {
    var walk = walk
    while true {
      let result = await walk.condition.evaluate(for: self)
      if let verdict = walk.answered(result) {
        return .decided(verdict, isOutdated: walk.isOutdated)
      }
      switch walk.goOn(of: self) {
      case .decided(let verdict): return .decided(verdict, isOutdated: walk.isOutdated)
      case .help(let helpers): return .needsHelp(helpers, walk)
      case .ask: withCore { $0.extra?.openConditions = [walk.index] }
      }
    }
  }
}
