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
  package mutating func pauseBegan(_ member: Member) {
    if member.fields.isFinished { return }
    if member.fields.isOnStack {
      member.fields.pausesOnReturn = true
    } else if member.placement == .started {
      pause(member)
    }
  }

  /// The pause is over: the operation waits for its turn, among those that are ready by now.
  package mutating func pauseEnded(_ member: Member) {
    if member.fields.pausesOnReturn {
      member.fields.isPauseOver = true
    } else if member.placement == .paused {
      place(member)
    }
  }

  /// A worker reports the return of a turn in which the operation began a pause.
  mutating func pauseDue(_ member: Member, _ effects: inout Effects) {
    member.fields.pausesOnReturn = false
    let isOver = member.fields.isPauseOver
    member.fields.isPauseOver = false
    if member.fields.isFinished { return }
    pause(member)
    guard isOver else { return }
    pauseEnded(member)
    effects.waitsForNextTurn = member.operation
  }

  private mutating func pause(_ member: Member) {
    giveBackSlot(of: member)
    member.fields.isPaused = true
    move(member, to: .paused)
  }

  /// The operation ends instead of going on, and waits for no turn until then.
  package mutating func turnAbandoned(_ member: Member) {
    member.fields.isPauseOver = false
    guard member.fields.isPaused else { return }
    switch member.placement {
    case .ready, .parked: move(member, to: .paused)
    // With a slot in hand, it finds out by itself.
    case .outside, .waiting, .behindBarrier, .service, .evaluating, .granted, .started, .paused,
      .ending, .gone:
      break
    }
  }

  /// The operation goes on in its next turn.
  package mutating func wentOn(_ member: Member) { member.fields.isPaused = false }

  /// Whether nothing that is waited for before the start keeps the operation; nothing does after
  /// it.
  func hasNothingOpen(_ member: Member) -> Bool {
    member.progress == .ready || member.fields.isPaused
  }
}
