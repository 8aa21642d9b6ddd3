package import NIOCore
import NIOHTTP1

/// Adds what the server library leaves out of HTTP/1.1 to a connection.
///
/// It is a handler without events of its own: when it is added, it puts ``RequestVersions`` behind the
/// decoder of requests, where their version is still known.
package final class ConnectionRules: ChannelInboundHandler, RemovableChannelHandler {
  package typealias InboundIn = NIOAny

  /// Creates the handler of one connection.
  package init() {}

  package func handlerAdded(context: ChannelHandlerContext) {
    let pipeline = context.pipeline.syncOperations
    do {
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      try pipeline.addHandler(RequestVersions(), position: .after(decoder))
    } catch {
      context.fireErrorCaught(error)
    }
  }
}

/// Closes the connection after a request of HTTP/1.0, or one that asks for it, and answers
/// `Expect: 100-continue`.
final class RequestVersions: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// A request that isn't answered yet.
  private struct Waiting {
    var isOld: Bool
    var isLast: Bool
    var wantsContinue: Bool
  }

  private var requests: [Waiting] = []

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
    let isOld = head.version.major < 1 || head.version == .http1_0 || head.version == .http0_9
    let options = head.headers[canonicalForm: "connection"].map { $0.lowercased() }
    let isLast = isOld || options.contains("close")
    // It needs no host, and the server has no other name to compare.
    if isOld, !head.headers.contains(name: "Host") {
      head.headers.add(name: "Host", value: "localhost")
    }
    // The server library compares the header with this word.
    if isLast { head.headers.replaceOrAdd(name: "Connection", value: "close") }
    let expected = head.headers.first(name: "Expect")?.lowercased()
    requests.append(
      Waiting(isOld: isOld, isLast: isLast, wantsContinue: !isOld && expected == "100-continue")
    )
    if requests.count == 1 { sendContinue(context) }
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head(var head):
      if let request = requests.first {
        // Without this, an answer of unknown length would come in chunks, which HTTP/1.0 doesn't know.
        if request.isOld { head.version = .http1_0 }
        if request.isLast { head.headers.replaceOrAdd(name: "Connection", value: "close") }
      }
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .body: context.write(data, promise: promise)
    case .end:
      context.write(data, promise: promise)
      if !requests.isEmpty { requests.removeFirst() }
      sendContinue(context)
    }
  }

  /// Has the client of the next request send its body.
  private func sendContinue(_ context: ChannelHandlerContext) {
    guard requests.first?.wantsContinue == true else { return }
    requests[0].wantsContinue = false
    let head = HTTPResponseHead(version: .http1_1, status: .continue)
    context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
  }
}
