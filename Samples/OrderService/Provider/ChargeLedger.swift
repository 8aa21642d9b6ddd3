/// What was charged and refunded: in memory, or in a file as well that is there after a restart.
///
/// The file has one line for each change, in JSON; what follows the last line break was cut off by a
/// crash, and is dropped. It is written before a change is answered, and one program has it at a time.
public actor ChargeLedger {
  private var book = ChargeBook()
  private let file: LedgerFile?

  /// Creates a ledger.
  ///
  /// - Parameter path: The file, which is created if it is missing; nil to keep nothing.
  /// - Throws: What the system says when the file can't be read or written, or a `DecodingError` when
  ///   a line isn't one of a ledger; ``LedgerInUse`` when another program has it.
  public init(path: String? = nil) throws {
    file = try path.map { try LedgerFile(path: $0) }
    entries = file?.entries ?? []
    for charge in entries { book.restore(charge) }
  }

  /// All that became of charges, in the order of its coming: what the file has.
  ///
  /// A charge that was given back is in it twice. An audit counts these lines: ``charges`` has one
  /// for a key, whatever was done under it.
  public private(set) var entries: [Charge]

  /// All charges, in the order of their coming.
  public var charges: [Charge] { book.charges }

  /// What is known about a key; nil when nothing is.
  public func charge(_ key: String) -> Charge? { book.charge(key) }

  func begin(_ key: String, _ request: ChargeRequest) -> ChargeBook.BeginAction {
    book.begin(key, request)
  }

  func finish(_ key: String, declining reason: String?) throws -> Charge? {
    let before = book.charge(key)
    guard let charge = book.finish(key, declining: reason) else { return nil }
    if charge != before { try write(charge) }
    return charge
  }

  func forget(_ key: String) { book.forget(key) }

  func refund(_ key: String) throws -> Charge {
    let (charge, isNew) = book.refund(key)
    if isNew { try write(charge) }
    return charge
  }

  private func write(_ charge: Charge) throws {
    try file?.write(charge)
    entries.append(charge)
  }
}
