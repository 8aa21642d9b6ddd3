#if PostgreSQL
/// The tables of the database, which are those of SQLite, and those that instances need.
///
/// What must never be is refused by the tables themselves, whatever the code above them does.
enum PostgreSQLSchema {
  /// Makes the changes that the database doesn't have yet; of several instances, one at a time.
  ///
  /// A database to which a newer version of the program has made more is left as it is: instances of
  /// both work on it while they are exchanged.
  static func prepare(_ connection: PostgreSQLConnection) throws {
    try connection.execute("SELECT pg_advisory_xact_lock(20260101)")
    try connection.run(script: migrations)
    let last = try connection.execute("SELECT coalesce(max(number), 0) FROM migration").value
    let done = last.flatMap { Int($0) } ?? 0
    for (index, script) in all.enumerated().dropFirst(done) {
      try connection.run(script: script)
      try connection.execute("INSERT INTO migration (number) VALUES ($1)", ["\(index + 1)"])
    }
  }

  /// Every change since the first; what was published once is never edited.
  static let all = [first, second, OrderSchema.unsettledIndex]

  private static let migrations = """
    CREATE TABLE IF NOT EXISTS migration (
      number BIGINT NOT NULL PRIMARY KEY,
      madeAt TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
    );
    """

  // The first tables were made without a number.
  //
  // Times of orders are milliseconds since 1970, amounts are in the smallest unit of their currency.
  private static let first = """
    CREATE TABLE IF NOT EXISTS item (
      sku TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL,
      price BIGINT NOT NULL CHECK (price BETWEEN 1 AND 1000000000),
      currency TEXT NOT NULL,
      -- How many have ever come in, and how many of them can be reserved.
      delivered BIGINT NOT NULL,
      stock BIGINT NOT NULL CHECK (stock BETWEEN 0 AND delivered)
    );

    CREATE TABLE IF NOT EXISTS orders (
      number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      requestKey TEXT NOT NULL UNIQUE,
      customer TEXT NOT NULL,
      cardToken TEXT NOT NULL,
      acceptedAt BIGINT NOT NULL,
      state TEXT NOT NULL CHECK (state IN (
        'open', 'rolling back', 'confirmed', 'failed', 'cancelled', 'stuck'
      )),
      failure TEXT,
      problems TEXT,
      -- The instance that works on the order; the epoch grows with each change of hands.
      holder TEXT,
      epoch BIGINT NOT NULL DEFAULT 1,
      CHECK ((failure IS NULL) = (state IN ('open', 'confirmed')))
    );
    CREATE INDEX IF NOT EXISTS ordersInWork ON orders (number)
      WHERE state IN ('open', 'rolling back');

    CREATE TABLE IF NOT EXISTS orderLine (
      orderID TEXT NOT NULL REFERENCES orders (id),
      position INTEGER NOT NULL,
      sku TEXT NOT NULL REFERENCES item (sku),
      quantity BIGINT NOT NULL CHECK (quantity > 0),
      PRIMARY KEY (orderID, position),
      UNIQUE (orderID, sku)
    );

    CREATE TABLE IF NOT EXISTS step (
      number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      orderID TEXT NOT NULL REFERENCES orders (id),
      key TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('begun', 'done', 'undone')),
      value TEXT,
      UNIQUE (orderID, key),
      CHECK ((value IS NOT NULL) = (state = 'done'))
    );

    CREATE TABLE IF NOT EXISTS reservation (
      orderID TEXT NOT NULL REFERENCES orders (id),
      sku TEXT NOT NULL REFERENCES item (sku),
      quantity BIGINT NOT NULL CHECK (quantity > 0),
      PRIMARY KEY (orderID, sku)
    );

    CREATE TABLE IF NOT EXISTS parcel (
      orderID TEXT NOT NULL PRIMARY KEY REFERENCES orders (id),
      -- NULL: it was called back, or forbidden before it was sent.
      number TEXT
    );

    -- Instances that live; all times are those of the server's clock.
    CREATE TABLE IF NOT EXISTS instance (
      name TEXT NOT NULL PRIMARY KEY,
      beatAt TIMESTAMPTZ NOT NULL
    );

    -- How many requests may be made, and since when it isn't added up.
    CREATE TABLE IF NOT EXISTS bucket (
      name TEXT NOT NULL PRIMARY KEY,
      tokens DOUBLE PRECISION NOT NULL,
      filledAt TIMESTAMPTZ NOT NULL
    );
    """

  private static let second = """
    -- Why an open order is to be cancelled, once that was asked for.
    ALTER TABLE orders ADD COLUMN cancelReason TEXT;

    -- Since when an instance was heard without a gap.
    ALTER TABLE instance ADD COLUMN beatsSince TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp();
    """
}
#endif
