import GRDB

/// The tables of the database.
///
/// What must never be is refused by the tables themselves, whatever the code above them does: a
/// stock below zero, a second order with the key of a request, a second reservation or parcel for
/// the same purpose.
enum OrderSchema {
  /// Every change since the first; what was published once is never edited.
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: orders") { try $0.execute(sql: first) }
    migrator.registerMigration("2: cancels") { try $0.execute(sql: second) }
    migrator.registerMigration("3: unsettled") { try $0.execute(sql: unsettledIndex) }
    return migrator
  }

  // Times are milliseconds since 1970, amounts are in the smallest unit of their currency.
  private static let first = """
    CREATE TABLE item (
      sku TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL,
      price INTEGER NOT NULL CHECK (price BETWEEN 1 AND 1000000000),
      currency TEXT NOT NULL,
      -- How many have ever come in, and how many of them can be reserved.
      delivered INTEGER NOT NULL,
      stock INTEGER NOT NULL CHECK (stock BETWEEN 0 AND delivered)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE orders (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      requestKey TEXT NOT NULL UNIQUE,
      customer TEXT NOT NULL,
      cardToken TEXT NOT NULL,
      acceptedAt INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN (
        'open', 'rolling back', 'confirmed', 'failed', 'cancelled', 'stuck'
      )),
      failure TEXT,
      problems TEXT,
      CHECK ((failure IS NULL) = (state IN ('open', 'confirmed')))
    ) STRICT;
    CREATE INDEX ordersInWork ON orders (number) WHERE state IN ('open', 'rolling back');

    CREATE TABLE orderLine (
      orderID TEXT NOT NULL REFERENCES orders (id),
      position INTEGER NOT NULL,
      sku TEXT NOT NULL REFERENCES item (sku),
      quantity INTEGER NOT NULL CHECK (quantity > 0),
      PRIMARY KEY (orderID, position),
      UNIQUE (orderID, sku)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE step (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      orderID TEXT NOT NULL REFERENCES orders (id),
      key TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('begun', 'done', 'undone')),
      value TEXT,
      UNIQUE (orderID, key),
      CHECK ((value IS NOT NULL) = (state = 'done'))
    ) STRICT;

    CREATE TABLE reservation (
      orderID TEXT NOT NULL REFERENCES orders (id),
      sku TEXT NOT NULL REFERENCES item (sku),
      quantity INTEGER NOT NULL CHECK (quantity > 0),
      PRIMARY KEY (orderID, sku)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE parcel (
      orderID TEXT NOT NULL PRIMARY KEY REFERENCES orders (id),
      -- NULL: it was called back, or forbidden before it was sent.
      number TEXT
    ) STRICT, WITHOUT ROWID;
    """

  // Why an open order is to be cancelled, once that was asked for.
  private static let second = "ALTER TABLE orders ADD COLUMN cancelReason TEXT"

  /// Finds the orders whose money may not be settled; both databases have it.
  static let unsettledIndex = """
    CREATE INDEX ordersUnsettled ON orders (number) WHERE state IN ('rolling back', 'stuck')
    """

  /// The condition for orders that are rolled back or stuck while their card may be charged.
  static let isUnsettled = """
    state IN ('rolling back', 'stuck') AND EXISTS (
      SELECT 1 FROM step WHERE orderID = orders.id AND key = 'charge' AND step.state <> 'undone'
    )
    """

  /// Resumes the rollbacks that earlier versions have given up: a refund is never given up.
  static let resumeRefunds = """
    UPDATE orders SET state = 'rolling back', problems = NULL WHERE state = 'stuck' AND \(isUnsettled)
    """
}
