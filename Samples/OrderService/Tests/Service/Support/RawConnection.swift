import NIOCore
import NIOPosix

/// A connection that sends what a test says, and hangs up.
struct RawConnection {
  private let channel: any Channel

  init(port: Int) async throws {
    channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connect(host: "127.0.0.1", port: port).get()
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
