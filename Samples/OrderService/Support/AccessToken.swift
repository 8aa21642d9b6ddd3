import Foundation

/// The token of a server, from the environment: what stands in a command line can be read by all users.
package struct AccessToken: Sendable {
  /// A server that others can reach has no token.
  package struct Missing: Error, CustomStringConvertible {
    /// The address at which it is to listen.
    package var host: String
    /// The variable that is to be set.
    package var variable: String

    package var description: String {
      "--host \(host) is beyond the loopback, where anyone may change something: set \(variable) to a "
        + "token that clients send."
    }
  }

  /// The token of the order service.
  package static let orders = AccessToken(variable: "ORDERS_TOKEN")
  /// The token of the payment provider.
  package static let paymentProvider = AccessToken(variable: "PAYMENT_PROVIDER_TOKEN")

  private let variable: String

  /// The token; nil if there is none.
  package var value: String? {
    let text = ProcessInfo.processInfo.environment[variable] ?? ""
    return text.isEmpty ? nil : text
  }

  /// Refuses to listen beyond the loopback without a token.
  ///
  /// - Parameter host: The address at which the server is to listen.
  /// - Throws: ``Missing``.
  package func check(host: String) throws {
    if value == nil, !Self.isLoopback(host) { throw Missing(host: host, variable: variable) }
  }

  /// Whether only programs of this machine can reach an address.
  package static func isLoopback(_ host: String) -> Bool {
    let name = host.lowercased()
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    let isAddress = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    return name == "localhost" || name == "::1" || isAddress && parts[0] == "127"
  }
}
