/// What was charged and refunded: in memory, or in a file as well that is there after a restart.
///
/// The file has one line for each change, in JSON; what follows the last line break was cut off by a
/// crash, and is dropped. A change happens when its line is written, and not if that fails; one program
/// has the file at a time.
public actor ChargeLedger {
  private var book = ChargeBook()
  private let file: LedgerFile?

  /// Creates a ledger.
  ///
  /// - Parameter path: The file, which is created if it is missing; nil to keep nothing.
  /// - Throws: ``LedgerNotOpened``, ``LedgerDamaged``, ``LedgerInUse``; what the system says when the
  ///   file can't be read.
  public init(path: String? = nil) throws {
    file = try path.map { try LedgerFile(path: $0) }
    entries = file?.entries ?? []
    for charge in entries { book.take(charge) }
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

  /// A charge that was to be processed is made, or declined.
  ///
  /// - Throws: ``LedgerNotWritten``; it is as if its request had not come then.
  func finish(_ key: String, declining reason: String?) throws -> Charge? {
    guard let charge = book.finishing(key, declining: reason) else { return nil }
    do {
      try take(charge)
    } catch {
      book.forget(key)
      throw error
    }
    return charge
  }

  func forget(_ key: String) { book.forget(key) }

  /// A charge is given back, or forbidden before it comes.
  ///
  /// - Throws: ``LedgerNotWritten``; nothing has changed then.
  func refund(_ key: String) throws -> Charge {
    let charge = book.refunding(key)
    try take(charge)
    return charge
  }

  private func take(_ charge: Charge) throws {
    if charge == book.charge(charge.key) { return }
    try file?.write(charge)
    entries.append(charge)
    book.take(charge)
  }
}
