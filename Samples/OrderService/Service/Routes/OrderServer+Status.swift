import Hummingbird
import OrderWorkflow

/// What machines look at.
extension OrderServer {
  func addStatus(to router: Router<OrderContext>) {
    router.get("items") { request, context in
      try context.responseEncoder.encode(
        try await self.desk.items(),
        from: request,
        context: context
      )
    }
    router.get("health") { _, _ in text("ok\n") }
    router.get("ready") { _, _ in await self.readiness() }
    router.get("metrics") { _, _ in
      text(self.registry.text, PrometheusText.contentType)
    }
  }

  /// Whether orders are taken: a balancer of loads sends them elsewhere otherwise.
  private func readiness() async -> Response {
    if desk.isDraining { return text("closing\n", status: .serviceUnavailable) }
    if let reason = desk.storeTrouble {
      return text("the store fails: \(reason)\n", status: .serviceUnavailable)
    }
    do {
      _ = try await desk.items()
    } catch {
      return text("the store doesn't answer: \(error)\n", status: .serviceUnavailable)
    }
    return text((["ready"] + unreadable).map { $0 + "\n" }.joined())
  }

  /// A line for each order that is left alone, because this version of the program can't read it.
  var unreadable: [String] {
    desk.unreadableOrders.map { "order \($0) is left alone: \($1)" }.sorted()
  }
}
