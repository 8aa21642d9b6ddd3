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
  /// The property returns the earliest of these deadlines:
  ///
  /// - The deadline that you have set.
  /// - The deadline of the ``parent``: of the group, or of the operation whose attempt this is.
  /// - The deadline of the scope in which the operation runs, see
  ///   ``withOperations(maxConcurrentOperationCount:deadline:environment:_:)``.
  /// - The deadline of the call of `run` that has added the operation, unless another call has joined it.
  /// - The deadline of the operation that has produced this operation.
  ///
  /// A scope and a call of `run` in the body of an operation have the deadline of this operation. Dependents,
  /// rollbacks and operations of a ``SharedOperations`` don't.
  ///
  /// Set the deadline before you add the operation. A later change takes effect as well, but an operation
  /// that has already started continues until its body responds to the cancel.
  ///
  /// - Complexity: O(d), where d is the number of parents.
  public final var deadline: Duration? {
    get {
      var (earliest, outermost): (Duration?, AdvancedOperation) = (nil, self)
      while true {
        let (deadlines, parent) = outermost.withCore { core in
          ([core.extra?.deadline?.time, core.extra?.deadlineOfCall], core.extra?.group)
        }
        for deadline in deadlines { earliest = .earlier(earliest, deadline) }
        guard let parent else { break }
        outermost = parent
      }
      return .earlier(earliest, (outermost.queue as? ScopeQueue)?.deadline)
    }
    set {
      let new = newValue.map {
        OwnDeadline(time: $0, observation: addObserver(TimeoutObserver(deadline: $0)))
      }
      let old = withCore { core in
        core.extra == nil && new == nil ? nil : exchange(&core.makeExtra().deadline, with: new)
      }
      old?.observation.remove()
    }
  }

  /// The deadline for the operations that the code of the current operation runs; nil for no deadline.
  ///
  /// Rollbacks have no deadline.
  static var deadlineToInherit: Duration? { current.flatMap { $0.isUndoing ? nil : $0.deadline } }

  /// The deadline of the operation; nil if only its parents or its scope have one.
  ///
  /// Parents and scopes cancel their operations themselves.
  private var separateDeadline: Duration? {
    withCore { core in
      core.extra.flatMap { .earlier($0.deadline?.time, $0.deadlineOfCall) }
    }
  }

  /// Cancels the operation if its deadline has passed.
  ///
  /// - Parameter now: The time on the clock of the operation.
  final func cancelIfLate(at now: Duration) {
    guard let deadline = separateDeadline, deadline <= now else { return }
    let begin = withCore { $0.admitted } ?? now
    cancel(reason: TimeoutObserver(deadline: deadline).element(since: begin))
  }

  /// Records the deadline of the call that adds the operation.
  final func added(byCallUntil deadline: Duration) {
    withCore { $0.makeExtra().deadlineOfCall = deadline }
    // A call that joined before this line didn't find the deadline.
    if isNeededBySeveralCalls { joinedByCall() }
  }

  /// Removes the deadline of the call that has added the operation, because another call waits as well.
  final func joinedByCall() { withCore { $0.extra?.deadlineOfCall = nil } }
}

extension Duration? {
  /// Returns the earlier of two times; nil if both are nil.
  static func earlier(_ a: Duration?, _ b: Duration?) -> Duration? {
    guard let a, let b else { return a ?? b }
    return min(a, b)
  }
}
