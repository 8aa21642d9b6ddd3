package import AsyncHTTPClient
package import NIOCore
package import NIOHTTP1

extension HTTPClientRequest {
  /// A request that says what it has in JSON.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - url: The address.
  ///   - body: The JSON; nil to send nothing.
  ///   - key: The idempotency key; nil to send none.
  ///   - token: The token of the server; nil to send none.
  package init(
    _ method: HTTPMethod,
    _ url: String,
    json body: ByteBuffer? = nil,
    idempotencyKey key: String? = nil,
    token: String? = nil
  ) {
    self.init(url: url)
    self.method = method
    if let token { headers.add(name: "Authorization", value: "Bearer \(token)") }
    if let key { headers.add(name: "Idempotency-Key", value: key) }
    if let body {
      headers.add(name: "Content-Type", value: "application/json")
      self.body = .bytes(body)
    }
  }
}
