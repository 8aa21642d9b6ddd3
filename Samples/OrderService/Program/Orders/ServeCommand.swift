import ArgumentParser
import Foundation
import Hummingbird
import Logging
import Metrics
import OrderHTTP
import OrderStorage
import OrderWorkflow
import ServiceSupport
import Tracing

/// `orders serve`: the service.
struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Opens for orders, with a fake payment provider unless there is another one.",
    discussion: """
      SIGTERM and Ctrl-C close the service: it takes no orders any more, finishes those that are \
      open, and keeps the rest for its next start.
      """
  )

  @Option(help: "Where it listens.")
  var host = "127.0.0.1"

  @Option(help: "The port; 0 for any that is free.")
  var port = 8_080

  @Option(help: "The file of the database, which is created if it is missing.")
  var database = "orders.sqlite"

  @Option(help: "Where the payment provider is; it is started as well unless this is given.")
  var provider: String?

  @Option(help: "The port of the provider that is started.")
  var providerPort = 8_081

  @Option(help: "How many requests a second the provider takes.")
  var providerRate = 200

  @Option(help: "How many orders may be open at once.")
  var maximumOpen = 5_000

  @Option(help: "How long open orders may take at the end.", transform: duration)
  var drain = Duration.seconds(20)

  @Option(help: "What is logged: trace, debug, info, notice, warning or error.", transform: level)
  var logLevel = Logger.Level.notice

  func validate() throws {
    if providerRate < 1 { throw ValidationError("--provider-rate is at least 1.") }
    if maximumOpen < 1 { throw ValidationError("--maximum-open is at least 1.") }
  }

  func run() async throws {
    let registry = PrometheusRegistry()
    MetricsSystem.bootstrap(registry)
    LoggingSystem.bootstrap { [logLevel] label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = logLevel
      return handler
    }
    // Before the provider: of two services that are started at once, one has the database, and only
    // that one starts a provider.
    let store = try SQLiteOrderStore(path: database)
    if try await store.items().isEmpty { try await Self.stock(store) }
    let child =
      try provider == nil
      ? ChildProvider(port: providerPort, ledger: "\(database).ledger.jsonl") : nil
    defer { child?.stop() }
    guard let url = provider ?? child?.url else { return }
    if let child { Announcement.write("payment provider: \(child.url)") }

    var options = OrderDesk.Options()
    options.maximumOpenOrders = maximumOpen
    options.providerRequests = providerRate
    let desk = OrderDesk(
      store: store,
      payments: HTTPPaymentProvider(url: url),
      shipping: Warehouse(store),
      options: options
    )
    var times = OrderServer.Options()
    times.drainLimit = drain
    let server = try OrderServer(
      desk: desk,
      registry: registry,
      tracer: InstrumentationSystem.tracer,
      provider: ProviderControl(url: url),
      options: times
    )
    let host = host
    try await server.run(
      ApplicationConfiguration(address: .hostname(host, port: port), serverName: "orders")
    ) { port in
      Announcement.write("open for orders: http://\(host):\(port)")
    }
  }

  /// What the shop sells at first.
  private static func stock(_ store: SQLiteOrderStore) async throws {
    let items = [
      ("BOOK", "Book of patterns", 3_450), ("CHALK", "Chalk, a box", 420),
      ("LAMP", "Desk lamp", 5_900), ("MUG", "Mug, large", 1_250), ("TEE", "T-shirt", 1_999),
    ]
    for (sku, name, price) in items {
      try await store.deliver(Item(sku: sku, name: name, price: Money(price), stock: 100_000))
    }
  }
}

/// Reads a level of logs.
private func level(_ text: String) throws -> Logger.Level {
  guard let level = Logger.Level(rawValue: text) else {
    let all = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
    throw ValidationError("“\(text)” is no level; there are \(all).")
  }
  return level
}
