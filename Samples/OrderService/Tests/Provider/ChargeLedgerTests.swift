import Foundation
import Testing

@testable import PaymentProviderServer

/// The ledger's file.
@Suite final class ChargeLedgerTests {
  private let path = FileManager.default.temporaryDirectory
    .appending(path: "ledger-\(UUID().uuidString).jsonl").path(percentEncoded: false)
  private let request = ChargeRequest(
    amount: 500,
    currency: "EUR",
    card: "tok_visa",
    reference: "1"
  )

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private func fill() async throws -> [Charge] {
    let ledger = try ChargeLedger(path: path)
    for key in ["a", "b", "c", "d"] { _ = await ledger.begin(key, request) }
    _ = try await ledger.finish("a", declining: nil)
    _ = try await ledger.finish("b", declining: "card_declined")
    _ = try await ledger.finish("c", declining: nil)
    _ = try await ledger.refund("c")
    _ = try await ledger.refund("e")
    return await ledger.charges
  }

  @Test func `What was answered is there after a restart, and what wasn't is not`() async throws {
    let before = try await fill()
    let ledger = try ChargeLedger(path: path)
    #expect(await ledger.charges == before.filter { $0.status != .pending })
    #expect(
      await ledger.entries.map(\.status) == [.charged, .declined, .charged, .refunded, .voided]
    )
    #expect(await ledger.charge("c")?.status == .refunded)
    #expect(await ledger.begin("d", request) == .process)
  }

  @Test func `A file that a crash has cut anywhere is read up to there`() async throws {
    _ = try await fill()
    let whole = try Data(contentsOf: URL(filePath: path))
    for length in 0...whole.count {
      try whole.prefix(length).write(to: URL(filePath: path))
      let lines = whole.prefix(length).split(
        separator: UInt8(ascii: "\n"),
        omittingEmptySubsequences: false
      ).dropLast()
      let keys = Set(
        try lines.map { try JSONDecoder().decode(Charge.self, from: Data($0)).key }
      )
      do {
        let ledger = try ChargeLedger(path: path)
        #expect(Set(await ledger.charges.map(\.key)) == keys, "\(length)")
        // What is written next begins a line.
        _ = try await ledger.refund("z")
      }
      let reread = try ChargeLedger(path: path)
      #expect(await reread.charge("z")?.status == .voided, "\(length)")
    }
  }

  @Test func `A file belongs to one ledger at a time`() async throws {
    do {
      let ledger = try ChargeLedger(path: path)
      #expect(throws: LedgerInUse(path: path)) { try ChargeLedger(path: self.path) }
      _ = try await ledger.refund("a")
    }
    #expect(try await ChargeLedger(path: path).charge("a")?.status == .voided)
  }

  @Test func `A file of something else isn't overwritten`() throws {
    let text = Data("no ledger\n".utf8)
    try text.write(to: URL(filePath: path))
    #expect(throws: DecodingError.self) { try ChargeLedger(path: self.path) }
    #expect(try Data(contentsOf: URL(filePath: path)) == text)
  }
}
