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

  /// Opens the ledger; a process that another test starts has its lock until it executes its program.
  private func open() async throws -> ChargeLedger {
    while true {
      do { return try ChargeLedger(path: path) } catch is LedgerInUse { await Task.yield() }
    }
  }

  private func fill() async throws -> [Charge] {
    let ledger = try await open()
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
    let ledger = try await open()
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
        let ledger = try await open()
        #expect(Set(await ledger.charges.map(\.key)) == keys, "\(length)")
        // What is written next begins a line.
        _ = try await ledger.refund("z")
      }
      let reread = try await open()
      #expect(await reread.charge("z")?.status == .voided, "\(length)")
    }
  }

  @Test func `Nothing is charged while the ledger's file is missing`() async throws {
    let ledger = try await open()
    _ = await ledger.begin("a", request)
    let aside = path + ".aside"
    try FileManager.default.moveItem(atPath: path, toPath: aside)
    await #expect(throws: LedgerNotWritten.self) { try await ledger.finish("a", declining: nil) }
    try FileManager.default.moveItem(atPath: aside, toPath: path)
    #expect(await ledger.begin("a", request) == .process)
    _ = try await ledger.finish("a", declining: nil)
    #expect(await ledger.entries.map(\.status) == [.charged])
  }

  @Test func `A file belongs to one ledger at a time`() async throws {
    do {
      let ledger = try await open()
      #expect(throws: LedgerInUse(path: path)) { try ChargeLedger(path: self.path) }
      _ = try await ledger.refund("a")
    }
    #expect(try await open().charge("a")?.status == .voided)
  }

  @Test func `A file of something else isn't overwritten`() throws {
    let text = Data("no ledger\n".utf8)
    try text.write(to: URL(filePath: path))
    #expect(throws: LedgerDamaged(path: path, lines: [1])) { try ChargeLedger(path: self.path) }
    #expect(try Data(contentsOf: URL(filePath: path)) == text)
  }

  /// In a process of its own, whose files can't grow beyond a block.
  @Test func `What finds no room has not happened, and leaves nothing in the file`() async {
    await #expect(processExitsWith: .success) {
      let path = FileManager.default.temporaryDirectory
        .appending(path: "ledger-\(UUID().uuidString).jsonl").path(percentEncoded: false)
      defer { try? FileManager.default.removeItem(atPath: path) }
      let request = ChargeRequest(amount: 500, currency: "EUR", card: "tok", reference: "1")
      let ledger = try ChargeLedger(path: path)
      // Exceeding it is an error then, and no signal.
      _ = signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 1_000, rlim_max: .max)
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      var written: [String] = []
      var refused: [String] = []
      for number in 1...30 {
        let key = "k\(number)"
        _ = await ledger.begin(key, request)
        do {
          _ = try await ledger.finish(key, declining: nil)
          written.append(key)
        } catch is LedgerNotWritten {
          refused.append(key)
          // As if it had not come.
          #expect(await ledger.charge(key) == nil)
        }
      }
      #expect(written.count > 2 && refused.count > 2)
      // What was charged stays charged.
      await #expect(throws: LedgerNotWritten.self) { try await ledger.refund("k1") }
      #expect(await ledger.charge("k1")?.status == .charged)
      limit.rlim_cur = .max
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      // Asked again, it is made, and stands on a line of its own.
      #expect(await ledger.begin(refused[0], request) == .process)
      _ = try await ledger.finish(refused[0], declining: nil)
      _ = try await ledger.refund("k1")
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      let charges = try lines.map { try JSONDecoder().decode(Charge.self, from: Data($0.utf8)) }
      #expect(charges.map(\.key) == written + [refused[0], "k1"])
      #expect(await ledger.entries == charges)
    }
  }
}
