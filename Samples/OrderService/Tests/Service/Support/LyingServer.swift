import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A server whose answers are bytes that a test chooses, HTTP or not.
final class LyingServer: Sendable {
  /// A request as the test sees it.
  struct Request: Sendable {
    /// The method and the path.
    var line: String
    var head: String
    var body: String
  }

  /// The end of an answer.
  enum End: Sendable {
    /// The connection is closed.
    case closes
    /// The client waits for the rest, which never comes.
    case staysOpen
    /// The same bytes are sent again and again until the client closes the connection.
    case repeats
  }

  typealias Answer = @Sendable (Request) -> (bytes: String, end: End)

  private let channel: any Channel
  private let received: Requests

  private final class Requests: Sendable {
    let all = Mutex<[Request]>([])
  }

  /// The requests that have come.
  var requests: [Request] { received.all.withLock { $0 } }

  /// The address.
  var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)" }

  init(_ answer: @escaping Answer) async throws {
    let received = Requests()
    self.received = received
    channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            Reader { request in
              received.all.withLock { $0.append(request) }
              return answer(request)
            }
          )
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  func close() async throws { try await channel.close() }

  /// An answer in JSON.
  static func json(_ status: Int, _ json: String, _ headers: String = "") -> (String, End) {
    (
      "HTTP/1.1 \(status) X\r\nContent-Type: application/json\r\nContent-Length: \(json.utf8.count)\r\n"
        + "\(headers)\r\n\(json)", .staysOpen
    )
  }

  /// Waits for a request with all of its body, and answers it.
  private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: (Request) -> (bytes: String, end: End)
    private var text = ""

    init(_ answer: @escaping (Request) -> (bytes: String, end: End)) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      text += String(buffer: unwrapInboundIn(data))
      guard let end = text.firstRange(of: "\r\n\r\n") else { return }
      let head = String(text[..<end.lowerBound])
      let body = String(text[end.upperBound...])
      let length = head.lowercased().firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.1) }
      if body.utf8.count < length ?? 0 { return }
      text = ""
      let line = head.split(separator: " ").prefix(2).joined(separator: " ")
      let (bytes, last) = answer(Request(line: line, head: head, body: body))
      send(bytes, last, context)
    }

    private func send(_ bytes: String, _ end: End, _ context: ChannelHandlerContext) {
      let loop = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: bytes))).whenComplete { result in
        let (reader, context) = loop.value
        switch (end, result) {
        case (.closes, _), (.repeats, .failure): context.close(promise: nil)
        case (.staysOpen, _): return
        case (.repeats, .success): reader.send(bytes, end, context)
        }
      }
    }
  }
}
