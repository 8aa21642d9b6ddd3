/// Cuts what a command prints into lines, however long they are and in whatever pieces they come.
///
/// - Of a line that is longer than the limit the beginning is kept, and an ellipsis.
/// - Of a line that was written over with carriage returns, as progress bars do, the last text is
///   kept.
/// - What is no UTF-8 becomes `U+FFFD`. Other characters stay: what shows lines has to care for
///   those that a terminal would obey.
struct LineSplitter {
  /// How many bytes of a line are kept.
  static let limit = 8_192

  private var line: [UInt8] = []
  private var isCut = false
  /// Whether something has come since the last line break.
  private var isOpen = false
  /// Whether the last byte was a carriage return.
  private var isReturned = false

  init() {}

  /// Takes in bytes.
  ///
  /// - Parameters:
  ///   - bytes: What was printed.
  ///   - report: Called for each line that ends in it.
  mutating func add(_ bytes: some Sequence<UInt8>, _ report: (String) -> Void) {
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\n"):
        report(text)
        begin()
        isOpen = false
      case UInt8(ascii: "\r"):
        isReturned = true
        isOpen = true
      default:
        if isReturned { begin() }
        isOpen = true
        if line.count < Self.limit { line.append(byte) } else { isCut = true }
      }
    }
  }

  /// Nothing comes any more: reports a last line without a line break.
  mutating func end(_ report: (String) -> Void) {
    if isOpen { report(text) }
    begin()
    isOpen = false
  }

  private mutating func begin() {
    line.removeAll(keepingCapacity: true)
    isCut = false
    isReturned = false
  }

  private var text: String {
    guard isCut else { return String(decoding: line, as: UTF8.self) }
    // Not in the middle of a character, of which the first byte says how many it has.
    var end = line.count
    let first = line.suffix(4).lastIndex { $0 & 0xC0 != 0x80 }
    if let first, line[first] >= 0xC0 {
      let count = line[first] >= 0xF0 ? 4 : line[first] >= 0xE0 ? 3 : 2
      if first + count > line.count { end = first }
    }
    return String(decoding: line[..<end], as: UTF8.self) + "…"
  }
}
