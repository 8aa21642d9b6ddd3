public import AdvancedOperations
public import AdvancedOperationsVisualization
import Logging
import Synchronization
public import Tracing

/// Traces operations: a span for each from its coming to its end, and in it one for each attempt.
///
/// ```swift
/// let tracing = OperationTracing(tracer: tracer) { desk.timeline(of: OrderID(rawValue: $0)) }
/// desk.queue.addObserver(tracing)
/// desk.queue.addInterceptor(tracing)
/// ```
///
/// - The span of an order has that of the request as its parent, if it was added in its task.
/// - The span of a step has that of its order as its parent, and links to those of the steps that it
///   depends on. Its attributes say how it ended and how long it waited for what.
/// - The span of an attempt is the context of the body: what the body calls traces below it. What
///   the body logs with `Logger.current` has `order`, `step` and `attempt`.
///
/// Spans of the steps of an order are remembered until the order has ended, for the links.
public final class OperationTracing: OperationObserver, OperationInterceptor {
  private struct Entry {
    let span: any Span
    /// The order, or the operation itself outside of any.
    let root: ObjectIdentifier
    let order: String?
    /// When an attempt failed that is followed by another one, and how long all such waits took.
    var failed: Duration?
    var waitedForRetry = Duration.zero
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    var members: [ObjectIdentifier: [ObjectIdentifier]] = [:]
  }

  private let tracer: any Tracer
  private let timeline: @Sendable (_ order: String) -> OperationTimeline?
  private let state = Mutex(State())

  /// Creates an observer and interceptor, which is to be added to a queue as both.
  ///
  /// - Parameters:
  ///   - tracer: Makes the spans.
  ///   - timeline: Knows when the operations of an order waited.
  public init(
    tracer: any Tracer,
    timeline: @escaping @Sendable (_ order: String) -> OperationTimeline?
  ) {
    self.tracer = tracer
    self.timeline = timeline
  }

  /// Begins the span of the operation.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {
    let id = ObjectIdentifier(operation)
    let parent = operation.group.flatMap { self.entry(of: $0) }
    // Outside of a group, the task that added it is what it belongs to: a request, or nothing.
    let context = parent?.span.context ?? ServiceContext.current ?? .topLevel
    let order = parent?.order ?? StepName.order(of: operation)
    let span = tracer.startSpan(StepName(operation).step, context: context)
    span.attributes["operation.name"] = operation.name ?? ""
    if let order { span.attributes["order.id"] = order }
    let entry = Entry(span: span, root: parent?.root ?? id, order: order)
    state.withLock { state in
      state.entries[id] = entry
      state.members[entry.root, default: []].append(id)
    }
  }

  /// Links the span to those of what the operation has waited for.
  public func operationDidStart(_ operation: AdvancedOperation) {
    guard let span = entry(of: operation)?.span else { return }
    for dependency in operation.dependencies {
      guard let dependency = dependency as? AdvancedOperation, let other = entry(of: dependency)
      else {
        continue
      }
      let name = dependency.name ?? ""
      span.addLink(SpanLink(context: other.span.context, attributes: ["dependency": "\(name)"]))
    }
    span.addEvent(SpanEvent(name: "started"))
  }

  /// Notes that another attempt follows.
  public func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) {
    let now = operation.environment.clock.now
    let span = state.withLock { state in
      state.entries[ObjectIdentifier(operation)]?.failed = now
      return state.entries[ObjectIdentifier(operation)]?.span
    }
    span?.addEvent(
      SpanEvent(
        name: "retrying",
        attributes: [
          "attempt": .int64(Int64(retry.nextAttempt)), "delay": .double(retry.delay / .seconds(1)),
          "error": .string("\(retry.error)"),
        ]
      )
    )
  }

  /// Ends the span of the operation.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    let id = ObjectIdentifier(operation)
    guard let entry = entry(of: operation) else { return }
    let end = OutcomeCause(of: operation)
    let span = entry.span
    span.attributes["operation.outcome"] = end.outcome
    if !end.cause.isEmpty { span.attributes["operation.cause"] = end.cause }
    for (cause, duration) in waits(of: operation, in: entry.order) {
      span.attributes["waited.\(cause.rawValue)"] = duration / .seconds(1)
    }
    if entry.waitedForRetry > .zero {
      span.attributes["waited.retry"] = entry.waitedForRetry / .seconds(1)
    }
    if case .failed(let failure) = outcome {
      span.recordError(failure)
      span.setStatus(SpanStatus(code: .error, message: failure.summary(limit: 1)))
    }
    span.end()
    state.withLock { state in
      guard entry.root == id else { return }
      for member in state.members.removeValue(forKey: id) ?? [] { state.entries[member] = nil }
    }
  }

  /// Runs an attempt in its span.
  public func intercept(_ attempt: OperationAttempt) async throws {
    let operation = attempt.operation
    let name = StepName(operation).step
    let entry = attemptBegins(operation)
    let order = entry?.order ?? StepName.order(of: operation)
    let span = tracer.startSpan(
      "\(name), attempt \(attempt.number)",
      context: entry?.span.context ?? ServiceContext.current ?? .topLevel
    )
    span.attributes["attempt"] = Int64(attempt.number)
    defer { span.end() }
    var metadata: Logger.Metadata = [
      "step": .string(operation.name ?? name), "attempt": .stringConvertible(attempt.number),
    ]
    if let order { metadata["order"] = .string(order) }
    var context = span.context
    context.orderID = order
    try await ServiceContext.$current.withValue(context) {
      try await withLogger(mergingMetadata: metadata) { _ in
        do {
          try await attempt.run()
        } catch {
          if !(error is OperationSkipped) { span.recordError(error) }
          throw error
        }
      }
    }
  }

  private func attemptBegins(_ operation: AdvancedOperation) -> Entry? {
    let now = operation.environment.clock.now
    return state.withLock { state in
      let id = ObjectIdentifier(operation)
      if let failed = state.entries[id]?.failed {
        state.entries[id]?.waitedForRetry += now - failed
        state.entries[id]?.failed = nil
      }
      return state.entries[id]
    }
  }

  private func waits(
    of operation: AdvancedOperation,
    in order: String?
  ) -> [(cause: OperationWaits.Cause, duration: Duration)] {
    guard let order, let name = operation.name else { return [] }
    return timeline(order).flatMap { OperationWaits(of: name, in: $0) }?.durations ?? []
  }

  private func entry(of operation: AdvancedOperation) -> Entry? {
    state.withLock { $0.entries[ObjectIdentifier(operation)] }
  }
}
