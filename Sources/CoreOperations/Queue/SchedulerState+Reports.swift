/// What workers and layers report to a queue.
extension SchedulerState {
  /// What a worker has done since its last step.
  package struct Report {
    var event: Event
    /// What it has done that to.
    private(set) var member: Member?
    /// The result of the evaluation of its conditions, if a worker brings that.
    private(set) var readiness = LayerReadiness.pending

    package init(_ event: Event) { self.event = event }

    package init(_ event: Event, of operation: Operation, readiness: LayerReadiness = .pending) {
      self.event = event
      self.member = Member(operation)
      self.readiness = readiness
    }
  }

  package enum Event {
    /// It was just started by the executor.
    case began
    /// It looked out for work.
    case lingered
    /// The layer above was asked, without a slot.
    case asked
    /// It went away after it had asked, and is here again.
    case cameBack
    /// A start without a slot returned, maybe with the end of an operation that nothing waits for.
    case leftAhead(isEnd: Bool)
    /// The call of `start()` returned, maybe with the end of an operation that nothing waits for.
    case startReturned(isEnd: Bool)
    /// The operation may not start now.
    case parked
    /// A dependency was added after the start was decided.
    case gotDependency
    /// The work of an operation that does nothing else returned: its end, in the same step.
    case ended(hasCompletion: Bool)
    /// A closure returned; it may have become an operation meanwhile.
    case closureReturned(ClosureNumber)
    case barrierReturned
  }
}
