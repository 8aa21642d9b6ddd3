import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import OrderHTTP
import ServiceSupport

/// A client of the service that loses no order: it repeats what got no answer, with the same key.
struct OrderClient: Sendable {
  /// What the service says about an order.
  struct Answer: Decodable, Sendable {
    var id: String
    var state: String

    var isFinal: Bool { ["confirmed", "failed", "cancelled", "stuck"].contains(state) }
  }

  /// Why an order wasn't accepted.
  struct Refusal: Error, CustomStringConvertible {
    var reason: String
    var description: String { reason }
  }

  /// What became of a request.
  struct Placed: Sendable {
    var result: Result<Answer, Refusal>
    /// From the first try that got through to its answer.
    var latency = Duration.zero
    var repetitions: [String: Int] = [:]
  }

  private struct Item: Decodable {
    var sku: String
  }

  private let url: String
  private let client: HTTPClient
  private let patience: Duration

  init(url: String, connections: Int, patience: Duration) {
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
    configuration.connectionPool.retryConnectionEstablishment = false
    client = HTTPClient(configuration: configuration)
    self.url = url
    self.patience = patience
  }

  func close() async throws { try await client.shutdown() }

  /// The numbers of what the shop sells.
  func items() async throws -> [String] {
    let status: Int
    let body: Data
    do {
      (status, body) = try await send(.GET, "/items", nil, key: nil)
    } catch {
      throw Refusal(reason: "\(url) doesn't answer: \("\(error)".withoutFullStop).")
    }
    guard let items = try? JSONDecoder().decode([Item].self, from: body) else {
      throw Refusal(reason: "\(url) isn't a service for orders: /items gives status \(status).")
    }
    guard status == 200, !items.isEmpty else { throw Refusal(reason: "The shop sells nothing.") }
    return items.map(\.sku)
  }

  /// Places an order, and comes back until it was accepted or refused for good.
  func place(_ draft: RandomDraft, key: String, wait: String?) async -> Placed {
    var placed = Placed(result: .failure(Refusal(reason: "no answer in time")))
    let path = wait.map { "/orders?wait=\($0)" } ?? "/orders"
    let deadline = ContinuousClock.now + patience
    guard let body = try? JSONEncoder().encode(draft) else { return placed }
    while ContinuousClock.now < deadline, !Task.isCancelled {
      let begin = ContinuousClock.now
      var pause = Duration.milliseconds(100)
      do {
        let (status, answer, retryAfter) = try await exchange(.POST, path, body, key: key)
        if (200..<300).contains(status) {
          placed.result = .success(try JSONDecoder().decode(Answer.self, from: answer))
          placed.latency = .now - begin
          return placed
        }
        guard [429, 500, 502, 503].contains(status) else {
          placed.result = .failure(Refusal(reason: "\(status)"))
          return placed
        }
        placed.repetitions["because of \(status)", default: 0] += 1
        if let retryAfter { pause = .seconds(retryAfter) }
      } catch {
        placed.repetitions["without an answer", default: 0] += 1
      }
      try? await Task.sleep(for: pause)
    }
    return placed
  }

  /// What ``outcome(of:)`` says of an order that the service doesn't have.
  static let lost = "lost"
  /// What ``outcome(of:)`` says of an order that isn't final when the patience is over.
  static let unfinished = "not final in time"

  /// The state in which an order ends.
  func outcome(of id: String) async -> String {
    let deadline = ContinuousClock.now + patience
    while ContinuousClock.now < deadline, !Task.isCancelled {
      if let (status, body) = try? await send(.GET, "/orders/\(id)", nil, key: nil) {
        if status == 404 { return Self.lost }
        if let answer = try? JSONDecoder().decode(Answer.self, from: body), answer.isFinal {
          return answer.state
        }
      }
      try? await Task.sleep(for: .milliseconds(200))
    }
    return Self.unfinished
  }

  private func send(
    _ method: HTTPMethod,
    _ path: String,
    _ body: Data?,
    key: String?
  ) async throws -> (Int, Data) {
    let (status, answer, _) = try await exchange(method, path, body, key: key)
    return (status, answer)
  }

  private func exchange(
    _ method: HTTPMethod,
    _ path: String,
    _ body: Data?,
    key: String?
  ) async throws -> (status: Int, body: Data, retryAfter: Int?) {
    let request = HTTPClientRequest(
      method,
      url + path,
      json: body.map { ByteBuffer(bytes: $0) },
      idempotencyKey: key,
      token: AccessToken.orders.value
    )
    let response = try await client.execute(request, timeout: .seconds(90))
    let answer = try await response.body.collect(upTo: 1 << 20)
    let retryAfter = response.headers.first(name: "Retry-After").flatMap(Int.init)
    return (Int(response.status.code), Data(answer.readableBytesView), retryAfter)
  }
}
