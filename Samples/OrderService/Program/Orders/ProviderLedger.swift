import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import OrderStorage

/// The charges that the payment provider has made.
enum ProviderLedger {
  /// The provider's answer is no ledger.
  struct NoLedger: Error, CustomStringConvertible {
    var address: String
    var status: UInt
    var description: String { "\(address) gives no ledger: status \(status)." }
  }

  /// Reads the file that the provider keeps: one charge in each line, the latest of a key counts.
  ///
  /// - Throws: What the system says about the file; a `DecodingError` for a line that is no charge.
  static func read(file path: String) throws -> [OrderAudit.Charge] {
    let data = try Data(contentsOf: URL(filePath: path))
    // What follows the last line break was cut off by a crash.
    let end = data.lastIndex(of: UInt8(ascii: "\n")) ?? data.startIndex
    let decoder = JSONDecoder()
    var charges: [String: OrderAudit.Charge] = [:]
    for line in data[..<end].split(separator: UInt8(ascii: "\n")) {
      let charge = try decoder.decode(OrderAudit.Charge.self, from: line)
      charges[charge.key] = charge
    }
    return charges.values.sorted { $0.key < $1.key }
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
