import ArgumentParser
import Foundation
import Hummingbird
import NIOCore
import PaymentProviderServer
import ServiceLifecycle
import ServiceSupport
import UnixSignals

/// The program `payment-provider`.
@main
struct PaymentProviderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "payment-provider",
    abstract: "A provider of payments that fails, is slow and lies on command.",
    discussion: """
      POST /charges and /refunds, GET /charges/KEY and /ledger. What goes wrong is said here, and \
      changed while it runs. To listen beyond the loopback, set PAYMENT_PROVIDER_TOKEN.

        curl localhost:8081/mood --json '{"fail": 0.3, "slow": "500ms", "lie": 0.1}'
      """
  )

  @Option(help: "Where it listens.")
  var host = "127.0.0.1"

  @Option(parsing: .unconditional, help: "The port; 0 for any that is free.")
  var port = 8_081

  @Option(help: "A name by which clients know the provider, besides localhost and addresses.")
  var name: [String] = []

  @Option(help: "A file that keeps what was charged; in memory only unless given.")
  var ledger: String?

  @Option(parsing: .unconditional, help: "How often a request fails, from 0 to 1.")
  var fail = 0.0

  @Option(
    parsing: .unconditional,
    help: "How often the answer says that a charge failed that was made, from 0 to 1."
  )
  var lie = 0.0

  @Option(parsing: .unconditional, help: "How often there is no answer, from 0 to 1.")
  var lose = 0.0

  @Option(parsing: .unconditional, help: "How long each request takes.", transform: duration)
  var slow = Duration.zero

  @Flag(help: "Answer every request with 503.")
  var down = false

  @Option(
    parsing: .unconditional,
    help: "How many requests a second are answered; any number unless given."
  )
  var rate: Int?

  @Option(parsing: .unconditional, help: "Which of the requests go wrong.")
  var seed: UInt64 = 1

  @Flag(help: "End when the input does, as it does when the program that started this one ends.")
  var withParent = false

  @Option(
    parsing: .unconditional,
    help: "How long to wait for another program to give up the ledger.",
    transform: duration
  )
  var patience = Duration.seconds(15)

  func validate() throws {
    if !(0...65_535).contains(port) {
      throw ValidationError("--port is a number from 0 to 65535.")
    }
    for (name, value) in [("--fail", fail), ("--lie", lie), ("--lose", lose)]
    where !(0...1).contains(value) {
      throw ValidationError("\(name) is a number from 0 to 1.")
    }
    try AccessToken.paymentProvider.check(host: host)
    if let rate, rate < 1 { throw ValidationError("--rate is at least 1.") }
  }

  func run() async throws {
    let parent = withParent ? ParentWatch() : nil
    var mood = Mood()
    (mood.fail, mood.lie, mood.lose) = (fail, lie, lose)
    (mood.slow, mood.isDown, mood.rate) = (slow, down, rate)
    let provider = ProviderServer(
      ledger: try await openLedger(),
      mood: mood,
      seed: seed,
      names: Set(name + [host]),
      token: AccessToken.paymentProvider.value
    )
    let host = host
    let application = provider.application(
      ApplicationConfiguration(address: .hostname(host, port: port))
    ) { port in
      Announcement.write("payment-provider listens on http://\(host):\(port)")
    }
    var configuration = ServiceGroupConfiguration(
      services: [application],
      gracefulShutdownSignals: [.sigterm, .sigint],
      logger: application.logger
    )
    // The next provider waits for this one's ledger: slow requests come to an end early.
    configuration.maximumGracefulShutdownDuration = .seconds(2)
    let group = ServiceGroup(configuration: configuration)
    parent?.onEnd { Task { await group.triggerGracefulShutdown() } }
    do {
      try await group.run()
    } catch let error as IOError where error.errnoCode == EADDRINUSE {
      throw PortInUse(host: host, port: port)
    }
  }

  /// Another program listens there.
  private struct PortInUse: Error, CustomStringConvertible {
    var host: String
    var port: Int
    var description: String {
      "Port \(port) of \(host) is in use: stop the program that has it, or give another --port."
    }
  }

  /// Opens the ledger, as soon as a program that has it has ended: one that lost its parent, and still
  /// finishes what it has begun.
  private func openLedger() async throws -> ChargeLedger {
    let deadline = ContinuousClock.now + patience
    var hasSaid = false
    while true {
      do {
        return try ChargeLedger(path: ledger)
      } catch let error as LedgerInUse where ContinuousClock.now < deadline {
        if !hasSaid { Announcement.complain("payment-provider waits: \(error)") }
        hasSaid = true
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  private static func duration(_ text: String) throws -> Duration {
    guard let duration = DurationText.duration(of: text) else {
      throw ValidationError("“\(text)” isn't a duration; write 150ms or 2s.")
    }
    return duration
  }
}
