import HTTPTypes
package import Hummingbird
package import NIOCore
import ServiceSupport

/// A context that knows its connection.
package protocol ConnectedContext: RequestContext {
  /// The connection.
  var channel: any Channel { get }
}

/// Answers requests that keep the rules of a server, and gives all answers what they have in common.
///
/// It is around the router, so that an answer to a `HEAD` is that to a `GET`: with its length and its tag,
/// and with everything done that is done when a body has been written.
package struct RuledResponder<Base: HTTPResponder>: HTTPResponder
where Base.Context: ConnectedContext {
  private let base: Base
  private let rules: ServerRules
  /// How long a client has for an answer to a request whose body isn't read.
  private let limit: Duration

  /// Creates a responder.
  package init(_ base: Base, rules: ServerRules, limit: Duration = .seconds(2)) {
    self.base = base
    self.rules = rules
    self.limit = limit
  }

  package func respond(to request: Request, context: Base.Context) async throws -> Response {
    var response: Response
    if let refusal = rules.refusal(of: request.head) {
      response = try Self.response(refusal, request, context)
    } else {
      var head = request.head
      if head.method == .head { head.method = .get }
      response = try await base.respond(
        to: Request(head: head, body: request.body),
        context: context
      )
    }
    response.headers[.xContentTypeOptions] = "nosniff"
    if request.method == .get || request.method == .head {
      try await response.addTag(request)
    }
    if request.method == .head { await response.dropBody() }
    // What is left of a body that was not read to its end would be taken for the next request.
    if Self.isUnread(request, response) { response.closesConnection(context.channel, after: limit) }
    return response
  }

  private static func response(
    _ refusal: ServerRules.Refusal,
    _ request: Request,
    _ context: Base.Context
  ) throws -> Response {
    let problem = Problem<String>(
      status: refusal.status.code,
      title: refusal.status.reasonPhrase,
      code: refusal.code,
      detail: refusal.sentence
    )
    let headers: HTTPFields = refusal.status == .unauthorized ? [.wwwAuthenticate: "Bearer"] : [:]
    return try problem.response(to: request, in: context, headers: headers)
  }

  /// Whether an answer is given before all of a body has come.
  ///
  /// Before the next request of a connection, and before its end, the server library waits for the rest
  /// of the body, and has no limit for that: a client that sends a byte now and then would keep the
  /// connection forever.
  private static func isUnread(_ request: Request, _ response: Response) -> Bool {
    let early = [400, 401, 403, 404, 405, 408, 413, 415, 417, 421]
    let isEarly = request.method != .post || early.contains(response.status.code)
    let isStream = response.headers[.contentType] == "text/event-stream"
    return isEarly && !isStream && request.head.hasBody
      && response.headers[.connection] != "close"
  }
}

extension Response {
  /// Adds a tag of the content to an answer that has all of it, and leaves the content out if the client
  /// has it already.
  fileprivate mutating func addTag(_ request: Request) async throws {
    guard status == .ok, body.contentLength != nil, headers[.cacheControl] != "no-store",
      headers[.connection] != "close"
    else { return }
    // All that is to be done at the end of the body is done here, and once.
    let collector = Collector()
    try await body.write(CollectingWriter(collector: collector))
    let content = collector.content
    let tag =
      "\"\(String(content.readableBytesView.fingerprint, radix: 36))-\(content.readableBytes)\""
    let known = (request.headers[.ifNoneMatch] ?? "").split(separator: ",").map { part -> String in
      let tag = String(part.drop { $0 == " " }.prefix { $0 != " " })
      return tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
    }
    if known.contains(tag) || known == ["*"] {
      self = Response(status: .notModified, headers: headers)
      headers[.contentType] = nil
      headers[.contentLength] = nil
    } else {
      body = ResponseBody(byteBuffer: content)
    }
    headers[.eTag] = tag
  }

  /// Drops the body of an answer to a `HEAD`, but not its length.
  fileprivate mutating func dropBody() async {
    let length = headers[.contentLength]
    // What counts requests and measures them waits for the end of the body.
    try? await body.write(RefusingWriter())
    body = ResponseBody()
    headers[.contentLength] = length
  }

  /// Has the connection closed after this answer: the server library only does what requests ask for.
  ///
  /// - Parameters:
  ///   - channel: The connection.
  ///   - limit: How long the client has to read the answer and to close its side.
  package mutating func closesConnection(_ channel: any Channel, after limit: Duration) {
    headers[.connection] = "close"
    let time = TimeAmount.nanoseconds(Int64(limit / .nanoseconds(1)))
    let (answer, length) = (body, headers[.contentLength])
    body = ResponseBody(contentLength: answer.contentLength) { writer in
      try await answer.write(writer)
      // The client reads the answer and its end; what it sends until it closes its side is dropped.
      channel.close(mode: .output, promise: nil)
      channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
    headers[.contentLength] = length
  }
}

/// Keeps what is written to it.
private final class Collector: @unchecked Sendable {
  // One task writes a body, and reads it when all was written.
  var content = ByteBuffer()
}

private struct CollectingWriter: ResponseBodyWriter {
  let collector: Collector

  mutating func write(_ buffer: ByteBuffer) { collector.content.writeImmutableBuffer(buffer) }

  consuming func finish(_ trailingHeaders: HTTPFields?) {}
}

/// Ends a body that isn't wanted at its first bytes.
private struct RefusingWriter: ResponseBodyWriter {
  struct Unwanted: Error {}

  mutating func write(_ buffer: ByteBuffer) throws { throw Unwanted() }

  consuming func finish(_ trailingHeaders: HTTPFields?) {}
}

extension Sequence<UInt8> {
  /// A number that is the same for the same bytes: FNV-1a with 64 bits.
  fileprivate var fingerprint: UInt64 {
    reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}
