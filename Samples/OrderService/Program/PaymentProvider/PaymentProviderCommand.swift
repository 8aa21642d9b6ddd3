import ArgumentParser

/// The program.
@main
struct PaymentProviderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "payment-provider",
    abstract: "A payment provider for tests, which fails, lies and loses answers on command."
  )

  func run() async throws {}
}
