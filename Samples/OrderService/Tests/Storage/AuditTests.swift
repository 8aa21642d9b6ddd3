import Foundation
import GRDB
import OrderStorage
import OrderWorkflow
import Testing

@Suite("The audit")
struct AuditTests {
  /// Something that must not be, and what the audit says about it.
  struct Fraud: Sendable, CustomTestStringConvertible {
    let sql: String
    let mistake: String
    var testDescription: String { mistake }
  }

  let database: TemporaryDatabase
  private let id = OrderID.number(1)

  init() throws { database = try TemporaryDatabase() }

  private func charge(_ status: String, key: String? = nil) -> OrderAudit.Charge {
    OrderAudit.Charge(
      key: key ?? "order-\(id)",
      status: status,
      amount: 450,
      reference: id.rawValue
    )
  }

  /// A database with one order that was confirmed.
  private func prepare() async throws {
    let store = try await database.shop()
    _ = try await store.order(1)
    try await store.record("{\"currency\":\"EUR\",\"minorUnits\":450}", of: .validate, of: id)
    try await store.reserve(OrderLine(sku: "tea", quantity: 1), for: id)
    _ = try await Warehouse(store).ship(id, lines: [])
    try await store.confirm(id)
  }

  private func audit(_ charges: OrderAudit.Charge...) async throws -> OrderAudit {
    try await OrderAudit(of: database.path) { OrderAudit.Ledger(charges) }
  }

  @Test func `finds nothing where all is well`() async throws {
    try await prepare()
    let audit = try await audit(charge("charged"))
    #expect(audit.mistakes == [])
    #expect(audit.isSettled)
    #expect(audit.description == "1 orders\n  confirmed: 1\nno mistakes")
  }

