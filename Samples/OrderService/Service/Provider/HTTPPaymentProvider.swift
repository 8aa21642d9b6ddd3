public import AsyncHTTPClient
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
public import OrderWorkflow
import ServiceSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The payment provider, over HTTP.
///
/// ```swift
/// let payments = HTTPPaymentProvider(url: "http://127.0.0.1:8081")
/// ```
///
/// It neither repeats nor compares: the workflow does. What it can't know (a connection that ended, a
/// status of 500) is an error that says so.
public struct HTTPPaymentProvider: PaymentProvider {
  private let url: String
  private let client: HTTPClient
  private let token: String?
  private let limit: TimeAmount

  /// Creates a provider.
  ///
  /// - Parameters:
  ///   - url: The address of the provider, without a slash at the end.
  ///   - client: The client that makes the connections; it has ``configuration``.
  ///   - token: The token of the provider; nil if it needs none.
  ///   - limit: The time for an answer, in case that the caller has no limit of its own.
  public init(
    url: String,
    client: HTTPClient = HTTPPaymentProvider.client,
    token: String? = nil,
    limit: Duration = .seconds(30)
  ) {
    self.url = url
    self.client = client
    self.token = token
    self.limit = .nanoseconds(Int64(limit / .nanoseconds(1)))
  }

  /// A client for the life of the program.
  public static let client = HTTPClient(
    eventLoopGroup: HTTPClient.defaultEventLoopGroup,
    configuration: configuration
  )

  /// The configuration of connections to a provider: one that is dead is seen immediately, and redirects
  /// aren't followed.
  ///
  /// The defaults try for ten seconds to connect, and again and again when that is refused, until the time
  /// of the request is over. They also send the card's token to any address that an answer names.
  public static var configuration: HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.timeout.connect = .seconds(2)
    configuration.connectionPool.retryConnectionEstablishment = false
    return configuration
  }

  private struct ChargeBody: Encodable {
    var amount: Int
    var currency: String
    var card: String
    var reference: String
  }

  private struct RefundBody: Encodable {
    var charge: String
  }

  /// The JSON of an answer: a charge, or a problem.
  private struct Content: Decodable {
    var key: String?
    var status: ChargeAnswer.Status?
    var amount: Int?
    var currency: String?
    var reference: String?
    var reason: String?
    /// The kind of a problem, and a sentence about it.
    var code: String?
    var detail: String?

    private enum Key: CodingKey {
      case key, status, amount, currency, reference, reason, code, detail
    }

    /// Reads all fields that there are; one of another type is missing.
    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: Key.self)
      func read<Value: Decodable>(_ key: Key, _ type: Value.Type = Value.self) -> Value? {
        try? fields.decode(Value.self, forKey: key)
      }
      (key, status, amount) = (read(.key), read(.status), read(.amount))
      (currency, reference, reason) = (read(.currency), read(.reference), read(.reason))
      (code, detail) = (read(.code), read(.detail))
    }

    /// The content of what isn't JSON.
    init() {}

    var answer: ChargeAnswer {
      var answer = ChargeAnswer(status, reason: reason)
      (answer.key, answer.reference) = (key, reference)
      (answer.amount, answer.currency) = (amount, currency)
      return answer
    }
  }

  /// Asks for a charge.
  public func charge(_ charge: Charge, cardToken: String) async throws -> ChargeAnswer {
    let body = ChargeBody(
      amount: charge.amount?.minorUnits ?? 0,
      currency: charge.amount?.currency ?? "",
      card: cardToken,
      reference: charge.order.rawValue
    )
    let (status, content, delay) = try await send(
      .POST,
      "/charges",
      JSONEncoder().encode(body),
      key: charge.key
    )
    switch (status, content.code) {
    case (402, let code): return ChargeAnswer(.declined, reason: code)
    case (409, "voided"): return ChargeAnswer(.voided)
    default: return try answer(status, content, delay)
    }
  }

  /// Looks a charge up.
  public func lookUp(_ charge: Charge) async throws -> ChargeAnswer? {
    let (status, content, delay) = try await send(.GET, "/charges/\(charge.key)")
    return status == 404 ? nil : try answer(status, content, delay)
  }

  /// Asks for a refund; the provider refuses later charges of the key.
  public func refund(_ charge: Charge) async throws -> ChargeAnswer {
    let body = try JSONEncoder().encode(RefundBody(charge: charge.key))
    let (status, content, delay) = try await send(.POST, "/refunds", body)
    return try answer(status, content, delay)
  }

  /// The answer about a charge, if the status says that there is one.
  private func answer(
    _ status: Int,
    _ content: Content,
    _ delay: Duration?
  ) throws -> ChargeAnswer {
    let text = "\(status)\(content.detail.map { " \($0.oneLine(atMost: 200))" } ?? "")"
    switch status {
    case 200..<300: return content.answer
    case 300..<400:
      throw PaymentProviderError.unconfirmed("\(status), and redirects aren't followed")
    case 429, 503: throw PaymentProviderError.unavailable(text, retryAfter: delay)
    case 408, 409, 425, 500...: throw PaymentProviderError.unavailable(text)
    default: throw PaymentProviderError.refused(text)
    }
  }

  private func send(
    _ method: HTTPMethod,
    _ path: String,
    _ body: Data? = nil,
    key: String? = nil
  ) async throws -> (Int, Content, retryAfter: Duration?) {
    let request = HTTPClientRequest(
      method,
      url + path,
      json: body.map { ByteBuffer(bytes: $0) },
      idempotencyKey: key,
      token: token
    )
    let (status, content, header): (Int, ByteBuffer, String?)
    do {
      let response = try await client.execute(request, timeout: limit)
      status = Int(response.status.code)
      content = try await response.body.collect(upTo: 65_536)
      header = response.headers.first(name: "Retry-After")
    } catch {
      // An attempt whose time is over, or whose order was cancelled, isn't the provider's fault.
      if Task.isCancelled { throw CancellationError() }
      Logger.current.info("\(method) \(path): no answer", metadata: ["error": "\(error)"])
      throw PaymentProviderError.noAnswer("\(error)".oneLine(atMost: 200))
    }
    Logger.current.debug("\(method) \(path)", metadata: ["status": "\(status)"])
    return (status, try Self.content(of: content), header.flatMap(Self.seconds))
  }

  /// Reads the header `Retry-After` if it has seconds.
  ///
  /// A date is ignored, because the clocks of the provider and of this machine may differ.
  private static func seconds(_ header: String) -> Duration? {
    guard !header.isEmpty, header.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    return Int32(header).map { .seconds($0) }
  }

  /// Reads the JSON of an answer as strictly as a request.
  ///
  /// - Throws: ``PaymentProviderError/unconfirmed(_:)`` if a name occurs twice: another program may read
  ///   the other value.
  private static func content(of body: ByteBuffer) throws -> Content {
    do {
      try StrictJSON.check(body.readableBytesView)
    } catch .repeated(let path) {
      throw PaymentProviderError.unconfirmed("“\(path.oneLine(atMost: 60))” occurs twice in it")
    } catch {
      // A proxy's page isn't JSON. Then the status is the whole answer.
      return Content()
    }
    let content = try? JSONDecoder().decode(Content.self, from: Data(body.readableBytesView))
    return content ?? Content()
  }
}
