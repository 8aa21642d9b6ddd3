import HTTPTypes
import Hummingbird
import NIOCore

/// Has the connection closed after the answer to a request whose body isn't read to its end.
///
/// Before the next request of a connection, and before its end, the server library waits for the rest
/// of the body, and has no limit for that: a client that sends a byte now and then would keep the
/// connection for ever.
struct UnreadBodies: RouterMiddleware {
  /// How long the client has for its answer.
  let limit: Duration

  func handle(
    _ request: Request,
    context: OrderContext,
    next: @concurrent (Request, OrderContext) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do {
      response = try await next(request, context)
    } catch let error as RequestError {
      response = try error.response(from: request, context: context)
    }
    let isUnread = request.method != .post || Self.unread.contains(response.status.code)
    let isStream = response.headers[.contentType] == "text/event-stream"
    guard isUnread, !isStream, Self.hasBody(request) else { return response }
    response.closesConnection(context.channel, after: limit)
    return response
  }

  /// The answers that are given before all of a body has come.
  private static var unread: Set<Int> { [400, 404, 405, 408, 413, 415] }

  private static func hasBody(_ request: Request) -> Bool {
    if request.headers[.transferEncoding] != nil { return true }
    return request.headers[.contentLength].map { $0 != "0" } ?? false
  }
}

extension Response {
  /// Has the connection closed after this answer: the server library only does what requests ask for.
  ///
  /// - Parameters:
  ///   - channel: The connection.
  ///   - limit: How long the client has to read the answer and to close its side.
  mutating func closesConnection(_ channel: any Channel, after limit: Duration) {
    headers[.connection] = "close"
    let time = TimeAmount.nanoseconds(Int64(limit / .nanoseconds(1)))
    let answer = body
    body = ResponseBody(contentLength: answer.contentLength) { writer in
      try await answer.write(writer)
      // The client reads the answer and its end; what it sends until it closes its side is dropped.
      channel.close(mode: .output, promise: nil)
      channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
  }
}
