import HTTPRules
public import Hummingbird
import HummingbirdCore
import Logging
import Synchronization

/// A provider of payments that fails on command, over HTTP.
///
/// | request | does |
/// |---|---|
/// | `POST /charges` with `Idempotency-Key` | charges a card, once for a key |
/// | `GET /charges/{key}` | says what became of that |
/// | `POST /refunds` | gives a charge back, and keeps one that hasn't come from coming |
/// | `GET /ledger` | says all that was done, for an audit: a line for each change of a charge |
/// | `GET /mood`, `POST /mood` | says and changes what goes wrong: see ``Mood`` |
///
/// The first three go wrong as the mood says. A request that has come is processed also when its
/// client has hung up meanwhile.
public final class ProviderServer: Sendable {
  private struct State {
    var mood: Mood
    var die: FaultDie
  }

  /// What was charged and refunded.
  public let ledger: ChargeLedger
  private let clock: ProviderClock
  private let rules: ServerRules
  private let state: Mutex<State>

  /// Creates a provider.
  ///
  /// - Parameters:
  ///   - ledger: Keeps the charges.
  ///   - mood: How it behaves at first.
  ///   - seed: Which of the requests go wrong.
  ///   - clock: Gives time to slow requests, and counts those of a second.
  ///   - names: The names by which clients know the server; addresses and `localhost` are allowed as well.
  ///   - token: The token that is needed to change anything; nil if none is.
  public init(
    ledger: ChargeLedger,
    mood: Mood = Mood(),
    seed: UInt64 = 1,
    clock: ProviderClock = .continuous,
    names: Set<String> = [],
    token: String? = nil
  ) {
    self.ledger = ledger
    self.clock = clock
    rules = ServerRules(names: names, token: token)
    state = Mutex(State(mood: mood, die: FaultDie(seed: seed)))
  }

  /// How it behaves now; can be changed at any time.
  public var mood: Mood {
    get { state.withLock { $0.mood } }
    set { state.withLock { $0.mood = newValue } }
  }

  /// Makes the server, which isn't running yet.
  ///
  /// - Parameters:
  ///   - configuration: Where it listens.
  ///   - onRunning: Gets the port when it listens.
  /// - Returns: The server.
  public func application(
    _ configuration: ApplicationConfiguration,
    onRunning: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
  ) -> some ApplicationProtocol {
    var logger = Logger(label: "payment-provider")
    logger.logLevel = .warning
    return Application(
      responder: RuledResponder(router().buildResponder(), rules: rules),
      server: .http1(
        configuration: HTTP1Channel.Configuration(
          additionalChannelHandlers: [ConnectionRules()],
          idleTimeout: .seconds(60)
        )
      ),
      configuration: configuration,
      onServerRunning: { await onRunning($0.localAddress?.port ?? 0) },
      logger: logger
    )
  }

  /// Which fault a request has, and how long it takes.
  func next(canLie: Bool) -> (fault: Fault, delay: Duration) {
    let now = clock.now()
    return state.withLock { state in
      (state.die.fault(state.mood, canLie: canLie, now: now), state.mood.slow)
    }
  }

  func wait(_ duration: Duration) async {
    guard duration > .zero else { return }
    // A provider that is being stopped needn't be slow any more.
    try? await clock.sleep(duration)
  }
}
