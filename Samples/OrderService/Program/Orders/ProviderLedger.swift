import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import OrderStorage
import ServiceSupport

/// The charges that the payment provider has made.
enum ProviderLedger {
  /// The provider's answer is no ledger.
  struct NoLedger: Error, CustomStringConvertible {
    var address: String
    var status: UInt
    var description: String { "\(address) gives no ledger: status \(status)." }
  }

  /// Reads the file that the provider keeps: a line for each change of a charge.
  ///
  /// - Throws: What the system says about the file; a `DecodingError` for a line that is no charge.
  static func read(file path: String) throws -> [OrderAudit.Charge] {
    let data = try Data(contentsOf: URL(filePath: path))
    return try JSONLines.values(of: OrderAudit.Charge.self, in: data)
  }

  /// Fetches the ledger over HTTP.
  ///
  /// - Throws: ``NoLedger``; what the client throws when there is no connection.
  static func fetch(from provider: String) async throws -> [OrderAudit.Charge] {
    let address = provider + "/ledger"
    let response = try await HTTPClient.shared.execute(
      HTTPClientRequest(url: address),
      timeout: .seconds(30)
    )
    guard response.status == .ok else {
      throw NoLedger(address: address, status: UInt(response.status.code))
    }
    let body = try await response.body.collect(upTo: 1 << 30)
    return try JSONDecoder().decode([OrderAudit.Charge].self, from: Data(body.readableBytesView))
  }
}
