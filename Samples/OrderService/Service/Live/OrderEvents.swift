import AdvancedOperations
import OrderWorkflow

/// What happens to an order, from the events of its operations.
struct OrderEvents: Sendable {
  /// One thing that happened.
  struct Event: Encodable, Sendable {
    /// The step, or `order` for the order as a whole.
    var step: String
    /// See `OperationEvent.Kind`.
    var event: String
    /// The number of the attempt that follows a failed one.
    var attempt: Int?
    /// After how many seconds it does.
    var delay: Double?
    /// How the step ended, or why it is tried again.
    var text: String?
  }

  private let sequences: [(name: String, events: OperationEvents)]
  private let retries: AsyncStream<OrderRetry>?

  /// Begins to listen: what happens from now on isn't missed.
  ///
  /// - Parameters:
  ///   - order: Its operation.
  ///   - retries: The repetitions of its requests, which are made by operations in its steps.
  init(of order: GroupOperation, retries: AsyncStream<OrderRetry>? = nil) {
    self.retries = retries
    let steps = order.children.compactMap { $0 as? AdvancedOperation }
    sequences = [("order", order.events)] + steps.map { ($0.name ?? "", $0.events) }
  }

  /// The events of all operations in the order of their coming; ends when all have ended.
  var stream: AsyncStream<Event> {
    AsyncStream { continuation in
      let task = Task { [sequences, retries] in
        await withDiscardingTaskGroup { group in
          if let retries {
            group.addTask {
              for await retry in retries { continuation.yield(Event(retry)) }
            }
          }
          for (name, events) in sequences {
            group.addTask {
              for await event in events { continuation.yield(Event(name, event)) }
            }
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

extension OrderEvents.Event {
  init(_ retry: OrderRetry) {
    self.init(step: retry.step, event: "retrying")
    (attempt, delay, text) = (retry.attempt, retry.delay / .seconds(1), retry.reason)
  }

  init(_ step: String, _ event: OperationEvent) {
    self.init(step: step, event: event.kind.rawValue)
    switch event {
    case .retrying(let retry):
      (attempt, delay) = (retry.nextAttempt, retry.delay / .seconds(1))
      text = "\(retry.error)"
    case .cancelled(let errors): text = errors.first.map { "\($0)" }
    case .finished(let outcome): text = "\(outcome)"
    case .produced(let operation): text = operation.name
    case .dropped(let count): text = "\(count) events are missing"
    case .enqueued, .started, .progress, .willFinish: break
    @unknown default: break
    }
  }
}
