import CoreOperations

extension AdvancedOperation {
  /// Whether rollbacks are running; false for what is no group.
  final var isUndoing: Bool {
    (self as? GroupOperation)?.members.withLock { $0.rollbacks.isRunning } ?? false
  }
}

extension GroupOperation {
  /// Keeps what undoes work that has begun in the group; returns whether that may still run.
  final func register(_ rollbacks: [RollbackList.Rollback]) -> Bool {
    members.withLock { $0.rollbacks.add(rollbacks) }
  }

  /// Undoes what has to be undone, and ends.
  final func childrenHaveEnded() {
    let failure = members.withLock { $0.takeErrors() }.summary
    let place = placeInOuterGroup()
    var registered: [RollbackList.Rollback] = []
    if endsWell(failure, { registered = members.withLock { $0.rollbacks.close() } }) {
      // The outer group doesn't look at it before this group is quiet.
      place?.fill(registered)
      end([])
      // Released now: a `deinit` may wait for the group.
      registered = []
      return
    }
    guard let last = members.withLock({ $0.rollbacks.next() }) else { return end([]) }
    // Not with the task-locals of the child that ended last, in whose task this may be.
    Task.detached(executorPreference: environment.bodyExecutor) {
      let elements = await TaskContext.with(self) {
        var elements: [OperationFailure.Element] = []
        var next: RollbackList.Rollback? = last
        while let rollback = next {
          do { try await rollback() } catch {
            elements.append(.rollback(error))
          }
          next = self.members.withLock { $0.rollbacks.next() }
        }
        return elements
      }
      self.end(elements)
    }
  }

  /// Where to put what is registered if the group succeeds; nil when there is nothing, or no place.
  ///
  /// To be called before the end is decided, because other operations may start with that end and
  /// register something in the outer group, which has to be undone before.
  private func placeInOuterGroup() -> RollbackList.Place? {
    guard let outer = group, !members.withLock({ $0.rollbacks.closeIfEmpty() }) else { return nil }
    return outer.members.withLock { $0.rollbacks.addPlace() }
  }

  /// Decides the outcome as a success, if it isn't decided and nothing speaks against that.
  ///
  /// Otherwise keeps what the children came to, so that a `finish()` that comes while things are
  /// undone doesn't make a success of it.
  ///
  /// - Parameters:
  ///   - failure: What the children came to.
  ///   - close: Called in the same step, so that nothing is registered later that would be neither
  ///     run nor refused.
  /// - Returns: Whether nothing is to be undone.
  private func endsWell(_ failure: OperationFailure, _ close: () -> Void) -> Bool {
    if members.withLock({ !$0.isLeaving }), failure.elements.isEmpty, decideSuccess(close) {
      return true
    }
    return withCore { core in
      // `finish()` may have been called from outside before.
      let isGood =
        core.machine.holdsChildren ? core.machine.endsWell : core.machine.outcome?.isSuccess == true
      if isGood {
        close()
      } else {
        core.machine.record(failure.elements, notRunCount: failure.notRunCount)
      }
      return isGood
    }
  }
}
