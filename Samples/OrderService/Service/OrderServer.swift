import AdvancedOperations
import HTTPRules
public import Hummingbird
import HummingbirdCore
public import Logging
import Mustache
public import OrderWorkflow
import ServiceLifecycle
public import Tracing
import UnixSignals

/// The HTTP service: a face of an ``/OrderWorkflow/OrderDesk``.
///
/// ```swift
/// let server = try OrderServer(desk: desk, registry: registry, tracer: tracer)
/// try await server.run(ApplicationConfiguration(address: .hostname("127.0.0.1", port: 8080)))
/// ```
public final class OrderServer: Sendable {
  /// What can be chosen about a server.
  public struct Options: Sendable {
    /// How long orders may take that are open when the server is to stop.
    public var drainLimit = Duration.seconds(20)

    /// How long requests may take after that which aren't answered yet, or of which not all has come.
    public var closeLimit = Duration.seconds(2)

    /// How long `?wait=` may be at most.
    public var longestWait = Duration.seconds(60)

    /// How long the body of a request may take to come.
    public var bodyLimit = Duration.seconds(30)

    /// How often a stream on which nothing happens says that it is there.
    public var heartbeat = Duration.seconds(15)

    /// How many messages of a stream wait for a slow reader, before the stream is ended.
    public var eventLimit = 256

    /// How long a connection may do nothing between two requests.
    public var idleTimeout = Duration.seconds(60)

    /// The names by which clients know the server; addresses and `localhost` are allowed as well.
    public var names: Set<String> = []

    /// The token that is needed to change anything; nil if none is.
    public var token: String?

    /// Creates the usual options.
    public init() {}
  }

  let desk: OrderDesk
  let registry: PrometheusRegistry
  let provider: ProviderControl?
  let options: Options
  let gauges: DeskGauges
  let feed: LiveFeed
  let queueExplanation: SharedExplanation
  let clients = WaitingClients()
  let page: OperatorsPage
  let logger: Logger

  /// Creates a server for a desk that isn't open yet, and attaches telemetry to its queue.
  ///
  /// - Parameters:
  ///   - desk: Takes the orders.
  ///   - registry: Keeps the metrics.
  ///   - tracer: Gets the spans of operations.
  ///   - provider: Changes how a fake payment provider behaves; nil where there is a real one.
  ///   - options: Times.
  ///   - logger: Gets what the server says.
  /// - Throws: An error of the page's template.
  public init(
    desk: OrderDesk,
    registry: PrometheusRegistry,
    tracer: any Tracer,
    provider: ProviderControl? = nil,
    options: Options = Options(),
    logger: Logger = Logger(label: "orders")
  ) throws {
    self.desk = desk
    self.registry = registry
    self.provider = provider
    self.options = options
    self.logger = logger
    gauges = DeskGauges(factory: registry)
    let explanation = SharedExplanation { [queue = desk.queue] in
      queue.explain(limit: SharedExplanation.limit).description
    }
    queueExplanation = explanation
    feed = LiveFeed(desk: desk, explanation: explanation, heartbeat: options.heartbeat)
    page = try OperatorsPage()
    let timeline = { @Sendable [weak desk] (order: String) in
      desk?.timeline(of: OrderID(rawValue: order))
    }
    let tracing = OperationTracing(tracer: tracer, timeline: timeline)
    desk.queue.addObserver(tracing)
    desk.queue.addInterceptor(tracing)
    desk.queue.addObserver(OperationMetrics(factory: registry, timeline: timeline))
    desk.queue.addObserver(feed)
  }

  /// Makes the HTTP server, which isn't running yet.
  ///
  /// - Parameters:
  ///   - configuration: Where it listens.
  ///   - onRunning: Gets the port when it listens.
  /// - Returns: The server.
  public func application(
    _ configuration: ApplicationConfiguration,
    onRunning: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
  ) -> some ApplicationProtocol {
    // The defaults are 80 KB for each field of the head, and connections that stay for ever.
    let limits = HTTP1Channel.Configuration(
      additionalChannelHandlers: [ConnectionRules()],
      idleTimeout: .nanoseconds(Int64(options.idleTimeout / .nanoseconds(1))),
      httpDecoderConfiguration: .init(
        maxHeaderFieldSize: 8_192,
        maxHeaderListSize: 16_384,
        maxHeaderFieldCount: 100
      )
    )
    return Application(
      responder: RuledResponder(
        router().buildResponder(),
        rules: ServerRules(names: options.names, token: options.token),
        limit: options.closeLimit
      ),
      server: .http1(configuration: limits),
      configuration: configuration,
      onServerRunning: { await onRunning($0.localAddress?.port ?? 0) },
      logger: logger
    )
  }

