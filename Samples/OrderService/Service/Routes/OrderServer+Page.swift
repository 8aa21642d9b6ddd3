import HTTPTypes
import Hummingbird
import NIOCore
import OrderWorkflow

/// The operators' page.
extension OrderServer {
  func addPage(to router: Router<OrderContext>) {
    router.get("/") { _, _ in
      let state = try await self.feed.current()
      let items = try await self.desk.items()
      let html = try self.page.html(state, items: items, hasProvider: self.provider != nil)
      return text(html, "text/html; charset=utf-8", headers: OperatorsPage.headers)
    }
    router.get("page.css") { _, _ in
      text(self.page.style, "text/css; charset=utf-8", headers: [.cacheControl: "no-cache"])
    }
    router.get("page.js") { _, _ in
      text(self.page.script, "text/javascript; charset=utf-8", headers: [.cacheControl: "no-cache"])
    }
    router.get("openapi.json") { _, _ in text(self.page.description, "application/json") }
    router.get("live") { request, _ in
      let updates = self.feed.updates.map { text in
        ServerSentEvent(event: "state", data: text).buffer
      }
      return eventStream(request, updates)
    }
    router.get("provider/mood") { _, _ in try await self.mood(nil) }
    router.post("provider/mood") { request, _ in
      try await self.mood(try await self.bytes(of: request.body))
    }
  }

  private func mood(_ mood: ByteBuffer?) async throws -> Response {
    guard let provider else {
      throw RequestError(.notFound, "no_control", "The payment provider isn't a fake.")
    }
    do {
      let (status, type, body) = try await provider.mood(mood)
      return Response(
        status: HTTPResponse.Status(code: status),
        headers: [.contentType: type],
        body: ResponseBody(byteBuffer: body)
      )
    } catch {
      throw RequestError(.badGateway, "no_answer", "The payment provider gave no answer.")
    }
  }
}
