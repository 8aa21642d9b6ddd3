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
  // The operation has this and not the other way around: a weak reference back moves its counts to
  // a side table, and each change of them then costs three times as much (callgrind).

  /// Its place in the order of attaching.
  let id: UInt32
  private let attachment: AtomicState<Attachment>
  // Sendable: changed once, by the thread that ended the attachment; read by the one that delivers.
  @exclusivity(unchecked) nonisolated(unsafe) private var slot: Slot
  /// What only few have.
  private let extra: ObservationExtra?

  /// Attaches an observer to an operation.
  ///
  /// - Parameters:
  ///   - id: Its place in the order of attaching.
  ///   - observer: The observer.
  ///   - mayHaveTimer: Whether ``took(_:)`` will be called.
  init(id: UInt32, of observer: any OperationObserver, mayHaveTimer: Bool = false) {
    self.id = id
    attachment = AtomicState(.attached)
    unsafe slot = Slot(observer: observer)
    extra = mayHaveTimer ? ObservationExtra() : nil
  }

  /// Attaches an observer to something that can take it out again.
  init(removal: @escaping @Sendable () -> Void) {
    id = 0
    attachment = AtomicState(.attached)
    unsafe slot = Slot(observer: Nobody())
    extra = ObservationExtra(removal: removal)
  }

  /// The observation of one who came too late to be attached.
  init() {
    id = 0
    attachment = AtomicState(.removed)
    unsafe slot = Slot(observer: Nobody())
    extra = nil
  }

  /// Removes the observer; a callback that is being made goes on.
  ///
  /// Doing so again changes nothing.
  public func remove() {
    if attachment.step({ $0.removed() }) { letGoOfObserver() }
    extra?.end()
  }

  /// The operation has finished: the observer isn't notified any more.
  ///
  /// ``remove()`` follows, which lets go of the observer.
  func end() {
    attachment.step { $0.ended() }
    extra?.end()
  }

  /// Notifies the observer of an event, unless it was removed.
  ///
  /// Not from two threads at the same time, nor from inside the call.
  func notify(
    of event: EventDelivery.Event,
    outcome: OperationOutcome?,
    about operation: AdvancedOperation
  ) {
    guard attachment.step({ $0.callBegan() }) else { return }
    unsafe slot.notify(of: event, outcome: outcome, about: operation)
    if attachment.step({ $0.callEnded() }) { letGoOfObserver() }
  }

  private func letGoOfObserver() {
    // Released behind the exchange: that may do whatever it likes.
    _ = unsafe exchange(&slot, with: Slot(observer: Nobody()))
  }

  /// Whether it was not removed.
  var isAttached: Bool { attachment.current.isAttached }

  /// Has a timer cancelled with the observation; returns whether it still was attached.
  func took(_ timer: OperationTimer) -> Bool {
    // The thread that removes it looks for a timer afterwards.
    extra?.took(timer, if: { isAttached }) ?? false
  }

  /// The observer, called where it is.
  ///
  /// To copy it for each call, of a type that only its metadata knows, was a tenth of what an
  /// operation with an observer cost (callgrind); what is in something that can't be copied isn't.
  private struct Slot: ~Copyable {
    let observer: any OperationObserver

    borrowing func notify(
      of event: EventDelivery.Event,
      outcome: OperationOutcome?,
      about operation: AdvancedOperation
    ) {
      switch event {
      case .enqueued: observer.operationDidEnqueue(operation)
      case .started: observer.operationDidStart(operation)
      case .produced(let other): observer.operation(operation, didProduce: other)
      case .progress(let update): observer.operation(operation, didUpdateProgress: update)
      case .retrying(let retry): observer.operation(operation, willRetry: retry)
      case .cancelled(let errors, _): observer.operationDidCancel(operation, errors: errors)
      case .willFinish:
        if let outcome { observer.operationWillFinish(operation, outcome: outcome) }
      case .didFinish:
        if let outcome { observer.operationDidFinish(operation, outcome: outcome) }
      case .leave, .lateFinish: break
      }
    }
  }

  /// Whether the observer is attached, and whether it is being called.
  private enum Attachment: UInt32 {
    case attached
    case calling
    /// The operation has finished.
    case ended
    case removedDuringCall
    case removed

    var isAttached: Bool { self == .attached || self == .calling }

    /// Returns whether to call it.
    mutating func callBegan() -> Bool {
      guard self == .attached else { return false }
      self = .calling
      return true
    }

    /// Returns whether to let go of the observer.
    mutating func callEnded() -> Bool {
      guard self == .removedDuringCall else {
        self = .attached
        return false
      }
      self = .removed
      return true
    }

    mutating func ended() {
      switch self {
      case .attached: self = .ended
      case .calling: self = .removedDuringCall
      case .ended, .removedDuringCall, .removed: break
      }
    }

    /// Returns whether to let go of the observer.
    mutating func removed() -> Bool {
      switch self {
      case .attached, .ended:
        self = .removed
        return true
      case .calling:
        self = .removedDuringCall
        return false
      case .removedDuringCall, .removed: return false
      }
    }
  }

  private final class ObservationExtra: Sendable {
    /// Of a time limit.
    private let timer = Locked<OperationTimer?>(nil)
    /// Takes the observer out of a queue.
    private let removal: RemovableClosure<@Sendable () -> Void>?

    init(removal: (@Sendable () -> Void)? = nil) {
      self.removal = removal.map { RemovableClosure($0) }
    }

    func took(_ timer: OperationTimer, if isAttached: () -> Bool) -> Bool {
      self.timer.withLock { current in
        guard isAttached() else { return false }
        current = timer
        return true
      }
    }

    func end() {
      timer.withLock { $0.take() }?.cancel()
      removal?.take()?.call()
    }
  }

  /// Is told nothing.
  private struct Nobody: OperationObserver {}
}
