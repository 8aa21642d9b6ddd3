import Foundation
import OrderStorage
import OrderWorkflow
import Testing

/// `orders audit`, as a program.
@Suite struct AuditProgramTests {
  private let folder: ServiceFolder
  private let id = OrderID(rawValue: "7")

  init() throws { folder = try ServiceFolder() }

  /// A database with an order that is confirmed.
  private func prepare(_ path: String) async throws {
    let store = try SQLiteOrderStore(path: path)
    let line = OrderLine(sku: "MUG", quantity: 1)
    try await store.deliver(Item(sku: "MUG", name: "Mug", price: Money(450), stock: 5))
    let draft = OrderDraft(customer: "Ada", cardToken: "t", lines: [line])
    _ = try await store.accept(draft, id: id, key: "a")
    try await store.record(#"{"currency":"EUR","minorUnits":450}"#, of: .validate, of: id)
    try await store.reserve(line, for: id)
    _ = try await Warehouse(store).ship(id, lines: [line])
    try await store.confirm(id)
  }

  @Test(arguments: [
    (["charged"], Int32(0), "no mistakes"),
    (["charged", "charged"], 1, "The provider has charged 2 times for “7”."),
    (["charged", "refunded", "charged"], 1, "The provider has charged 2 times for “7”."),
    (["charged", "refunded"], 1, "Order 7 is confirmed, and not charged."),
  ])
  func `Names an order that the ledger has charged twice, and ends with the status 1`(
    lines: [String],
    status: Int32,
    text: String
  ) async throws {
    let path = folder.path("orders.sqlite")
    try await prepare(path)
    let ledger = lines.map { state in
      #"{"amount":450,"key":"order-7","reference":"7","status":"\#(state)"}"# + "\n"
    }
    try Data(ledger.joined().utf8).write(to: URL(filePath: "\(path).ledger.jsonl"))
    let audit = try RunningProgram("orders", ["audit", "--settled", "--database", path])
    #expect(await audit.status() == status)
    #expect(try await audit.line(with: text).contains(text))
  }
}