  @Test func `names the orders that are on their way, where none may be`() async throws {
    try await prepare()
    let store = try await database.reopen()
    let open = try await store.order(2)
    let undone = try await store.order(3)
    _ = try await store.beginRollback(of: undone, because: OrderFailure(cancelledBecause: "gone"))
    let audit = try await audit(charge("charged"))
    #expect(!audit.isSettled)
    #expect(audit.mistakes == [])
    #expect(audit.unsettled == ["Order \(open) is open.", "Order \(undone) is rolling back."])
    #expect(
      audit.report(settled: true).hasSuffix(
        """
        2 on their way
          Order \(open) is open.
          Order \(undone) is rolling back.
        no other mistakes
        """
      )
    )
    #expect(audit.description.hasSuffix("\nno mistakes"))
  }

  @Test func `names a refund that isn't in the ledger, whatever the provider has answered`()
    async throws
  {
    let store = try await database.shop()
    let id = try await store.order(1)
    _ = try await store.beginRollback(of: id, because: OrderFailure(cancelledBecause: "gone"))
    let unconfirmed = try await audit(charge("charged"))
    #expect(unconfirmed.unreturned == ["Order \(id) is rolling back, and 450 are charged."])
    #expect(unconfirmed.description.contains("\n1 refunds that the ledger doesn't have yet\n"))
    #expect(try await audit(charge("charged"), charge("refunded")).unreturned == [])
  }

  @Test func `finds an order that is confirmed and not paid`() async throws {
    try await prepare()
    let mistakes = try await audit(charge("refunded")).mistakes
    #expect(mistakes == ["Order \(id) is confirmed, and not charged."])
  }

  @Test func `finds an order that is charged twice, under whatever key`() async throws {
    try await prepare()
    let mistakes = try await audit(charge("charged"), charge("refunded", key: "other")).mistakes
    #expect(mistakes == ["The provider has charged 2 times for “\(id)”."])
  }

  @Test(arguments: [
    (["charged", "charged"], 2), (["charged", "refunded", "charged"], 2),
    (["charged", "refunded", "charged", "refunded", "charged"], 3),
  ])
  func `finds an order that is charged again under one key`(
    lines: [String],
    count: Int
  ) async throws {
    try await prepare()
    let audit = try await OrderAudit(of: database.path) {
      OrderAudit.Ledger(lines.map { charge($0) })
    }
    #expect(audit.mistakes == ["The provider has charged \(count) times for “\(id)”."])
  }

  @Test func `an audit distinguishes refunded charges`() async throws {
    try await prepare()
    let mistakes = try await audit(charge("charged"), charge("refunded")).mistakes
    #expect(mistakes == ["Order \(id) is confirmed, and not charged."])
  }

  @Test func `finds a charge that belongs to no order`() async throws {
    try await prepare()
    let stray = OrderAudit.Charge(key: "order-x", status: "charged", amount: 1, reference: "x")
    let mistakes = try await audit(charge("charged"), stray).mistakes
    #expect(mistakes == ["The provider has charged “order-x”, which belongs to no order."])
  }

  @Test func `an audit finds an order that did not succeed and is charged`() async throws {
    let store = try await database.shop()
    let id = try await store.order(1)
    _ = try await store.beginRollback(of: id, because: OrderFailure(cancelledBecause: "gone"))
    try await store.finishRollback(of: id, problems: [])
    let mistakes = try await audit(charge("charged")).mistakes
    #expect(mistakes == ["Order \(id) is cancelled, and charged."])
  }

  @Test(arguments: [
    Fraud(sql: "UPDATE item SET stock = -1, delivered = 0", mistake: "negative"),
    Fraud(sql: "UPDATE item SET stock = 8", mistake: "add up"),
    Fraud(sql: "DELETE FROM reservation", mistake: "not all of its items"),
    Fraud(sql: "DELETE FROM parcel", mistake: "not shipped"),
    Fraud(
      sql: "UPDATE orders SET state = 'failed', failure = '\(cause)'",
      mistake: "items are set aside for it"
    ),
    Fraud(
      sql: "UPDATE orders SET state = 'failed', failure = '\(cause)'",
      mistake: "did not succeed, and is shipped"
    ),
    Fraud(
      sql: "UPDATE orders SET state = 'failed', failure = '\(noCause)'",
      mistake: "has no cause"
    ),
    Fraud(
      sql: "UPDATE orders SET state = 'stuck', failure = '\(cause)', problems = '[\"refund\"]'",
      mistake: "needs a person: [\"refund\"]"
    ),
    Fraud(sql: "UPDATE step SET value = replace(value, 450, 900)", mistake: "450 were charged"),
    Fraud(
      sql: "UPDATE orders SET state = 'frobnicated'",
      mistake: "is “frobnicated”, which isn't a state"
    ),
    Fraud(sql: "UPDATE orders SET state = 'failed'", mistake: "is failed, and has no cause"),
    Fraud(
      sql: "UPDATE orders SET state = 'failed', failure = '{'",
      mistake: "can't be read: “{”"
    ),
    Fraud(
      sql: "UPDATE step SET value = '{' WHERE key = 'validate'",
      mistake: "can't be read: “{”"
    ),
    Fraud(sql: "UPDATE parcel SET number = ''", mistake: "not shipped"),
    Fraud(sql: "DELETE FROM orderLine", mistake: "it has no lines"),
    Fraud(
      sql: "UPDATE step SET state = 'undone', value = NULL WHERE key = 'confirm'",
      mistake: "a step of it isn't done"
    ),
    Fraud(
      sql: "UPDATE reservation SET orderID = 'x'",
      mistake: "set aside for order x, which doesn't exist"
    ),
    Fraud(sql: "DELETE FROM item", mistake: "“tea” is set aside, and the shop doesn't have it"),
  ])
  func `finds what was done to the database alone`(fraud: Fraud) async throws {
    try await prepare()
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: database.path, configuration: configuration)
    try await queue.write { database in
      try database.execute(sql: "PRAGMA ignore_check_constraints = TRUE")
      try database.execute(sql: fraud.sql)
    }
    let mistakes = try await audit(charge("charged")).mistakes
    #expect(mistakes.contains { $0.contains(fraud.mistake) }, "\(mistakes)")
  }

  /// What the ledger says after the charge of 450 EUR, and what the audit says about it.
  @Test(arguments: [
    ("refunded", 1, "EUR", "has charged 450 EUR for “1”, and refunded 1 EUR."),
    ("refunded", 450, "USD", "has charged 450 EUR for “1”, and refunded 450 USD."),
    ("charged", 450, "USD", "costs 450 EUR, and 450 USD were charged."),
  ])
  func `finds what was given back or charged otherwise`(
    status: String,
    amount: Int,
    currency: String,
    mistake: String
  ) async throws {
    try await prepare()
    let key = "order-\(id)"
    func line(_ status: String, _ amount: Int, _ currency: String) -> OrderAudit.Charge {
      OrderAudit.Charge(
        key: key,
        status: status,
        amount: amount,
        currency: currency,
        reference: id.rawValue
      )
    }
    let lines =
      status == "charged"
      ? [line(status, amount, currency)]
      : [line("charged", 450, "EUR"), line(status, amount, currency)]
    let audit = try await OrderAudit(of: database.path) { OrderAudit.Ledger(lines) }
    let expected = mistake.replacing("“1”", with: "“\(id)”")
    #expect(audit.mistakes.contains { $0.hasSuffix(expected) }, "\(audit.mistakes)")
  }

  @Test func `an audit finds a charge that was refunded twice`() async throws {
    try await prepare()
    let audit = try await audit(charge("charged"), charge("refunded"), charge("refunded"))
    #expect(audit.mistakes.contains("The provider has refunded 2 times for “\(id)”."))
  }

  @Test func `needs a database that there is`() async throws {
    for (path, reason) in [("no.sqlite", "there is no such file"), ("empty", "it is empty")] {
      let place = database.folder.appending(path: path).path
      if path == "empty" { try Data().write(to: URL(filePath: place)) }
      await #expect(throws: StoreNotOpened(path: place, reason: reason)) {
        try await OrderAudit(of: place) { OrderAudit.Ledger([]) }
      }
    }
  }

  @Test func `an audit continues after an unreadable line of the ledger`() async throws {
    try await prepare()
    let audit = try await OrderAudit(of: database.path) {
      OrderAudit.Ledger([], damage: ["Line 3 can't be read."])
    }
    #expect(
      audit.mistakes == ["Line 3 can't be read.", "Order \(id) is confirmed, and not charged."]
    )
  }

  private static let cause = #"{"kind":"other","reason":"fire","tree":"fire"}"#
  private static let noCause = #"{"kind":"other","reason":"","tree":""}"#
}
