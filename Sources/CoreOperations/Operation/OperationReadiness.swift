/// The open waits of an operation, as a counter instead of a scan over its dependencies.
///
/// This is a pure value in one atomic word. Each event is one mutating method. Events that may complete the
/// wait return the progress.
package struct OperationReadiness: Equatable, Sendable {
  /// The number of linked dependencies that have not finished.
  package private(set) var unfinished: UInt32 = 0
  /// A Boolean value that indicates whether no queue has admitted the operation yet, so that it can't become
  /// ready.
  private(set) var isOutside = true
  /// A Boolean value that indicates whether the operation holds its readiness, for conditions to be
  /// evaluated.
  package private(set) var isHeld = false
  /// A Boolean value that indicates whether the operation was cancelled while it waited and no longer waits.
  private(set) var isDropped = false
  /// A Boolean value that indicates whether no wait was open at some moment; stays true if a dependency is
  /// added later.
  package private(set) var wasReady = false

  package init() {}

  /// The progress of the wait after one of its causes has ended.
  package enum Progress: Equatable, Sendable {
    /// Another cause is still open, or the operation isn't waiting.
    case none
    /// The last dependency finished and only the hold is left, so conditions may be evaluated.
    case onlyHeld
    /// No cause is left.
    case ready
  }

  /// The progress of the wait.
  package var progress: Progress {
    if isDropped || isOutside || unfinished > 0 { return .none }
    return isHeld ? .onlyHeld : .ready
  }

  /// A Boolean value that indicates whether no dependency is open, even if other causes are.
  package var dependenciesAreFinished: Bool { isDropped || unfinished == 0 }

  // MARK: Events

  /// Records that a dependency was linked.
  package mutating func dependencyAdded() { unfinished += 1 }

  /// Records that a linked dependency finished or was removed.
  mutating func dependencyResolved() -> Progress {
    guard unfinished > 0 else {
      internalError("a dependency was resolved that had not been counted")
    }
    unfinished -= 1
    return noteProgress()
  }

  /// Records that a dependency finished if the operation can't become ready by that.
  ///
  /// The operation can't become ready if no queue has admitted the operation, or if it waits for other
  /// dependencies. Otherwise nothing changes.
  ///
  /// - Returns: Whether the end was counted, so that no queue has to be notified.
  mutating func dependencyResolvedUnnoticed() -> Bool {
    guard isOutside || unfinished > 1 else { return false }
    _ = dependencyResolved()
    return true
  }

  /// Records that the queue has admitted the operation.
  mutating func letIn() -> Progress {
    isOutside = false
    return noteProgress()
  }

  /// Records that the operation holds its readiness after its dependencies have finished.
  mutating func holdTaken() { isHeld = true }

  /// Records that the operation doesn't hold its readiness any more.
  mutating func holdReleased() -> Progress {
    isHeld = false
    return noteProgress()
  }

  private mutating func noteProgress() -> Progress {
    let progress = progress
    if progress == .ready { wasReady = true }
    return progress
  }

  /// Records that the operation was cancelled, so that open causes are ignored from now on.
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
