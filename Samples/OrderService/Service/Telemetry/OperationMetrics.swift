public import AdvancedOperations
public import AdvancedOperationsVisualization
public import Metrics
import Synchronization

/// Counts what happens to operations, with swift-metrics.
///
/// | metric | labels | what it is |
/// |---|---|---|
/// | `orders_operations_waiting` | `step` | how many wait in the queue |
/// | `orders_operations_executing` | `step` | how many execute, the waits between attempts included |
/// | `orders_operations_ended_total` | `step`, `outcome`, `cause` | how they ended, and why |
/// | `orders_operations_retried_total` | `step`, `cause` | attempts that are followed by others |
/// | `orders_operations_wait_seconds` | `step`, `cause` | how long they waited for what |
/// | `orders_operations_execution_seconds` | `step`, `outcome` | how long they executed |
///
/// The step `order` is a whole order.
public final class OperationMetrics: OperationObserver {
  private struct Times {
    var step: String
    var started: Duration?
  }

  private let factory: any MetricsFactory
  private let timeline: @Sendable (_ order: String) -> OperationTimeline?
  private let times = Mutex<[ObjectIdentifier: Times]>([:])
  private let handles = Mutex<[[String]: any Sendable]>([:])

  /// Creates an observer, which is to be added to a queue.
  ///
  /// - Parameters:
  ///   - factory: Keeps the numbers.
  ///   - timeline: Knows when the operations of an order waited.
  public init(
    factory: any MetricsFactory,
    timeline: @escaping @Sendable (_ order: String) -> OperationTimeline?
  ) {
    self.factory = factory
    self.timeline = timeline
  }

  /// Counts the operation as waiting.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {
    let step = StepName(operation).step
    times.withLock { $0[ObjectIdentifier(operation)] = Times(step: step) }
    meter("waiting", step).increment(by: 1)
  }

  /// Counts the operation as executing.
  public func operationDidStart(_ operation: AdvancedOperation) {
    let now = operation.environment.clock.now
    let step = times.withLock { times in
      times[ObjectIdentifier(operation)]?.started = now
      return times[ObjectIdentifier(operation)]?.step
    }
    guard let step else { return }
    meter("waiting", step).decrement(by: 1)
    meter("executing", step).increment(by: 1)
  }

  /// Counts the attempt.
  public func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) {
    let failure = OperationFailure(elements: [.init(origin: .body, error: retry.error)])
    counter(
      "retried",
      ["step", StepName(operation).step, "cause", OutcomeCause.cause(of: failure)]
    )
    .increment(by: 1)
  }

  /// Counts the end, and records how long all took.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    let now = operation.environment.clock.now
    guard let ended = times.withLock({ $0.removeValue(forKey: ObjectIdentifier(operation)) }) else {
      return
    }
    let step = ended.step
    let end = OutcomeCause(of: operation)
    meter(ended.started == nil ? "waiting" : "executing", step).decrement(by: 1)
    counter("ended", ["step", step, "outcome", end.outcome, "cause", end.cause]).increment(by: 1)
    if let started = ended.started {
      record("execution", ["step", step, "outcome", end.outcome], now - started)
    }
    for wait in waits(of: operation)?.durations ?? [] {
      record("wait", ["step", step, "cause", wait.cause.rawValue], wait.duration)
    }
  }

  private func waits(of operation: AdvancedOperation) -> OperationWaits? {
    guard let order = StepName.order(of: operation), let name = operation.name else { return nil }
    return timeline(order).flatMap { OperationWaits(of: name, in: $0) }
  }

  private func record(_ name: String, _ labels: [String], _ duration: Duration) {
    let timer = handle([name] + labels) {
      factory.makeTimer(label: "orders_operations_\(name)", dimensions: Self.dimensions(labels))
    }
    timer.recordNanoseconds(Int64(duration / .nanoseconds(1)))
  }

  private func meter(_ name: String, _ step: String) -> any MeterHandler {
    handle([name, step]) {
      factory.makeMeter(label: "orders_operations_\(name)", dimensions: [("step", step)])
    }
  }

  private func counter(_ name: String, _ labels: [String]) -> any CounterHandler {
    handle([name] + labels) {
      factory.makeCounter(label: "orders_operations_\(name)", dimensions: Self.dimensions(labels))
    }
  }

  private static func dimensions(_ labels: [String]) -> [(String, String)] {
    stride(from: 0, to: labels.count - 1, by: 2).map { (labels[$0], labels[$0 + 1]) }
  }

  /// The handler of a series: made once, because a factory may have to look for it.
  private func handle<Handler: Sendable>(_ key: [String], _ make: () -> Handler) -> Handler {
    if let known = handles.withLock({ $0[key] }) as? Handler { return known }
    let made = make()
    handles.withLock { $0[key] = made }
    return made
  }
}
