public import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Changes how the fake payment provider behaves: what the buttons of the operators' page do.
public struct ProviderControl: Sendable {
  private let url: String
  private let client: HTTPClient
  private let token: String?

  /// Creates a control.
  ///
  /// - Parameters:
  ///   - url: Where the provider is, without a slash at the end.
  ///   - client: Makes the connections.
  ///   - token: The token of the provider; nil if it needs none.
  public init(
    url: String,
    client: HTTPClient = HTTPPaymentProvider.client,
    token: String? = nil
  ) {
    self.token = token
    self.url = url
    self.client = client
  }

  /// Reads the mood, or sets it and reads it then.
  ///
  /// - Parameter mood: Another mood, as JSON; nil to leave it as it is.
  /// - Returns: The status of the provider's answer, its media type, and its JSON.
  /// - Throws: What the client throws when there is no answer.
  func mood(_ mood: ByteBuffer? = nil) async throws -> (status: Int, type: String, body: ByteBuffer)
  {
    let request = HTTPClientRequest(
      mood == nil ? .GET : .POST,
      "\(url)/mood",
      json: mood,
      token: token
    )
    let response = try await client.execute(request, timeout: .seconds(5))
    let type = response.headers.first(name: "Content-Type") ?? "application/json"
    return (Int(response.status.code), type, try await response.body.collect(upTo: 65_536))
  }
}
