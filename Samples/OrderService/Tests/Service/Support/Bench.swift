import AdvancedOperations
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryTracing
import OrderWorkflow
import ServiceSupport

@testable import OrderHTTP

/// A service with a shop in memory.
final class Bench: Sendable {
  let payments = StubPayments()
  let registry = PrometheusRegistry()
  let tracer = InMemoryTracer()
  let desk: OrderDesk
  let server: OrderServer

  static let items = [
    Item(sku: "MUG", name: "Mug <large>", price: Money(1_250), stock: 10),
    Item(sku: "TEE", name: "T-shirt", price: Money(1_999), stock: 3),
  ]

  init(
    maximumOpen: Int = 100,
    store: any OrderStore = InMemoryOrderStore(items: Bench.items),
    _ change: (inout OrderServer.Options) -> Void = { _ in }
  ) throws {
    var options = OrderDesk.Options()
    options.maximumOpenOrders = maximumOpen
    desk = OrderDesk(
      store: store,
      payments: payments,
      shipping: InMemoryShipping(),
      options: options,
      environment: OperationEnvironment(claimDomain: ClaimDomain())
    )
    var times = OrderServer.Options()
    change(&times)
    server = try OrderServer(desk: desk, registry: registry, tracer: tracer, options: times)
  }

  /// Runs the service, and a test of it.
  func test(
    _ setup: TestingSetup = .router,
    _ body: @escaping @Sendable (any TestClientProtocol) async throws -> Void
  ) async throws {
    try await desk.open()
    let place = ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0))
    try await server.application(place).test(setup) { try await body($0) }
  }

  /// An order of two mugs.
  static let order = #"{"customer":"Ada","cardToken":"tok","lines":[{"sku":"MUG","quantity":2}]}"#
}

extension TestClientProtocol {
  func get(_ path: String, _ headers: HTTPFields = [:]) async throws -> TestResponse {
    try await executeRequest(uri: path, method: .get, headers: headers, body: nil)
  }

  func place(
    _ json: String = Bench.order,
    key: String? = "a",
    query: String = "",
    type: String = "application/json"
  ) async throws -> TestResponse {
    var headers: HTTPFields = [.contentType: type]
    headers[.idempotencyKey] = key
    return try await executeRequest(
      uri: "/orders\(query)",
      method: .post,
      headers: headers,
      body: ByteBuffer(string: json)
    )
  }
}

extension TestResponse {
  var text: String { String(buffer: body) }

  /// The fields of the answer's JSON.
  var json: [String: Any] {
    get throws {
      try JSONSerialization.jsonObject(with: Data(body.readableBytesView)) as? [String: Any] ?? [:]
    }
  }

  /// The fields that have a mistake.
  var mistakes: [String] {
    get throws {
      (try json["mistakes"] as? [[String: String]])?.compactMap { $0["field"] } ?? []
    }
  }
}
