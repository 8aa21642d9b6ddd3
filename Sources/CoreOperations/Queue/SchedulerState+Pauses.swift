/// Pauses of operations that execute: without a slot, and then a turn like that of one that starts.
///
/// ```
/// starting ─ pauseBegan ─▶ paused ─ pauseEnded ─▶ ready ─▶ starting (parked, granted) ─ wentOn
/// ```
///
/// All the time the operation is a member that a barrier behind it waits for. Its end takes it out
/// of wherever it is.
extension SchedulerState {
  /// An executing operation gives its slot back until it gets another turn.
  ///
  /// The worker that has started it may not have reported yet, and relies on the operation until
  /// then; its report begins the pause.
  mutating func pauseBegan(_ operation: Operation) {
    if operation.scheduling.isFinished { return }
    if operation.scheduling.isOnStack {
      operation.scheduling.pausesOnReturn = true
    } else if operation.scheduling.placement == .starting {
      pause(operation)
    }
  }

  /// The pause is over: the operation waits for its turn, behind those that are ready by now.
  mutating func pauseEnded(_ operation: Operation) {
    if operation.scheduling.pausesOnReturn {
      operation.scheduling.isPauseOver = true
    } else if operation.scheduling.placement == .paused, !operation.scheduling.isFinished {
      place(operation)
    }
  }

  /// A worker reports the return of a turn in which the operation began a pause.
  mutating func pauseDue(_ operation: Operation) {
    operation.scheduling.pausesOnReturn = false
    let isOver = operation.scheduling.isPauseOver
    operation.scheduling.isPauseOver = false
    if operation.scheduling.isFinished { return }
    pause(operation)
    if isOver { pauseEnded(operation) }
  }

  private mutating func pause(_ operation: Operation) {
    giveBackSlot(of: operation)
    operation.scheduling.isPaused = true
    operation.scheduling.placement = .paused
    operation.scheduling.ticket = 0
    operation.scheduling.needsReview = false
  }

  /// The operation ends instead of going on, and waits for no turn until then.
  mutating func turnAbandoned(_ operation: Operation) {
    operation.scheduling.isPauseOver = false
    guard operation.scheduling.isPaused else { return }
    switch operation.scheduling.placement {
    case .ready: ready.remove(operation)
    case .parked: break
    // With a slot in hand, it finds out by itself.
    case .outside, .waiting, .heldBack, .service, .evaluating, .granted, .starting, .paused, .gone:
      return
    }
    operation.scheduling.placement = .paused
  }

  /// The operation goes on in its next turn.
  mutating func wentOn(_ operation: Operation) { operation.scheduling.isPaused = false }

  /// Whether nothing that is waited for before the start keeps the operation; nothing does after
  /// it.
  func hasNothingOpen(_ operation: Operation) -> Bool {
    operation.readiness.current.progress == .ready || operation.scheduling.isPaused
  }
}
