/// What an operation still waits for: a counter instead of a scan over its dependencies.
///
/// A pure value in one atomic word. Each event is one mutating method; those that may complete the
/// wait return what became of it.
package struct OperationReadiness: Equatable, Sendable {
  /// How many linked dependencies have not finished.
  package private(set) var unfinished: UInt32 = 0
  /// Whether a queue has yet to let the operation in; until then it can't become ready.
  private(set) var isOutside = true
  /// Whether the operation holds itself back, for conditions to be evaluated.
  package private(set) var isHeld = false
  /// Whether the operation was cancelled while it waited and no longer waits for anything.
  private(set) var isDropped = false
  /// Whether nothing was left at some moment; stays true when a dependency is added later.
  package private(set) var wasReady = false

  package init() {}

  /// Where a wait stands after something that it waited for came true.
  package enum Progress: Equatable, Sendable {
    /// Something else is still open, or the operation isn't waiting.
    case none
    /// The last dependency finished and only the hold is left: conditions may be evaluated.
    case onlyHeld
    /// Nothing is left.
    case ready
  }

  /// Where the wait stands.
  package var progress: Progress {
    if isDropped || isOutside || unfinished > 0 { return .none }
    return isHeld ? .onlyHeld : .ready
  }

  /// Whether no dependency is open, whatever else is.
  package var dependenciesAreFinished: Bool { isDropped || unfinished == 0 }

  // MARK: Events

  /// A dependency was linked.
  package mutating func dependencyAdded() { unfinished += 1 }

  /// A linked dependency finished or was removed.
  mutating func dependencyResolved() -> Progress {
    guard unfinished > 0 else { trap("a dependency was resolved that had not been counted") }
    unfinished -= 1
    return noteProgress()
  }

  /// The same for an operation that can't become ready by it, because no queue has let it in or it
  /// has others to wait for; changes nothing for those that can.
  ///
  /// - Returns: Whether it was counted, so that no queue has to be notified.
  mutating func dependencyResolvedUnnoticed() -> Bool {
    guard isOutside || unfinished > 1 else { return false }
    _ = dependencyResolved()
    return true
  }

  /// The queue has let the operation in.
  mutating func letIn() -> Progress {
    isOutside = false
    return noteProgress()
  }

  /// The operation decides when it is ready, after its dependencies.
  mutating func holdTaken() { isHeld = true }

  /// The operation holds itself back no longer.
  mutating func holdReleased() -> Progress {
    isHeld = false
    return noteProgress()
  }

  private mutating func noteProgress() -> Progress {
    let progress = progress
    if progress == .ready { wasReady = true }
    return progress
  }

  /// The operation was cancelled: whatever is open is ignored from now on.
  package mutating func dropped() { isDropped = true }
}

extension OperationReadiness: RawRepresentable {
  package init?(rawValue: UInt32) {
    unfinished = rawValue & 0x0fff_ffff
    wasReady = rawValue & 1 << 28 != 0
    isOutside = rawValue & 1 << 29 != 0
    isHeld = rawValue & 1 << 30 != 0
    isDropped = rawValue & 1 << 31 != 0
  }

  package var rawValue: UInt32 {
    unfinished | (wasReady ? 1 << 28 : 0) | (isOutside ? 1 << 29 : 0) | (isHeld ? 1 << 30 : 0)
      | (isDropped ? 1 << 31 : 0)
  }
}
