import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import OrderHTTP
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

  /// Nobody answers.
  struct NotReached: Error, CustomStringConvertible {
    var address: String
    var reason: String
    var description: String { "\(address) doesn't answer: \(reason)." }
  }

  /// The ledger's file can't be read.
  struct NotRead: Error, CustomStringConvertible {
    var path: String
    var reason: String
    var description: String { "The ledger “\(path)” can't be read: \(reason)" }
  }

  /// Reads the file that the provider keeps: a line for each change of a charge.
  ///
  /// - Throws: ``NotRead``.
  static func read(file path: String) throws -> OrderAudit.Ledger {
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw NotRead(path: path, reason: (error as NSError).localizedDescription)
    }
    let reading = JSONLines.read(OrderAudit.Charge.self, in: data)
    return OrderAudit.Ledger(
      reading.values,
      damage: reading.damagedLines.map { "Line \($0) of “\(path)” can't be read as a charge." }
    )
  }

  /// Fetches the ledger over HTTP.
  ///
  /// - Throws: ``NotReached``, ``NoLedger``.
  static func fetch(from provider: String) async throws -> OrderAudit.Ledger {
    let address = provider + "/ledger"
    let client = HTTPClient(configuration: HTTPPaymentProvider.configuration)
    let response: HTTPClientResponse
    do {
      response = try await client.execute(HTTPClientRequest(url: address), timeout: .seconds(30))
    } catch {
      try? await client.shutdown()
      throw NotReached(address: address, reason: "\(error)")
    }
    let body = try? await response.body.collect(upTo: 1 << 30)
    try await client.shutdown()
    guard response.status == .ok, let body else {
      throw NoLedger(address: address, status: UInt(response.status.code))
    }
    let data = Data(body.readableBytesView)
    guard let charges = try? JSONDecoder().decode([OrderAudit.Charge].self, from: data) else {
      throw NoLedger(address: address, status: UInt(response.status.code))
    }
    return OrderAudit.Ledger(charges)
  }
}
