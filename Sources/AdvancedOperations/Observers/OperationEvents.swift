import CoreOperations

/// What happens to an operation, as an asynchronous sequence that ends with the operation.
///
/// ```swift
/// for await event in download.events {
///   if case .progress(let update) = event { bar.show(update.fractionCompleted) }
/// }
/// ```
///
/// - **Which events**: those that happen after ``AdvancedOperation/events`` was read. Read it
///   before the operation is added to a queue to get all of them. When the operation has already
///   finished, the only event is ``OperationEvent/finished(_:)``.
/// - **Several loops**: each loop over the same value gets every event, also while another loop
///   runs.
/// - **The end**: a loop ends after ``OperationEvent/finished(_:)``, which is delivered when
///   `isFinished` is true and all observers have been notified. A loop also ends when its task is
///   cancelled and no event is waiting, and when the operation is released without having run. The
///   sequence never throws.
/// - **Slow loops**: the operation never waits for a loop. The last ``capacity`` events are kept;
///   in place of older ones, the loop gets one ``OperationEvent/dropped(count:)``.
/// - **Memory**: the sequence doesn't keep the operation alive.
public struct OperationEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = OperationEvent
  /// It never throws.
  public typealias Failure = Never

  /// How many events are kept for a loop that is slow.
  public static let capacity = 256

  private let subscription: EventSubscription

  init(of operation: AdvancedOperation) { subscription = EventSubscription(to: operation) }

  /// Returns an iterator that begins with the first event that was kept.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

  /// One loop over the events.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: EventSubscription
    private var position = 0

    fileprivate init(subscription: EventSubscription) { self.subscription = subscription }

    /// The next event, waited for without blocking a thread; nil at the end.
    public mutating func next() async -> OperationEvent? { await next(isolation: #isolation) }

    /// The next event, waited for without blocking a thread; nil at the end.
    ///
    /// - Parameter actor: Where the loop runs.
    /// - Returns: The event.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> OperationEvent? {
      while true {
        switch subscription.log.read(at: position) {
        case .event(let event):
          position += 1
          return event
        case .missing(let count):
          position += count
          return .dropped(count: count)
        case .end: return nil
        case .nothingYet:
          do { try await subscription.log.more(than: position) } catch { return nil }
        }
      }
    }
  }
}

/// The attachment of a sequence to its operation; it ends when the last copy of the sequence is
/// released.
private final class EventSubscription: Sendable {
  let log = SharedEventLog()
  private let observation: OperationObservation

  init(to operation: AdvancedOperation) {
    observation = operation.addObserver(EventTap(log: log))
  }

  deinit { observation.remove() }
}

/// The observer that appends each event to the log, and closes the log after the last one.
private final class EventTap: OperationObserver {
  private let log: SharedEventLog

  init(log: SharedEventLog) { self.log = log }

  deinit { log.close() }

  func operationDidEnqueue(_ operation: AdvancedOperation) { log.append(.enqueued) }
  func operationDidStart(_ operation: AdvancedOperation) { log.append(.started) }
  func operation(
    _ operation: AdvancedOperation,
    didProduce newOperation: AdvancedOperation
  ) { log.append(.produced(newOperation)) }
  func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgress
  ) { log.append(.progress(progress)) }
  func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) { log.append(.retrying(retry)) }
  func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    log.append(.cancelled(errors))
  }
  func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    log.append(.willFinish(outcome))
  }
  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    // Other observers are notified after this one, and a reader of the event has to find the
    // operation finished. The closure keeps the tap alive until then, because its deinitialiser
    // closes the log.
    operation.whenFinished { [self] _ in
      log.append(.finished(outcome))
      log.close()
    }
  }
}

/// The log behind its lock, and the loops that wait for the next event.
private final class SharedEventLog: Sendable {
  private struct State {
    var log = EventLog<OperationEvent>(capacity: OperationEvents.capacity)
    var waits: [AsyncWait] = []
  }

  private let state = Locked(State())

  func append(_ event: OperationEvent) {
    change { $0.append(event) }
  }

  func close() {
    change { log in
      log.close()
      return nil
    }
  }

  private func change(_ body: (inout EventLog<OperationEvent>) -> OperationEvent?) {
    let (waits, dropped) = state.withLock { state in
      let dropped = body(&state.log)
      defer { state.waits = [] }
      return (state.waits, dropped)
    }
    // The event may hold the last reference to an operation that was produced.
    withExtendedLifetime(dropped) {}
    for wait in waits { wait.finish() }
  }

  func read(at position: Int) -> EventLog<OperationEvent>.Reading {
    state.withLock { $0.log.read(at: position) }
  }

  /// Suspends the task while there is nothing to read at a position.
  func more(than position: Int) async throws {
    try await AsyncWait().run { wait in
      self.state.withLock { state in
        guard case .nothingYet = state.log.read(at: position) else { return false }
        state.waits.append(wait)
        return true
      }
    } unregister: { wait in
      self.state.withLock { state in state.waits.removeAll { $0 === wait } }
    }
  }
}

extension AdvancedOperation {
  /// What happens to the operation from now on, as an asynchronous sequence.
  ///
  /// Each access begins a new one. Read it before the operation is added to a queue to miss
  /// nothing.
  public final var events: OperationEvents { OperationEvents(of: self) }
}

/// The last events of many, each with its number: a plain value.
package struct EventLog<Event> {
  /// What there is at a position.
  package enum Reading {
    case event(Event)
    /// So many are not kept any more.
    case missing(Int)
    case nothingYet
    /// There will be nothing more.
    case end
  }

  private let capacity: Int
  private var events: [Event] = []
  /// How many were appended in all.
  private var count = 0
  private var isClosed = false

  package init(capacity: Int) { self.capacity = capacity }

  /// Appends an event, unless the log was closed.
  ///
  /// - Returns: What is not kept any more, for the caller to release.
  /// - Complexity: O(1), amortised.
  package mutating func append(_ event: Event) -> Event? {
    if isClosed { return event }
    defer { count += 1 }
    if events.count < capacity {
      events.append(event)
      return nil
    }
    defer { events[count % capacity] = event }
    return events[count % capacity]
  }

  /// Nothing more will come.
  package mutating func close() { isClosed = true }

  /// What there is at a position; 0 is the first event ever.
  package func read(at position: Int) -> Reading {
    let first = count - events.count
    if position < first { return .missing(first - position) }
    if position < count { return .event(events[position % capacity]) }
    return isClosed ? .end : .nothingYet
  }
}
