import NIOCore
import NIOPosix
import Synchronization

/// A connection that sends what a test says, and hangs up.
struct RawConnection {
  private let channel: any Channel
  private let answer = Answer()

  /// What the other end has sent.
  private final class Answer: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    let text = Mutex("")

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let piece = String(buffer: unwrapInboundIn(data))
      text.withLock { $0 += piece }
    }
  }

  init(port: Int) async throws {
    channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelInitializer { [answer] in $0.pipeline.addHandler(answer) }
      .connect(host: "127.0.0.1", port: port).get()
  }

  /// What the other end has sent when it has closed the connection.
  func text() async throws -> String {
    try await untilClosed()
    return answer.text.withLock { $0 }
  }

  func send(_ text: String) async throws {
    try await channel.writeAndFlush(ByteBuffer(string: text))
  }

  /// Sends a request for an order whose outcome is waited for.
  func place(key: String = "a") async throws {
    try await send(
      "POST /orders?wait=60s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Idempotency-Key: \(key)\r\nContent-Length: \(Bench.order.utf8.count)\r\n\r\n"
        + Bench.order
    )
  }

  /// Waits until the other end has closed it.
  func untilClosed() async throws { try await channel.closeFuture.get() }

  func close() async throws { try await channel.close() }
}
