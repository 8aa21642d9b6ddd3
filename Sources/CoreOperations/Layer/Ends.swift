extension Operation {
  /// Runs a closure when the operation has finished; at once if it has.
  ///
  /// - Parameter body: Gets the operation, which its queue may have let go of by then.
  package final func whenFinished(_ body: @escaping @Sendable (Operation) -> Void) {
    if !register(.closure(body)) { body(self) }
  }

  /// What has returned without the end of the operation, which its class has to report; nil while
  /// that goes on, and for an operation that reports its end by returning.
  package final var callWithoutEnd: String? {
    switch life.current.phase {
    case .started where !isLayered: scheduler?.hasReturnedFromStart(self) == true ? "start()" : nil
    case .ended where !isFinished: "main()"
    case .created, .enqueued, .started, .executing, .ended, .finished: nil
    }
  }

  /// Whether an override of ``isFinished`` says so and has not reported it, so that the end is
  /// unknown to dependents.
  package final var hasUnreportedEnd: Bool { isFinished && life.current.phase < .ended }

  /// Whether others depend on the operation, or wait for its end.
  package final var hasDependents: Bool {
    withLinks { !$0.dependents.isEmpty || $0.extra?.waiters.isEmpty == false }
  }
}

extension OperationQueue {
  /// Runs a closure once the queue is empty; at once if it is.
  package final func whenEmpty(_ body: @escaping @Sendable () -> Void) {
    if !scheduler.waited(.closure({ _ in body() })) { body() }
  }

  /// Whether neither operations nor barriers are left.
  package final var isIdle: Bool { scheduler.isIdle }

  /// Whether an operation is a member; one that has left isn't.
  package final func has(_ operation: Operation) -> Bool {
    operation.isIn(ObjectIdentifier(scheduler))
  }
}
