import AdvancedOperations
import AdvancedOperationsVisualization
import HTTPTypes
import Hummingbird
import OrderWorkflow
import ServiceSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where is my order, and why does it wait?
extension OrderServer {
  func addViews(to router: Router<OrderContext>) {
    router.get("orders/:id/explain") { _, context in
      let order = try await self.order(context)
      return text(self.explanation(of: order) + "\n")
    }
    router.get("orders/:id/timeline.svg") { _, context in
      let order = try await self.order(context)
      guard let timeline = self.desk.timeline(of: order.id) else {
        let message = """
          Timelines are kept in memory, for the orders of this run that ended last; this one isn't \
          among them. “explain” says what is known of it.
          """
        throw RequestError(.notFound, "no_timeline", message)
      }
      return text(timeline.svg(), "image/svg+xml")
    }
    router.get("orders/:id/events") { request, context in
      // A browser comes back when a stream ends; this says that there is nothing more.
      if let last = HTTPField.Name("Last-Event-ID"), request.headers[last] == "end" {
        return Response(status: .noContent)
      }
      return eventStream(request, self.messages(of: try await self.order(context)))
    }
    router.get("operations") { request, context in
      try context.responseEncoder.encode(
        ["explanation": self.explanation, "mermaid": self.graph.mermaid()],
        from: request,
        context: context
      )
    }
    router.get("operations.mmd") { _, _ in text(self.graph.mermaid() + "\n") }
    router.get("operations.txt") { _, _ in text(self.explanation + "\n") }
    router.get("operations.svg") { _, _ in text(self.graph.svg(), "image/svg+xml") }
  }

  /// What the queue waits for, and which orders are left alone.
  private var explanation: String {
    let trouble = trouble.map { [$0] } ?? []
    let lines = unsettled + [queueExplanation.text] + trouble + unreadable
    return lines.joined(separator: "\n")
  }

  /// The orders whose money isn't settled, with the provider's last answers.
  private var unsettled: [String] {
    let (orders, limit) = (desk.unsettled, PageState.rowLimit)
    let lines = orders.prefix(limit).map { id, refund in
      "order \(id) is rolling back. " + (refund?.text ?? "The refund is requested.").withoutControls
    }
    return orders.count > limit ? lines + ["… and \(orders.count - limit) more"] : lines
  }

  /// Says that the store fails, if it does: what waits for a journal waits for that.
  private var trouble: String? {
    desk.storeTrouble.map { "the store fails, and is retried: \($0)" }
  }

  /// The operations of the first orders of the queue: a picture of thousands shows nothing.
  private var graph: OperationGraph { OperationGraph(of: desk.queue.operations.prefix(12)) }

  private func explanation(of order: Order) -> String {
    var lines = ["order \(order.id) of \(order.draft.customer) is \(order.state.name)"]
    if let holder = order.holder { lines.append("“\(holder)” works on it") }
    if order.state == .open, let reason = order.cancelReason {
      lines.append("it is to be cancelled: \(reason)")
    }
    if !order.state.isFinal, let trouble { lines.append(trouble) }
    if let operation = desk.operation(of: order.id), !operation.isFinished {
      lines.append(operation.explain().description)
    }
    if case .rollingBack = order.state {
      lines += desk.latestRetries(of: order.id).values.sorted { $0.step < $1.step }.map(\.text)
    }
    if let failure = order.state.failure {
      lines += ["because: \(failure.reason)", failure.tree]
    }
    if case .stuck(_, let problems) = order.state {
      lines += ["A person has to check it:"] + problems.map { "  \($0)" }
    }
    // A customer's name has no say in where lines begin, nor in what a terminal does.
    lines[0] = String(lines[0].map { $0.isNewline ? " " : $0 })
    lines = lines.map(\.withoutControls)
    return lines.filter { !$0.isEmpty }.joined(separator: "\n")
  }

  /// The order as it is, what happens to it, and the order as it was at its end.
  ///
  /// A comment is sent every now and then, so that nothing on the way closes a connection on which
  /// nothing happens. A reader that doesn't read gets what has gathered, and ``SlowReader`` then.
  func messages(of order: Order) -> AsyncThrowingStream<ByteBuffer, any Error> {
    let limit = options.eventLimit
    return AsyncThrowingStream(bufferingPolicy: .bufferingOldest(limit)) { continuation in
      @Sendable func put(_ buffer: ByteBuffer) {
        guard case .dropped = continuation.yield(buffer) else { return }
        continuation.finish(throwing: SlowReader(limit: limit))
      }
      @Sendable func send(
        _ name: String,
        _ value: some Encodable & SendableMetatype,
        id: String? = nil
      ) throws {
        let data = try JSONEncoder.answers.text(value)
        put(ServerSentEvent(event: name, data: data, id: id).buffer)
      }
      // Listens before it looks, so that nothing is missed in between.
      let events = desk.operation(of: order.id).map {
        OrderEvents(of: $0, retries: desk.retries(of: order.id))
      }
      let task = Task { [desk] in
        do {
          if let now = try await desk.order(order.id) { try send("order", OrderAnswer(now)) }
          if let events {
            for await event in events.stream { try send("step", event) }
          }
          if let end = try await desk.order(order.id), end.state.isFinal {
            try send("outcome", OrderAnswer(end), id: "end")
          }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      let heart = Task { [options] in
        while true {
          try await Task.sleep(for: options.heartbeat)
          put(ServerSentEvent.heartbeat)
        }
      }
      continuation.onTermination = { _ in
        task.cancel()
        heart.cancel()
      }
    }
  }
}
