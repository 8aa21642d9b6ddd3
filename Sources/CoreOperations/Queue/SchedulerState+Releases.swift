/// The slot that the body of an operation has released with `releasingSlot`, until the operation has
/// a slot again.
///
/// Guarded by the lock of the operation's queue.
final class SlotRelease: @unchecked Sendable {
  // Sendable: the variables are only used with the lock of the queue held.

  /// The number of calls whose closures are running.
  fileprivate(set) var callCount = 0
  /// The last of the calls, whose closure has returned, and which waits for the slot.
  fileprivate var waiting: AsyncWait?

  /// For simulations: the number of calls, and whether one of them waits for the slot.
  var fingerprint: UInt64 { UInt64(callCount) << 1 | (waiting == nil ? 0 : 1) }
}

/// Slots that bodies release while they await: `releasingSlot { }`.
///
/// ```
/// started ─ releaseBegan ─▶ paused ─ releaseEnded ─▶ ready ─▶ started ─ resumed
/// ```
///
/// The moves are those of a pause. All calls of an operation at the same time are one pause: the
/// first call begins it, and the last call ends it. If a call begins while the operation waits for
/// its slot, the operation stops waiting.
extension SchedulerState {
  /// A call begins in the body of an operation.
  ///
  /// - Parameter member: The operation, which may have left the queue.
  /// - Returns: The release, to be ended by ``releaseEnded(_:_:waitingWith:)``, and a call that
  ///   doesn't wait any more; nil if the operation has no slot to release.
  mutating func releaseBegan(
    _ member: Member
  ) -> (release: SlotRelease, resumed: AsyncWait?)? {
    guard self[member, .isMember], !self[member].isFinished, !self[member, .needsNoSlot] else {
      return nil
    }
    let release: SlotRelease
    if let current = releases[member.identity] {
      release = current
    } else {
      // Between two attempts, the policy has released the slot.
      guard self[member].placement == .started, !self[member, .pausesOnReturn],
        !self[member, .isPaused]
      else { return nil }
      release = SlotRelease()
      releases[member.identity] = release
      self[member, .hasReleasedSlot] = true
    }
    if release.callCount == 0 {
      // Awaited work may need the slot, so the slot is released even if a worker hasn't reported.
      giveBackSlot(of: member)
      beginPause(of: member)
    }
    release.callCount += 1
    return (release, release.waiting.take())
  }

  /// The closure of a call has returned.
  ///
  /// - Parameters:
  ///   - member: The operation, which may have left the queue.
  ///   - release: The release that the call has begun or joined.
  ///   - wait: Ended when the operation has its slot, or doesn't need it any more.
  /// - Returns: Whether the call waits.
  mutating func releaseEnded(
    _ member: Member,
    _ release: SlotRelease,
    waitingWith wait: AsyncWait
  ) -> Bool {
    // The operation has ended, or has begun another attempt.
    guard releases[member.identity] === release else { return false }
    release.callCount -= 1
    if release.callCount > 0 || member.isCancelled { return false }
    release.waiting = wait
    pauseEnded(member)
    return true
  }

  /// A new attempt of an operation needs a slot, which a task of the previous attempt may have released.
  ///
  /// The calls of that task end without a slot.
  ///
  /// - Parameters:
  ///   - member: The operation.
  ///   - wait: Ended when the operation has its slot, or doesn't need it any more.
  /// - Returns: Whether the attempt waits, and a call that doesn't wait any more.
  mutating func releaseTakenOver(
    _ member: Member,
    waitingWith wait: AsyncWait
  ) -> (waits: Bool, resumed: AsyncWait?) {
    guard let old = releases[member.identity], !member.isCancelled else { return (false, nil) }
    let release = SlotRelease()
    release.waiting = wait
    releases[member.identity] = release
    let resumed = old.waiting.take()
    // A call that waits has ended the pause before.
    if resumed == nil { pauseEnded(member) }
    return (true, resumed)
  }

  /// Returns whether the closure of a call runs while the operation has no slot.
  func hasReleasedSlot(_ member: Member) -> Bool { (releases[member.identity]?.callCount ?? 0) > 0 }

  /// An executing operation was cancelled, and doesn't take its slot again.
  ///
  /// - Returns: The call that waited for the slot.
  mutating func cancelledInRelease(_ member: Member) -> AsyncWait? {
    guard let wait = releases[member.identity]?.waiting.take() else { return nil }
    turnAbandoned(member)
    return wait
  }

  /// Forgets the release of an operation that has its slot again, or has ended.
  ///
  /// - Returns: The call that waited for the slot.
  mutating func forgetRelease(of member: Member) -> AsyncWait? {
    guard self[member, .hasReleasedSlot] else { return nil }
    self[member, .hasReleasedSlot] = false
    return releases.removeValue(forKey: member.identity)?.waiting.take()
  }
}
