import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import OrderHTTP

/// The service as a process of its own, with the provider that it starts.
struct ServiceProcess: Sendable {
  let program: RunningProgram
  let url: String
  let provider: String

  /// Starts it, and waits until it listens.
  init(database: String, _ options: String...) async throws {
    program = try RunningProgram("orders", Self.arguments(database) + options)
    provider = try await program.address(after: "payment provider:")
    url = try await program.address(after: "open for orders:")
  }

  /// What a service is called with in tests: any free ports.
  static func arguments(_ database: String) -> [String] {
    ["serve", "--port", "0", "--provider-port", "0", "--database", database]
  }

  private func send(
    _ method: HTTPMethod,
    _ url: String,
    json: String? = nil,
    key: String? = nil
  ) async throws -> (status: Int, text: String) {
    let body = json.map { ByteBuffer(string: $0) }
    let answer = try await HTTPClient.shared.execute(
      HTTPClientRequest(method, url, json: body, idempotencyKey: key),
      timeout: .seconds(120)
    )
    let text = String(buffer: try await answer.body.collect(upTo: 1 << 20))
    return (Int(answer.status.code), text)
  }

  func get(_ path: String) async throws -> (status: Int, text: String) {
    try await send(.GET, url + path)
  }

  func head(_ path: String) async throws -> (status: Int, text: String) {
    try await send(.HEAD, url + path)
  }

  /// Places an order of a mug.
  func place(_ key: String, query: String = "") async throws -> (status: Int, text: String) {
    let json = #"{"customer":"Ada","cardToken":"t","lines":[{"sku":"MUG","quantity":1}]}"#
    return try await send(.POST, "\(url)/orders\(query)", json: json, key: key)
  }

  /// Changes how the provider behaves.
  func mood(_ json: String) async throws {
    _ = try await send(.POST, "\(provider)/mood", json: json)
  }

  /// Waits until a request of an order is at the provider.
  func untilCharging() async throws {
    let line = #"orders_operations_executing{step="charge request"} 1"#
    while try await !get("/metrics").text.contains(line) {}
  }
}
