import GRDB
import OrderWorkflow

/// What must hold between the database and the ledger of the payment provider, and whether it does.
///
/// ```swift
/// let audit = try await OrderAudit(of: "orders.sqlite") { try await provider.ledger() }
/// print(audit)
/// ```
///
/// It can be made while the service works: the ledger is read after the database, so that what the
/// database knows of a charge is in it.
public struct OrderAudit: Sendable, CustomStringConvertible {
  /// A line in the ledger of the provider: what became of a charge.
  public struct Charge: Hashable, Codable, Sendable {
    /// What the order calls it.
    public var key: String
    /// `charged`, `declined`, `refunded`, `voided` or `pending`.
    public var status: String
    /// How much, in the smallest unit of the currency.
    public var amount: Int
    /// The code of the currency; nil if the ledger doesn't say it.
    public var currency: String?
    /// The order that it is for.
    public var reference: String

    /// Creates a charge.
    public init(
      key: String,
      status: String,
      amount: Int,
      currency: String? = nil,
      reference: String
    ) {
      self.key = key
      self.status = status
      self.amount = amount
      self.currency = currency
      self.reference = reference
    }

    /// “1999 EUR”.
    var sum: String { "\(amount)" + (currency.map { " \($0)" } ?? "") }
  }

  /// The ledger of a provider, with all lines of each charge in their order: one that was made, given
  /// back and made again is found by that.
  public struct Ledger: Sendable {
    /// The lines.
    public var charges: [Charge]
    /// What can't be read of it; one sentence each.
    public var damage: [String]

    /// Creates a ledger.
    public init(_ charges: [Charge], damage: [String] = []) {
      self.charges = charges
      self.damage = damage
    }
  }

  /// How many orders there are in each state.
  public private(set) var counts: [String: Int] = [:]

  /// How many orders came to nothing for each cause, by ``OrderFailure/Kind``.
  public private(set) var causes: [String: Int] = [:]

  /// What doesn't hold; one sentence each.
  public private(set) var mistakes: [String] = []

  /// The orders that are rolled back, and for which the provider's ledger still has a charge; one
  /// sentence each.
  public private(set) var unreturned: [String] = []

  /// The orders that are still on their way; one sentence each.
  public private(set) var unsettled: [String] = []

  /// Looks at a database, and at a ledger.
  ///
  /// - Parameters:
  ///   - path: The file of the database; it is only read.
  ///   - ledger: Gives the ledger of the provider.
  /// - Throws: ``StoreNotOpened`` when there is no such database; `DatabaseError` when it can't be
  ///   read; what `ledger` throws.
  public init(of path: String, ledger: () async throws -> Ledger) async throws {
    let file = try SQLiteFile.checked(path, isNeeded: true)
    let queue = try DatabaseQueue(path: file, configuration: SQLiteFile.readOnly)
    let books = try await queue.read { database in
      var books = try Books { sql in
        try Row.fetchAll(database, sql: sql).map { $0.databaseValues.map(String.fromDatabaseValue) }
      }
      books.noteDamage(try String.fetchAll(database, sql: "PRAGMA integrity_check"))
      return books
    }
    try await self.init(books, ledger: ledger) {
      try await queue.read { try Set(String.fetchAll($0, sql: "SELECT id FROM orders")) }
    }
  }

  /// Compares books with a ledger.
  ///
  /// - Parameters:
  ///   - books: What the database says.
  ///   - ledger: Gives the ledger of the provider.
  ///   - orders: Gives the orders that there are when the ledger was read.
  /// - Throws: What the closures throw.
  init(
    _ books: Books,
    ledger: () async throws -> Ledger,
    orders: () async throws -> Set<String>
  ) async throws {
    let ledger = try await ledger()
    // An order may have come meanwhile, and its charge too.
    let known = try await orders()
    mistakes = books.mistakes + ledger.damage
    for order in books.orders {
      counts[order.state, default: 0] += 1
      if order.state == "open" || order.state == "rolling back" {
        unsettled.append("Order \(order.id) is \(order.state).")
      }
      if let kind = order.cause { causes[kind, default: 0] += 1 }
    }
    compare(books.orders, ledger.charges, known)
  }

  /// Whether all is as it must be, and no order is on its way any more.
  public var isSettled: Bool { mistakes.isEmpty && unsettled.isEmpty }

  private mutating func compare(_ orders: [Books.Row], _ charges: [Charge], _ known: Set<String>) {
    let ledger = LedgerSummary(charges)
    for charge in ledger.standing where !known.contains(charge.reference) {
      mistakes.append("The provider has charged “\(charge.key)”, which belongs to no order.")
    }
    mistakes += ledger.mistakes
    for (reference, count) in ledger.counts.sorted(by: { $0.key < $1.key }) where count > 1 {
      mistakes.append("The provider has charged \(count) times for “\(reference)”.")
    }
    let charged = Dictionary(ledger.standing.map { ($0.reference, $0) }) { first, _ in first }
    for order in orders {
      let charge = charged[order.id]
      switch order.state {
      case "confirmed":
        guard let charge else {
          mistakes.append("Order \(order.id) is confirmed, and not charged.")
          continue
        }
        let isSameCurrency = charge.currency == nil || charge.currency == order.total?.currency
        if charge.amount != order.total?.minorUnits || !isSameCurrency {
          let total = order.total.map { "\($0.minorUnits) \($0.currency)" } ?? "nothing"
          mistakes.append("Order \(order.id) costs \(total), and \(charge.sum) were charged.")
        }
      case "failed", "cancelled":
        if charge != nil {
          mistakes.append("Order \(order.id) is \(order.state), and charged.")
        }
      case "rolling back":
        // The provider may have said that it gave the money back.
        if let charge {
          unreturned.append("Order \(order.id) is rolling back, and \(charge.sum) are charged.")
        }
      case "open", "stuck": break
      default:
        mistakes.append("Order \(order.id) is “\(order.state)”, which isn't a state of an order.")
      }
    }
  }

  /// The numbers, and what doesn't hold; several lines.
  public var description: String { report(settled: false) }

  /// The numbers, and what doesn't hold; several lines.
  ///
  /// - Parameter settled: Whether no order may be on its way any more; those that are get a line each.
  /// - Returns: The lines.
  public func report(settled: Bool) -> String {
    var lines = ["\(counts.values.reduce(0, +)) orders"]
    for (state, count) in counts.sorted(by: { $0.key < $1.key }) {
      lines.append("  \(state): \(count)")
    }
    if !causes.isEmpty { lines.append("causes of the orders that did not succeed") }
    for (cause, count) in causes.sorted(by: { $0.key < $1.key }) {
      lines.append("  \(cause): \(count)")
    }
    let open = settled ? unsettled : []
    if !open.isEmpty {
      lines.append("\(open.count) on their way")
      lines += open.map { "  \($0)" }
    }
    if !unreturned.isEmpty {
      lines.append("\(unreturned.count) refunds that the ledger doesn't have yet")
      lines += unreturned.map { "  \($0)" }
    }
    if !mistakes.isEmpty {
      lines.append("\(mistakes.count) mistakes")
    } else {
      lines.append(open.isEmpty ? "no mistakes" : "no other mistakes")
    }
    return (lines + mistakes.map { "  \($0)" }).joined(separator: "\n")
  }
}
