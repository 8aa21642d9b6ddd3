import ArgumentParser

/// The program.
@main
struct OrdersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "orders",
    abstract: "Takes orders over HTTP, and brings each of them to an end."
  )

  func run() async throws {}
}
