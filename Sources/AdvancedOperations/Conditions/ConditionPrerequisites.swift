import CoreOperations

/// The operations that conditions need before they are evaluated; see
/// ``OperationCondition/dependency(for:)``.
extension AdvancedOperation {
  /// The prerequisites of one condition.
  enum Prerequisites: Sendable {
    case none
    case run([Operation])
    /// They can't be run.
    case refused(OperationStateMachine.Verdict)
  }

  /// Calls `dependency(for:)` of a condition, or of its parts.
  final func prerequisites(for condition: any OperationCondition) -> Prerequisites {
    let prerequisites = ThreadContext.asking(self) { condition.prerequisites(for: self) }
    if prerequisites.isEmpty { return .none }
    for prerequisite in prerequisites {
      guard let group = prerequisite.waitingGroup else { continue }
      let error = OperationPrerequisiteError(
        prerequisite: prerequisite.nameAndTag,
        group: group.nameAndTag
      )
      return .refused(.failed([Self.element(condition.name, error)]))
    }
    return .run(prerequisites)
  }

  /// Runs the prerequisites of conditions.
  ///
  /// - Parameters:
  ///   - prerequisites: The prerequisites, added to the queue if they are in none.
  ///   - conditions: For each of them, the name of the condition that brought it.
  ///   - next: Called when all of them have finished.
  final func run(
    _ prerequisites: [Operation],
    of conditions: [String],
    then next: @escaping @Sendable () -> Void
  ) {
    if prerequisites.contains(self) {
      cancel(withError: OperationCycleError(path: [nameAndTag, nameAndTag]))
      return
    }
    // Of two operations that wait for each other, at least one sees both: each marks the other as
    // awaited and keeps it, and searches for a cycle afterwards.
    for prerequisite in prerequisites { prerequisite.addNeed(of: .condition) }
    let added = prerequisites.filter { $0.claimAsPrerequisite() }
    let isCancelled = withCore { core in
      if core.machine.isCancelled { return true }
      let extra = core.makeExtra()
      extra.evaluation.prerequisites = prerequisites
      extra.conditionsOfPrerequisites = conditions
      return false
    }
    if isCancelled {
      RunningEvaluation(prerequisites: prerequisites).cancel(reason: cancellationReason)
    } else {
      let environment = environment
      let open = Locked(prerequisites.count)
      keep(
        prerequisites.map { prerequisite in
          prerequisite.watchEnd { _ in
            let isLast = open.withLock { open in
              open -= 1
              return open == 0
            }
            // Not here: this may be a thread that is cancelling.
            if isLast { environment.enqueue(next) }
          }
        }
      )
    }
    for prerequisite in prerequisites { noteWait(for: prerequisite) }
    RunTimeCycles.checkWait(of: self)
    if !addToQueue(added) {
      AdvancedOperationQueue(environment: environment).addOperations(added)
    }
  }
}

extension Operation {
  /// Whether the operation is in no queue and in no group; it is the caller's to add to a queue
  /// then.
  final func claimAsPrerequisite() -> Bool {
    let isClaimed: Bool
    if let advanced = self as? AdvancedOperation {
      // The group may go with this reference, which nothing does under a lock.
      let group: AdvancedOperation?
      (group, isClaimed) = advanced.withCore { core in
        let group = core.extra?.group
        return (group, group == nil && claim())
      }
      withExtendedLifetime(group) {}
    } else {
      isClaimed = claim()
    }
    if isClaimed { addedForNeeds() }
    return isClaimed
  }

  /// The group that will run the operation, and has not started; nil for a plain operation, which
  /// doesn't know its group.
  final var waitingGroup: AdvancedOperation? {
    guard let advanced = self as? AdvancedOperation, advanced.isUnclaimed else { return nil }
    return advanced.awaitedParent as? AdvancedOperation
  }
}
