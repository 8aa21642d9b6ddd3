import Foundation
import ServiceSupport

/// What was charged and refunded: in memory, or in a file as well that is there after a restart.
///
/// The file has one line for each change, in JSON; what follows the last line break was cut off by a
/// crash, and is dropped. It is written before a change is answered.
public actor ChargeLedger {
  private var book = ChargeBook()
  private let file: FileHandle?

  /// Creates a ledger.
  ///
  /// - Parameter path: The file, which is created if it is missing; nil to keep nothing.
  /// - Throws: What the system says when the file can't be read or written, or a `DecodingError` when
  ///   a line isn't one of a ledger.
  public init(path: String? = nil) throws {
    guard let path else {
      file = nil
      return
    }
    let place = URL(filePath: path)
    if !FileManager.default.fileExists(atPath: path) { try Data().write(to: place) }
    let file = try FileHandle(forUpdating: place)
    let data = try file.readToEnd() ?? Data()
    try file.truncate(atOffset: UInt64(JSONLines.whole(data).count))
    entries = try JSONLines.values(of: Charge.self, in: data)
    for charge in entries { book.restore(charge) }
    try file.seekToEnd()
    self.file = file
  }

  /// All that became of charges, in the order of its coming: what the file has.
  ///
  /// A charge that was given back is in it twice. An audit counts these lines: ``charges`` has one
  /// for a key, whatever was done under it.
  public private(set) var entries: [Charge] = []

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
    defer { entries.append(charge) }
    guard let file else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    try file.write(contentsOf: encoder.encode(charge) + [UInt8(ascii: "\n")])
  }
}
