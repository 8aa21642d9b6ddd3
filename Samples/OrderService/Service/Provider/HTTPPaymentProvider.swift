public import AsyncHTTPClient
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
public import OrderWorkflow

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
/// It neither repeats nor doubts: the workflow does. What it can't know (a connection that ended, a
/// status of 500) is an error that says so.
public struct HTTPPaymentProvider: PaymentProvider {
  private let url: String
  private let client: HTTPClient
  private let limit: TimeAmount

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - url: Where the provider is, without a slash at the end.
  ///   - client: Makes the connections, best with ``configuration``.
  ///   - limit: How long an answer may take, in case that the caller has no limit of its own.
  public init(url: String, client: HTTPClient = .shared, limit: Duration = .seconds(30)) {
    self.url = url
    self.client = client
    self.limit = .nanoseconds(Int64(limit / .nanoseconds(1)))
  }

  /// How connections to a provider are made: one that is dead is seen at once.
  ///
  /// The defaults try for ten seconds to connect, and again and again when that is refused, until the time
  /// of the request is over.
  public static var configuration: HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration()
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

  private struct Answer: Decodable {
    struct Problem: Decodable {
      var code: String
      var message: String
    }

    var status: String?
    var reason: String?
    var error: Problem?
    var key: String?
    var amount: Int?
    var currency: String?
    var reference: String?

    /// Whether it is about a charge: a proxy that mixes answers up must not pay an order.
    func isAbout(_ sum: Money, for order: OrderID) -> Bool {
      amount == sum.minorUnits && currency == sum.currency && reference == order.rawValue
    }
  }

  /// Asks for a charge; what a status means is said at ``PaymentProvider/charge(_:for:cardToken:key:)``.
  public func charge(
    _ amount: Money,
    for order: OrderID,
    cardToken: String,
    key: String
  ) async throws -> ChargeStatus {
    let body = ChargeBody(
      amount: amount.minorUnits,
      currency: amount.currency,
      card: cardToken,
      reference: order.rawValue
    )
    let (status, answer) = try await send(.POST, "/charges", JSONEncoder().encode(body), key: key)
    if status == 402 { return .declined(reason: answer.error?.code ?? "declined") }
    if status == 409, answer.error?.code == "voided" { return .refunded }
    let standing = try standing(status, answer, of: key)
    if standing == .charged, !answer.isAbout(amount, for: order) { throw Self.otherCharge }
    return standing
  }

  /// Looks a charge up.
  public func charge(
    forKey key: String,
    of amount: Money,
    for order: OrderID
  ) async throws -> ChargeStatus? {
    let (status, answer) = try await send(.GET, "/charges/\(key)")
    if status == 404 { return nil }
    let standing = try standing(status, answer, of: key)
    if standing == .charged, !answer.isAbout(amount, for: order) { throw Self.otherCharge }
    return standing
  }

  /// Asks for a refund; the provider refuses later charges of the key.
  public func refund(key: String) async throws {
    let body = try JSONEncoder().encode(RefundBody(charge: key))
    let (status, answer) = try await send(.POST, "/refunds", body)
    _ = try standing(status, answer, of: key)
  }

  private static let otherCharge =
    PaymentProviderError.noAnswer("The answer is about another charge.")

  /// What an answer says about a charge.
  private func standing(_ status: Int, _ answer: Answer, of key: String) throws -> ChargeStatus {
    let text = "\(status)\(answer.error.map { " \($0.message)" } ?? "")"
    switch status {
    case 200..<300:
      if answer.status != nil, answer.key != key { throw Self.otherCharge }
      switch answer.status {
      case "charged": return .charged
      case "refunded", "voided": return .refunded
      case "declined": return .declined(reason: answer.reason ?? "declined")
      // It isn't known yet what becomes of it.
      case "pending": throw PaymentProviderError.unavailable("The charge is being processed.")
      default: throw PaymentProviderError.noAnswer("The answer says nothing about the charge.")
      }
    case 408, 409, 425, 429, 500...: throw PaymentProviderError.unavailable(text)
    default: throw PaymentProviderError.refused(text)
    }
  }

  private func send(
    _ method: HTTPMethod,
    _ path: String,
    _ body: Data? = nil,
    key: String? = nil
  ) async throws -> (Int, Answer) {
    let request = HTTPClientRequest(
      method,
      url + path,
      json: body.map { ByteBuffer(bytes: $0) },
      idempotencyKey: key
    )
    let (status, content): (Int, ByteBuffer)
    do {
      let response = try await client.execute(request, timeout: limit)
      status = Int(response.status.code)
      content = try await response.body.collect(upTo: 65_536)
    } catch {
      // An attempt whose time is over, or whose order was cancelled, isn't the provider's fault.
      if Task.isCancelled { throw CancellationError() }
      Logger.current.info("\(method) \(path): no answer", metadata: ["error": "\(error)"])
      throw PaymentProviderError.noAnswer("\(error)")
    }
    Logger.current.debug("\(method) \(path)", metadata: ["status": "\(status)"])
    // A proxy's page is no JSON; then the status says all there is.
    return (
      status,
      (try? JSONDecoder().decode(Answer.self, from: Data(content.readableBytesView))) ?? Answer()
    )
  }
}
