import Hummingbird
import OrderWorkflow
import ServiceSupport

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
    router.get("ready") { _, _ in try await self.readiness() }
    router.get("metrics") { _, _ in
      self.gauges.measure(self.desk)
      return text(self.registry.text, PrometheusText.contentType)
    }
  }

  /// Whether orders are taken: a balancer of loads sends them elsewhere otherwise.
  private func readiness() async throws -> Readiness {
    if desk.isDraining {
      throw RequestError(.serviceUnavailable, "draining", "The service is closing.")
    }
    if let reason = desk.storeTrouble {
      throw RequestError.storeFails(
        "No order is taken, as the store fails: \(reason.withoutFullStop)."
      )
    }
    do {
      _ = try await desk.items()
    } catch {
      throw RequestError.storeFails(
        "No order is taken, as the store doesn't answer: \("\(error)".withoutFullStop)."
      )
    }
    return Readiness(leftAlone: unreadable)
  }

  /// A line for each order that is left alone, because this version of the program can't read it.
  var unreadable: [String] {
    desk.unreadableOrders.map { "order \($0) is left alone: \($1)" }.sorted()
  }
}

/// A service that takes orders: `{"leftAlone": [], "ready": true}`.
private struct Readiness: ResponseEncodable {
  /// A sentence for each order that this version of the program can't read.
  var leftAlone: [String]
  var ready = true
}
