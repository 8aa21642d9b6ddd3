/// Finds the first place where bytes break the grammar of JSON, or where they stop too early.
///
/// The grammar is that of RFC 8259. Foundation's decoder says that data is wrong but not whether
/// it was cut off, nor inside of what; people who wait for a download want to know that.
struct JSONSyntaxScanner {
  /// The first place that breaks the grammar.
  struct Problem: Error, Equatable {
    /// The offset of the first wrong byte; the number of bytes if they end too early.
    var offset: Int

    /// The innermost value that the place belongs to, written as in JavaScript, in short.
    var path: String

    /// The rule that is broken.
    var fault = FeedError.SyntaxFault.unexpected
  }

  private enum Expectation {
    case value, valueOrEnd, key, keyOrEnd, colon, commaOrEnd, nothing
  }

  private enum Level {
    case object(key: String?)
    case array(index: Int)
  }

  private let bytes: [UInt8]
  private var offset = 0
  private var levels: [Level] = []

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The first problem of a JSON text, or `nil` if it has none.
  ///
  /// - Complexity: O(*n*) in the number of bytes.
  static func firstProblem(in bytes: [UInt8]) -> Problem? {
    var scanner = JSONSyntaxScanner(bytes: bytes)
    do {
      try scanner.scan()
      return nil
    } catch {
      return error
    }
  }

  /// The mark of UTF-8, which some programs write at the beginning of a file.
  static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Whether a bracket follows a comma; it may be inside of a text.
  static func mayHaveExtraComma(_ bytes: some Sequence<UInt8>) -> Bool {
    var isAfterComma = false
    for byte in bytes where !isWhitespace(byte) {
      if isAfterComma, byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") { return true }
      isAfterComma = byte == UInt8(ascii: ",")
    }
    return false
  }

  static func isWhitespace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private mutating func scan() throws(Problem) {
    if bytes.starts(with: Self.byteOrderMark) { offset = Self.byteOrderMark.count }
    var expectation = Expectation.value
    while true {
      while offset < bytes.count, Self.isWhitespace(bytes[offset]) { offset += 1 }
      if case .nothing = expectation, offset == bytes.count { return }
      guard offset < bytes.count else { throw problem }
      expectation = try next(expectation, bytes[offset])
    }
  }

  private mutating func next(
    _ expectation: Expectation,
    _ byte: UInt8
  ) throws(Problem) -> Expectation {
    switch (expectation, byte) {
    case (.valueOrEnd, UInt8(ascii: "]")), (.keyOrEnd, UInt8(ascii: "}")):
      return close()
    // Only a comma makes a value or a key necessary.
    case (.value, UInt8(ascii: "]")) where isAfterComma, (.key, UInt8(ascii: "}")):
      levels.removeLast()
      throw problem(.extraComma)
    case (.value, _), (.valueOrEnd, _):
      return try value(byte)
    case (.key, UInt8(ascii: "\"")), (.keyOrEnd, UInt8(ascii: "\"")):
      let start = offset + 1
      try string()
      let key = String(decoding: bytes[start..<offset - 1], as: UTF8.self)
      levels[levels.count - 1] = .object(key: key)
      return .colon
    case (.colon, UInt8(ascii: ":")):
      offset += 1
      return .value
    case (.commaOrEnd, _):
      return try commaOrEnd(byte)
    case (.key, _), (.keyOrEnd, _), (.colon, _), (.nothing, _):
      throw problem
    }
  }

  private mutating func commaOrEnd(_ byte: UInt8) throws(Problem) -> Expectation {
    switch (levels.last, byte) {
    case (.array(let index), UInt8(ascii: ",")):
      levels[levels.count - 1] = .array(index: index + 1)
      offset += 1
      return .value
    case (.object, UInt8(ascii: ",")):
      levels[levels.count - 1] = .object(key: nil)
      offset += 1
      return .key
    case (.array, UInt8(ascii: "]")), (.object, UInt8(ascii: "}")):
      return close()
    default:
      throw problem
    }
  }

