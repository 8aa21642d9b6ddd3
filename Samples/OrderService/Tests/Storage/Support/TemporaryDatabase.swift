import Foundation
import OrderStorage
import OrderWorkflow

/// A database in a folder of its own, which is removed with this.
final class TemporaryDatabase {
  let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "orders-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  var path: String { folder.appending(path: "orders.sqlite").path }

  /// The database as a program opens it.
  func open() throws -> SQLiteOrderStore { try SQLiteOrderStore(path: path) }

  /// The database as soon as the last store is released: threads may still hold operations of it.
  func reopen() async throws -> SQLiteOrderStore {
    while true {
      do {
        return try open()
      } catch is StoreInUse {
        await Task.yield()
      }
    }
  }

  /// A shop with so many packets of tea.
  func shop(tea: Int = 10) async throws -> SQLiteOrderStore {
    let store = try open()
    try await store.deliver(Item(sku: "tea", name: "Tea", price: Money(450), stock: tea))
    return store
  }
}

extension OrderDraft {
  /// So many packets of tea, for Ada.
  static func tea(_ quantity: Int = 1) -> OrderDraft {
    OrderDraft(
      customer: "Ada",
      cardToken: "card",
      lines: [OrderLine(sku: "tea", quantity: quantity)]
    )
  }
}

extension OrderID {
  static func number(_ number: Int) -> OrderID { OrderID(random: UInt64(number)) }
}

extension OrderStore {
  /// An order of so many packets of tea.
  func order(_ number: Int, tea: Int = 1) async throws -> OrderID {
    try await accept(.tea(tea), id: .number(number), key: "key \(number)").order.id
  }

  /// How many packets of tea can be reserved.
  var tea: Int? {
    get async throws { try await items().first { $0.sku == "tea" }?.stock }
  }
}
