import CoreOperations

/// The events of an operation, as an asynchronous sequence that ends with the operation.
///
/// ```swift
/// for await event in download.events {
///   if case .progress(let update) = event { bar.show(update.fractionCompleted) }
/// }
/// ```
///
/// - **Which events**: The sequence contains the events after the property ``AdvancedOperation/events`` was
///   read. To get all events, read the property before the operation is added to a queue. If the operation
///   has already finished, the only event is ``OperationEvent/finished(_:)``.
/// - **Several loops**: Each loop over the same value receives every event, even while another loop runs.
/// - **The end**: A loop ends after ``OperationEvent/finished(_:)``, which is delivered when `isFinished` is
///   true and all observers have been notified. A loop also ends when its task is cancelled and no event is
///   waiting, and when the operation is released without having run. The sequence never throws.
/// - **Slow loops**: The operation never waits for a loop. The sequence keeps the last ``capacity`` events.
///   In place of older events, the loop receives one ``OperationEvent/dropped(count:)``.
/// - **Memory**: The sequence doesn't keep the operation alive.
public struct OperationEvents: AsyncSequence, Sendable {
  /// The type of an event.
  public typealias Element = OperationEvent
  /// The type `Never`, because the sequence doesn't throw.
  public typealias Failure = Never

  /// The number of events that are kept for a slow loop.
  public static let capacity = 256

  private let subscription: EventSubscription

  init(of operation: AdvancedOperation) { subscription = EventSubscription(to: operation) }

  /// Returns an iterator that begins with the first event that was kept.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

  /// An iterator, which is one loop over the events.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: EventSubscription
    private var position = 0

    fileprivate init(subscription: EventSubscription) { self.subscription = subscription }

    /// Returns the next event without blocking a thread while it waits; nil at the end.
    public mutating func next() async -> OperationEvent? { await next(isolation: #isolation) }

    /// Returns the next event without blocking a thread while it waits; nil at the end.
    ///
    /// - Parameter actor: The actor on which the loop runs.
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
    // Other observers are notified after this observer, and a reader of the event has to find the operation
    // finished. The closure keeps the tap alive until then, because its deinitialiser closes the log.
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
  /// The events of the operation from now on, as an asynchronous sequence.
  ///
  /// Each access to the property begins a new sequence. To receive all events, read the property before the
  /// operation is added to a queue.
  public final var events: OperationEvents { OperationEvents(of: self) }
}

/// A log that keeps the last events and their positions, as a plain value.
package struct EventLog<Event> {
  /// The content of the log at a position.
  package enum Reading {
    case event(Event)
    /// The given number of events from this position on isn't kept any more.
    case missing(Int)
    case nothingYet
    /// The log is closed, and no event follows.
    case end
  }

  private let capacity: Int
  private var events: [Event] = []
  /// The total number of appended events.
  private var count = 0
  private var isClosed = false

  package init(capacity: Int) { self.capacity = capacity }

  /// Appends an event, unless the log was closed.
  ///
  /// - Returns: The event that isn't kept any more, for the caller to release.
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

  /// Closes the log, so that no more events are appended.
  package mutating func close() { isClosed = true }

  /// Returns the content of the log at a position; position 0 is the first event of the operation.
  package func read(at position: Int) -> Reading {
    let first = count - events.count
    if position < first { return .missing(first - position) }
    if position < count { return .event(events[position % capacity]) }
    return isClosed ? .end : .nothingYet
  }
}
