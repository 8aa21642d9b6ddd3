import CoreOperations

/// The operations that conditions need before they are evaluated; see
/// ``OperationCondition/dependency(for:)``.
extension AdvancedOperation {
  /// The prerequisites of one condition.
  enum Prerequisites: Sendable {
    case none
    case run([Operation])
    /// The prerequisites can't be run.
    case refused(OperationStateMachine.Verdict)
  }

  /// Calls `dependency(for:)` of a condition, or of its parts, and returns the prerequisites.
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
  ///   - prerequisites: The prerequisites. If a prerequisite isn't in a queue, it is added to the operation's
  ///     queue.
  ///   - conditions: The name of the condition that returned the prerequisite, for each prerequisite.
  ///   - next: A closure that is called when all prerequisites have finished.
  final func run(
    _ prerequisites: [Operation],
    of conditions: [String],
    then next: @escaping @Sendable () -> Void
  ) {
    if prerequisites.contains(self) {
      cancel(withError: OperationCycleError(path: [nameAndTag, nameAndTag]))
      return
    }
    // Each operation marks its prerequisite as awaited and keeps it, and searches for a cycle afterwards. If
    // two operations wait for each other, at least one of them therefore finds the cycle.
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
      let open = EventCountdown(prerequisites.count)
      keep(
        prerequisites.map { prerequisite in
          prerequisite.watchEnd { _ in
            // A worker calls the closure, because this thread may be cancelling an operation.
            if open.isLast() { environment.enqueue(next) }
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
  /// Claims the operation if it is neither in a queue nor in a group.
  ///
  /// If the method returns true, the caller has to add the operation to a queue.
  final func claimAsPrerequisite() -> Bool {
    let isClaimed: Bool
    if let advanced = self as? AdvancedOperation {
      // This may be the last reference to the group. It is released after the lock.
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

  /// The group that will run the operation and hasn't started; nil for a plain operation, which doesn't know
  /// its group.
  final var waitingGroup: AdvancedOperation? {
    guard let advanced = self as? AdvancedOperation, advanced.isUnclaimed else { return nil }
    return advanced.awaitedParent as? AdvancedOperation
  }
}
