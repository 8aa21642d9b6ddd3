import ArgumentParser
import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdCore
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

      To listen beyond the loopback, set ORDERS_TOKEN: requests that change anything need it then \
      (Authorization: Bearer TOKEN). PAYMENT_PROVIDER_TOKEN is that of the provider.
      """
  )

  @Option(help: "Where it listens.")
  var host = "127.0.0.1"

  @Option(parsing: .unconditional, help: "The port; 0 for any that is free.")
  var port = 8_080

  @Option(help: "A name by which clients know the service, besides localhost and addresses.")
  var name: [String] = []

  @Option(
    help: "The file of the database, which is created if it is missing, or postgres://…."
  )
  var database = "orders.sqlite"

  @Option(help: "What this instance is called, where several share a PostgreSQL database.")
  var instance = "\(ProcessInfo.processInfo.hostName)-\(ProcessInfo.processInfo.processIdentifier)"

  @Option(
    parsing: .unconditional,
    help: """
      The time between two heartbeats; after two that are missed, others take over. (default: 2s)
      """,
    transform: duration
  )
  var heartbeat = Duration.seconds(2)

  @Option(help: "Where the payment provider is; it is started as well unless this is given.")
  var provider: String?

  @Option(parsing: .unconditional, help: "The port of the provider that is started.")
  var providerPort = 8_081

  @Option(parsing: .unconditional, help: "How many requests a second the provider takes.")
  var providerRate = 200

  @Option(parsing: .unconditional, help: "How many orders may be open at the same time.")
  var maximumOpen = 5_000

  @Option(
    parsing: .unconditional,
    help: """
      How long the provider is tried for one charge, and the carrier for one parcel. Waits for the \
      provider's rate and its circuit don't count. (default: 2m)
      """,
    transform: duration
  )
  var stepLimit = Duration.seconds(120)

  @Option(
    parsing: .unconditional,
    help: "How long open orders may take at the end. (default: 20s)",
    transform: duration
  )
  var drain = Duration.seconds(20)

  @Option(
    help: "What is logged: trace, debug, info, notice, warning or error. (default: notice)",
    transform: level
  )
  var logLevel = Logger.Level.notice

  func validate() throws {
    for (name, value) in [("--port", port), ("--provider-port", providerPort)]
    where !(0...65_535).contains(value) {
      throw ValidationError("\(name) is a number from 0 to 65535.")
    }
    if providerRate < 1 { throw ValidationError("--provider-rate is at least 1.") }
    if Database.isServer(database), provider == nil {
      throw ValidationError("Instances that share a database share a provider: give --provider.")
    }
    if let provider { try ServiceAddress.check("--provider", provider) }
    try AccessToken.orders.check(host: host)
    if heartbeat < .milliseconds(50) { throw ValidationError("--heartbeat is at least 50ms.") }
    if stepLimit < .seconds(1) { throw ValidationError("--step-limit is at least 1s.") }
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
    // Without it, the database or a connection can't be opened, with errors that don't say why.
    let files = try OpenFiles.enough()
    // Before orders are taken up: a service that can't listen is none.
    try ServiceAddress.checkFree(host: host, port: port)
    // Before the provider: of two services that are started at once, one has the database, and only
    // that one starts a provider.
    let store = try await Database.open(database, instance: instance, heartbeat: heartbeat)
    let child =
      try provider == nil
      ? ChildProvider(port: providerPort, ledger: "\(database).ledger.jsonl") : nil
    defer { child?.stop() }
    guard let url = provider ?? child?.url else { return }
    if let child { Announcement.write("payment provider: \(child.url)") }

    let client = HTTPClient(configuration: HTTPPaymentProvider.configuration)
    do {
      try await serve(
        store,
        client,
        url,
        registry,
        connections: OpenFiles.connections(limit: files)
      )
      try await client.shutdown()
    } catch {
      try? await client.shutdown()
      try? store.close()
      throw error
    }
    close(store)
  }

  private func close(_ store: any ShopStore) {
    do {
      try store.close()
    } catch {
      // What is in the log of the database is read at its next opening.
      Logger(label: "orders").notice("the database isn't closed", metadata: ["error": "\(error)"])
    }
  }

  private func serve(
    _ store: any ShopStore,
    _ client: HTTPClient,
    _ url: String,
    _ registry: PrometheusRegistry,
    connections: Int
  ) async throws {
    var options = OrderDesk.Options()
    options.maximumOpenOrders = maximumOpen
    options.providerRequests = providerRate
    options.stepTimeout = stepLimit
    let desk = OrderDesk(
      store: store,
      payments: HTTPPaymentProvider(
        url: url,
        client: client,
        token: AccessToken.paymentProvider.value
      ),
      shipping: Warehouse(store),
      options: options
    )
    var times = OrderServer.Options()
    times.drainLimit = drain
    times.names = Set(name + [host])
    times.token = AccessToken.orders.value
    let server = try OrderServer(
      desk: desk,
      registry: registry,
      tracer: InstrumentationSystem.tracer,
      provider: ProviderControl(url: url, token: AccessToken.paymentProvider.value),
      options: times
    )
    let host = host
    // A server that can't open a connection asks the system for it again and again.
    try await server.run(
      ApplicationConfiguration(
        address: .hostname(host, port: port),
        serverName: "orders",
        availableConnectionsDelegate: MaximumAvailableConnections(connections)
      )
    ) { port in
      Announcement.write("open for orders: \(ServiceAddress.url(host: host, port: port))")
    }
  }
}

/// Reads a level of logs.
private func level(_ text: String) throws -> Logger.Level {
  guard let level = Logger.Level(rawValue: text) else {
    let all = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
    throw ValidationError("“\(text)” isn't a level; the levels are \(all).")
  }
  return level
}
