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

  func close() async throws { try await channel.close() }
}
