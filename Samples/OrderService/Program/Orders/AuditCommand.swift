import ArgumentParser
import OrderStorage

/// `orders audit`: whether the database and the provider's ledger agree.
struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Checks that the database and the provider's ledger add up.",
    discussion: """
      No order is charged twice; none is charged and neither shipped nor refunded; no stock is \
      negative, and none is lost; each order that did not succeed has its cause. Each mistake is a \
      line, and with any the status is 1. The service may keep running in the meantime.
      """
  )

  @Option(help: "The file of the database, or postgres://….")
  var database = "orders.sqlite"

  @Option(help: "Where the payment provider is, whose ledger is fetched.")
  var provider: String?

  @Option(help: "The ledger as a file; that of the provider which `serve` starts unless given.")
  var ledger: String?

  @Flag(help: "Orders that are still on their way are mistakes too.")
  var settled = false

  func validate() throws {
    if Database.isServer(database), provider == nil, ledger == nil {
      throw ValidationError("Give --provider or --ledger for a PostgreSQL database.")
    }
    if let provider { try ServiceAddress.check("--provider", provider) }
    if provider != nil, ledger != nil {
      throw ValidationError("Give --provider or --ledger, not both.")
    }
  }

  func run() async throws {
    let audit = try await Database.audit(database) {
      if let provider { return try await ProviderLedger.fetch(from: provider) }
      return try ProviderLedger.read(file: ledger ?? "\(database).ledger.jsonl")
    }
    print(audit.report(settled: settled))
    guard audit.mistakes.isEmpty, audit.isSettled || !settled else { throw ExitCode.failure }
  }
}
