import ArgumentParser
import ServiceSupport

/// The program `orders`.
@main
struct OrdersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "orders",
    abstract: "Takes orders over HTTP, and brings each of them to an end.",
    subcommands: [ServeCommand.self, LoadCommand.self, AuditCommand.self],
    defaultSubcommand: ServeCommand.self
  )
}

/// Reads a duration of the command line: `150ms`, `2s`, `1m30s`.
func duration(_ text: String) throws -> Duration {
  guard let duration = DurationText.duration(of: text) else {
    throw ValidationError("“\(text)” isn't a duration; write 150ms, 2s or 1m30s.")
  }
  return duration
}