  private mutating func close() -> Expectation {
    levels.removeLast()
    offset += 1
    return levels.isEmpty ? .nothing : .commaOrEnd
  }

  private mutating func value(_ byte: UInt8) throws(Problem) -> Expectation {
    switch byte {
    case UInt8(ascii: "{"):
      levels.append(.object(key: nil))
      offset += 1
      return .keyOrEnd
    case UInt8(ascii: "["):
      levels.append(.array(index: 0))
      offset += 1
      return .valueOrEnd
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "t"): try literal("true")
    case UInt8(ascii: "f"): try literal("false")
    case UInt8(ascii: "n"): try literal("null")
    default: try number()
    }
    return levels.isEmpty ? .nothing : .commaOrEnd
  }

  private mutating func literal(_ text: StaticString) throws(Problem) {
    for byte in text.description.utf8 { try expect { $0 == byte } }
  }

  private mutating func string() throws(Problem) {
    offset += 1
    while true {
      let byte = try expect { $0 >= 0x20 }
      if byte == UInt8(ascii: "\"") { return }
      guard byte == UInt8(ascii: "\\") else { continue }
      let start = offset - 1
      let escape = try expect { "\"\\/bfnrtu".utf8.contains($0) }
      guard escape == UInt8(ascii: "u") else { continue }
      let unit = try codeUnit()
      guard UTF16.isLeadSurrogate(unit) || UTF16.isTrailSurrogate(unit) else { continue }
      // A character beyond 16 bits is two escapes. One of them alone is none.
      let isPair =
        UTF16.isLeadSurrogate(unit) && skip { $0 == UInt8(ascii: "\\") }
        && skip { $0 == UInt8(ascii: "u") }
      guard isPair, UTF16.isTrailSurrogate(try codeUnit()) else {
        offset = start
        throw problem(.halfCharacter)
      }
    }
  }

  private mutating func codeUnit() throws(Problem) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      let digit = try expect(Self.isHexadecimal)
      unit = unit << 4 | UInt16(digit & 0xF) + (digit > UInt8(ascii: "9") ? 9 : 0)
    }
    return unit
  }

  private mutating func number() throws(Problem) {
    let start = offset
    skip { $0 == UInt8(ascii: "-") }
    if try expect(Self.isDigit) != UInt8(ascii: "0") { skipDigits() }
    if skip({ $0 == UInt8(ascii: ".") }) {
      try expect(Self.isDigit)
      skipDigits()
    }
    if skip({ $0 | 0x20 == UInt8(ascii: "e") }) {
      skip { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
      try expect(Self.isDigit)
      skipDigits()
    }
    if Double(String(decoding: bytes[start..<offset], as: UTF8.self))?.isFinite != true {
      offset = start
      throw problem(.numberTooLarge)
    }
  }

  private mutating func skipDigits() {
    while skip(Self.isDigit) {}
  }

  @discardableResult
  private mutating func skip(_ isWanted: (UInt8) -> Bool) -> Bool {
    guard offset < bytes.count, isWanted(bytes[offset]) else { return false }
    offset += 1
    return true
  }

  @discardableResult
  private mutating func expect(_ isWanted: (UInt8) -> Bool) throws(Problem) -> UInt8 {
    guard offset < bytes.count, isWanted(bytes[offset]) else { throw problem }
    offset += 1
    return bytes[offset - 1]
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
  }

  private var isAfterComma: Bool {
    bytes[..<offset].last { !Self.isWhitespace($0) } == UInt8(ascii: ",")
  }

  private var problem: Problem { problem(.unexpected) }

  private func problem(_ fault: FeedError.SyntaxFault) -> Problem {
    let steps = levels.compactMap { level -> JSONPath.Step? in
      switch level {
      case .object(let key): key.map(JSONPath.Step.key)
      case .array(let index): .index(index)
      }
    }
    return Problem(offset: offset, path: JSONPath(steps).description, fault: fault)
  }
}
