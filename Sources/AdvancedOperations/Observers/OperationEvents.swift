import CoreOperations

/// What happens to an operation, as an asynchronous sequence that ends with the operation.
///
/// ```swift
/// for await event in download.events {
///   if case .progress(let update) = event { bar.show(update.fractionCompleted) }
/// }
/// ```
///
/// Events are kept from the moment at which ``AdvancedOperation/events`` was read, as for an observer
/// that was attached then: all of them when the operation is in no queue yet, only
/// ``OperationEvent/finished(_:)`` when it has finished. Each loop over the same value sees all that
/// were kept, also at the same time as another one.
///
/// The sequence never throws. A loop ends after ``OperationEvent/finished(_:)``, which comes when
/// `isFinished` is true and all observers were told, when its task is cancelled and there is nothing to
/// take at once, and when the operation is released without having run. It never holds up the operation: of a loop that is slow the last ``capacity`` events are kept,
/// and where others are missing it gets an ``OperationEvent/dropped(count:)``. The sequence doesn't
/// keep the operation alive.
public struct OperationEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = OperationEvent
  /// It never throws.
  public typealias Failure = Never

  /// How many events are kept for a loop that is slow.
  public static let capacity = 256

  private let subscription: EventSubscription

  init(of operation: AdvancedOperation) { subscription = EventSubscription(to: operation) }

  /// Begins with the first event that was kept.
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

/// The attachment of a sequence, which ends with the last copy of it.
private final class EventSubscription: Sendable {
  let log = SharedEventLog()
  private let observation: OperationObservation

  init(to operation: AdvancedOperation) {
    observation = operation.addObserver(EventTap(log: log))
  }

  deinit { observation.remove() }
}

/// Puts what it is told into the log, and ends that when nobody will tell it more.
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
    didUpdateProgress progress: OperationProgressUpdate
  ) { log.append(.progress(progress)) }
  func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    log.append(.cancelled(errors))
  }
  func operationWillFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    log.append(.willFinish(errors))
  }
  func operationDidFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    let outcome = operation.outcome
    // Others are told after this one; who reads that it finished is to find it finished. The closure
    // keeps this alive until then, because its end is that of the log.
    operation.afterFinished { [self] in
      if let outcome { log.append(.finished(outcome)) }
      log.close()
    }
  }
}

/// The log behind its lock, and those who wait for more.
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
    // It may be the last to hold an operation that was produced.
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
  /// Each access begins a new one. Read it before the operation is added to a queue to miss nothing.
  public final var events: OperationEvents { OperationEvents(of: self) }
}