  /// Opens the desk and serves it, until a signal ends that.
  ///
  /// SIGTERM and SIGINT close the desk first; after a second one of them, open orders have no more time,
  /// and the next start takes them up; a third, or SIGQUIT, ends all at once. While it drains, the server goes on answering: requests
  /// for orders with 503, `/ready` with 503, all others as before. Then it stops listening, and
  /// returns when all requests were answered, or ``Options/closeLimit`` is over.
  ///
  /// - Parameters:
  ///   - configuration: Where it listens.
  ///   - onRunning: Gets the port when it listens.
  /// - Throws: What keeps the server from listening; an error of the store.
  public func run(
    _ configuration: ApplicationConfiguration,
    onRunning: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
  ) async throws {
    desk.onUnreadable { [logger] id, reason in
      let metadata: Logger.Metadata = ["order": "\(id)", "error": "\(reason)"]
      logger.error("an order can't be read, and is left alone", metadata: metadata)
    }
    desk.onRefusedRefund { [logger] refund in
      let metadata: Logger.Metadata = [
        "order": "\(refund.order)", "refusals": "\(refund.count)", "error": "\(refund.reason)",
      ]
      logger.error("the provider refuses a refund, which is repeated", metadata: metadata)
    }
    let count = try await desk.open()
    if count > 0 { logger.notice("took up orders", metadata: ["count": "\(count)"]) }
    let (closed, continuation) = AsyncStream<Void>.makeStream()
    let (hurry, hurrying) = AsyncStream<Void>.makeStream()
    let closing = DeskService(
      desk: desk,
      limit: options.drainLimit,
      logger: logger,
      hurry: hurry
    ) {
      continuation.finish()
    }
    // Services are ended from the last to the first.
    let group = ServiceGroupConfiguration(
      services: [application(configuration, onRunning: onRunning), closing],
      gracefulShutdownSignals: Self.signals,
      cancellationSignals: [.sigquit],
      logger: logger
    )
    try await run(ServiceGroup(configuration: group), closed) { hurrying.finish() }
  }

  private static let signals: [UnixSignal] = [.sigterm, .sigint]

  /// Runs services until a signal ends them; a third one ends them at once.
  ///
  /// - Parameters:
  ///   - group: The services.
  ///   - closed: A stream that ends when the desk is closed.
  ///   - hurry: Called at the second signal.
  /// - Throws: What a service throws.
  private func run(
    _ group: ServiceGroup,
    _ closed: AsyncStream<Void>,
    hurry: @escaping @Sendable () -> Void
  ) async throws {
    let signals = await UnixSignalsSequence(trapping: Self.signals)
    let services = Task { try await group.run() }
    let limit = options.closeLimit
    // A client that sends half of a request, or doesn't read its answer, keeps no server from ending.
    let end = Task {
      for await _ in closed {}
      try await Task.sleep(for: limit)
      services.cancel()
    }
    let watch = Task { [logger] in
      var count = 0
      for await signal in signals {
        count += 1
        if count > 2 { services.cancel() }
        guard count == 2 else { continue }
        logger.notice(
          "a second signal: open orders are left to the next start",
          metadata: ["signal": "\(signal)"]
        )
        hurry()
      }
    }
    let storeWatch = Task { try await StoreWatch(desk: desk, logger: logger).run() }
    defer {
      watch.cancel()
      storeWatch.cancel()
      end.cancel()
    }
    try await withTaskCancellationHandler {
      do {
        try await services.value
      } catch is CancellationError where services.isCancelled && !Task.isCancelled {}
    } onCancel: {
      services.cancel()
    }
  }
}
