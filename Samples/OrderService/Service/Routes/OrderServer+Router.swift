import HTTPTypes
import Hummingbird
import ServiceLifecycle

extension OrderServer {
  func router() -> Router<OrderContext> {
    let router = Router(context: OrderContext.self)
    let methods = MethodTable()
    router.add(middleware: TracingMiddleware())
    router.add(middleware: MetricsMiddleware())
    router.add(middleware: ErrorAnswers(logger: logger, methods: methods))
    addOrders(to: router)
    addViews(to: router)
    addStatus(to: router)
    addPage(to: router)
    methods.set(router.routes)
    return router
  }
}

/// An answer that is text.
func text(
  _ content: String,
  _ type: String = "text/plain; charset=utf-8",
  status: HTTPResponse.Status = .ok,
  headers: HTTPFields = [:]
) -> Response {
  var fields = headers
  fields[.contentType] = type
  return Response(
    status: status,
    headers: fields,
    body: ResponseBody(byteBuffer: ByteBuffer(string: content))
  )
}

/// A stream of server-sent events, which ends when its messages do, the client hangs up, or the
/// server is ended.
func eventStream<Messages: AsyncSequence & Sendable>(
  _ request: Request,
  _ messages: Messages
) -> Response where Messages.Element == ByteBuffer {
  let body = ResponseBody { writer in
    // A client that has hung up isn't an error.
    try? await request.body.consumeWithCancellationOnInboundClose { _ in
      do {
        for try await message in messages.cancelOnGracefulShutdown() {
          try await writer.write(message)
        }
      } catch let error as SlowReader {
        try await writer.write(ServerSentEvent(event: "dropped", data: "\(error)").buffer)
      }
    }
    try await writer.finish(nil)
  }
  return Response(
    status: .ok,
    headers: [
      .contentType: "text/event-stream", .cacheControl: "no-store", .connection: "close",
    ],
    body: body
  )
}
