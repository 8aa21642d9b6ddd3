import CoreOperations

/// The deadline that was set for an operation, and its timer.
struct OwnDeadline {
  let time: Duration
  let observation: OperationObservation
}

extension AdvancedOperation {
  /// The time by which the operation has to end, on the clock of its ``environment``; nil for no deadline.
  ///
  /// At this time the operation is cancelled with an ``OperationTimeout`` as the reason. The time in which the
  /// operation waits, evaluates its conditions and delays its attempts counts. If the time has passed when
  /// the operation is added to a queue, the operation never executes. A retry whose delay ends at or after the
  /// deadline isn't attempted: the operation fails immediately, with the errors of its attempts.
  ///
  /// The deadline is a time, and a ``TimeoutObserver`` is a duration:
  ///
  /// ```swift
  /// order.deadline = request.arrival + .seconds(10)
  /// ```
  ///
  /// Before the operation is added to a queue, add the duration to the `environment.clock.now` of the queue.
  ///
  /// The property returns the earliest of these deadlines:
  ///
  /// - The deadline that you have set.
  /// - The deadline of the ``parent``: of the group, or of the operation whose attempt this is.
  /// - The deadline of the scope in which the operation runs, see
  ///   ``withOperations(maxConcurrentOperationCount:deadline:environment:_:)``.
  /// - The deadline of the call of `run` that has added the operation, unless another call has joined it.
  /// - The deadline that the producer of this operation had when it produced the operation.
  /// - The deadline of the operation in whose body the scope or the call of `run` is. A call of `run` inherits
  ///   it if this operation has a deadline at the time of the call.
  ///
  /// Dependents and operations of a ``SharedOperations`` inherit no deadline. A group has no deadline while it
  /// runs its rollbacks.
  ///
  /// Set the deadline before you add the operation. A later change takes effect as well.
  ///
  /// - Complexity: O(d), where d is the number of parents.
  public final var deadline: Duration? {
    get {
      var earliest: Duration?
      var next: AdvancedOperation? = self
      // A group that runs its rollbacks has no deadline.
      while let operation = next, !operation.isUndoing {
        let (deadline, parent, caller) = operation.withCore { core in
          (core.extra?.earliestDeadline, core.extra?.group, core.extra?.caller)
        }
        earliest = .earlier(earliest, deadline)
        let scope = parent == nil ? operation.queue as? ScopeQueue : nil
        earliest = .earlier(earliest, scope?.deadline)
        next = parent ?? caller ?? scope?.opener
      }
      return earliest
    }
    set {
      let new = newValue.map { ownDeadline(at: $0) }
      let old = withCore { core in
        core.extra == nil && new == nil ? nil : exchange(&core.makeExtra().deadline, with: new)
      }
      old?.observation.remove()
    }
  }

  private func ownDeadline(at time: Duration) -> OwnDeadline {
    OwnDeadline(time: time, observation: addObserver(TimeoutObserver(deadline: time)))
  }

  /// Limits an operation that this operation has produced.
  final func passDeadline(toProduced operation: AdvancedOperation) {
    guard let deadline else { return }
    let limit = operation.ownDeadline(at: deadline)
    operation.withCore { $0.makeExtra().deadlineOfProducer = limit }
  }

  /// Cancels the operation if its deadline has passed.
  ///
  /// Parents and scopes cancel their operations themselves.
  ///
  /// - Parameter now: The time on the clock of the operation; nil to read the clock.
  final func cancelIfLate(at now: Duration? = nil) {
    guard let deadline = withCore({ $0.extra?.earliestDeadline }) else { return }
    let now = now ?? clock.now
    if deadline > now { return }
    let begin = withCore { $0.admitted } ?? now
    cancel(reason: TimeoutObserver(deadline: deadline).element(since: begin))
  }

  /// Records the call that adds the operation.
  ///
  /// - Parameters:
  ///   - deadline: The deadline of the call.
  ///   - caller: The operation whose body calls, if it has a deadline.
  final func added(byCallUntil deadline: Duration?, of caller: AdvancedOperation?) {
    withCore { core in
      let extra = core.makeExtra()
      (extra.deadlineOfCall, extra.caller) = (deadline, caller)
    }
    // A call that joined before this line didn't find the deadline.
    if isNeededBySeveralCalls { joinedByCall() }
  }

  /// Removes the deadline of the call that has added the operation, because another call waits as well.
  final func joinedByCall() {
    withCore { core in
      core.extra?.deadlineOfCall = nil
      core.extra?.caller = nil
    }
  }
}

extension Duration? {
  /// Returns the earlier of two times; nil if both are nil.
  static func earlier(_ a: Duration?, _ b: Duration?) -> Duration? {
    guard let a, let b else { return a ?? b }
    return min(a, b)
  }
}
