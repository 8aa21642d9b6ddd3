import CoreOperations

/// An observer's attachment to an operation.
///
/// Dropping it leaves the observer attached.
///
/// ```swift
/// let observation = operation.onFinish { operation, _ in refresh(operation) }
/// observation.remove()
/// ```
public final class OperationObservation: Sendable {
  // The operation has this and not the other way around: a weak reference back moves its counts to a
  // side table, and each change of them then costs three times as much (callgrind).
  private struct Attachment {
    var observer: (any OperationObserver)?
    /// Of a time limit.
    var timer: OperationTimer?
    /// Takes the observer out of a queue.
    var removal: (@Sendable () -> Void)?
  }

  /// Its place in the order of attaching.
  let id: UInt32
  private let attachment: Locked<Attachment>

  /// Attaches an observer to an operation.
  init(id: UInt32, of observer: any OperationObserver) {
    self.id = id
    attachment = Locked(Attachment(observer: observer))
  }

  /// Attaches an observer to something that can take it out again.
  init(removal: (@Sendable () -> Void)? = nil) {
    id = 0
    attachment = Locked(Attachment(removal: removal))
  }

  /// Removes the observer; a callback that is being made goes on.
  ///
  /// Doing so again changes nothing.
  public func remove() {
    let old = attachment.withLock { attachment in
      let old = attachment
      attachment = Attachment()
      return old
    }
    old.timer?.cancel()
    old.removal?()
  }

  /// The observer of an operation; nil when it was removed.
  var observer: (any OperationObserver)? { attachment.withLock { $0.observer } }

  /// Whether it was not removed; cheaper than to look at it.
  var isAttached: Bool { attachment.withLock { $0.observer != nil } }

  /// Has a timer cancelled with the observation; returns whether it still was attached.
  func took(_ timer: OperationTimer) -> Bool {
    attachment.withLock { attachment in
      guard attachment.observer != nil else { return false }
      attachment.timer = timer
      return true
    }
  }
}
