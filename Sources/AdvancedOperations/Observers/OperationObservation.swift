import CoreOperations

/// The attachment of an observer to an operation.
///
/// The observer stays attached if you don't keep the observation.
///
/// ```swift
/// let observation = operation.onFinish { operation, _ in refresh(operation) }
/// observation.remove()
/// ```
public final class OperationObservation: Sendable {
  // The operation refers to the observation, and the observation doesn't refer back. A weak reference to the
  // operation would move its reference counts to a side table, and each change of the counts would cost three
  // times as much (callgrind).

  /// The place of the observer in the order of attaching.
  let id: UInt32
  private let attachment: AtomicState<Attachment>
  // Sendable: the thread that ends the attachment changes the slot once, and the delivering thread reads the
  // slot.
  @exclusivity(unchecked) nonisolated(unsafe) private var slot: Slot
  /// The timer or the closure for removal, which only few observations have.
  private let extra: ObservationExtra?

  /// Attaches an observer to an operation.
  ///
  /// - Parameters:
  ///   - id: The place of the observer in the order of attaching.
  ///   - observer: The observer.
  ///   - mayHaveTimer: True if ``took(_:)`` may be called.
  init(id: UInt32, of observer: any OperationObserver, mayHaveTimer: Bool = false) {
    self.id = id
    attachment = AtomicState(.attached)
    unsafe slot = Slot(observer: observer)
    extra = mayHaveTimer ? ObservationExtra() : nil
  }

  /// Creates the observation of an observer that a closure can remove.
  init(removal: @escaping @Sendable () -> Void) {
    id = 0
    attachment = AtomicState(.attached)
    unsafe slot = Slot(observer: Nobody())
    extra = ObservationExtra(removal: removal)
  }

  /// Creates the observation of an observer that was added too late to be attached.
  init() {
    id = 0
    attachment = AtomicState(.removed)
    unsafe slot = Slot(observer: Nobody())
    extra = nil
  }

  /// Removes the observer; a running callback continues.
  ///
  /// Calling the method again has no effect.
  public func remove() {
    if attachment.step({ $0.removed() }) { letGoOfObserver() }
    extra?.end()
  }

  /// Ends the notifications, because the operation has finished.
  ///
  /// A call of ``remove()`` follows, which releases the observer.
  func end() {
    attachment.step { $0.ended() }
    extra?.end()
  }

  /// Notifies the observer of an event, unless it was removed.
  ///
  /// The method must not be called from two threads at the same time, nor from inside the notification.
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
    // The observer is released after the exchange, because its deinitializer is code of the program.
    _ = unsafe exchange(&slot, with: Slot(observer: Nobody()))
  }

  /// A Boolean value that indicates whether the observer is still attached.
  var isAttached: Bool { attachment.current.isAttached }

  /// Stores a timer, which is cancelled with the observation, and returns true if the observer is still
  /// attached.
  func took(_ timer: OperationTimer) -> Bool {
    // A thread that removes the observer checks for a timer afterwards, so no timer is missed.
    extra?.took(timer, if: { isAttached }) ?? false
  }

  /// The observer, which is called without being copied.
  ///
  /// A copy of the observer for each call was a tenth of the cost of an operation with an observer
  /// (callgrind). An observer inside a noncopyable struct isn't copied.
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

  /// The state of the attachment, including a running call of the observer.
  private enum Attachment: UInt32 {
    case attached
    case calling
    /// The operation has finished.
    case ended
    case removedDuringCall
    case removed

    var isAttached: Bool { self == .attached || self == .calling }

    /// Returns true if the observer is to be called.
    mutating func callBegan() -> Bool {
      guard self == .attached else { return false }
      self = .calling
      return true
    }

    /// Returns true if the observer is to be released.
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

    /// Returns true if the observer is to be released.
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
    /// The timer of a time limit.
    private let timer = Locked<OperationTimer?>(nil)
    /// A closure that removes the observer from a queue.
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

  /// An observer that ignores all events.
  private struct Nobody: OperationObserver {}
}
