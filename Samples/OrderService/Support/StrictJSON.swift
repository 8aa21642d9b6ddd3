import Foundation

/// Finds what readers of JSON pass over: names that an object has twice, and commas without a value.
///
/// Foundation's reader takes one of the values of a repeated name. Another reader takes the other one, so
/// that two programs understand the same order in different ways. RFC 8259 calls such objects
/// unpredictable.
package enum StrictJSON {
  /// Something that is wrong with a text.
  package enum Flaw: Error, Equatable, Sendable {
    /// It isn't JSON, or has more levels than anything that is expected.
    case syntax
    /// An object has a name twice; the path of the second.
    case repeated(path: String)
  }

  /// The number of levels that a text may have.
  private static let depth = 32

  /// Checks a text.
  ///
  /// - Parameter bytes: The text, in UTF-8.
  /// - Throws: ``Flaw``, the first that there is.
  package static func check(_ bytes: some Sequence<UInt8>) throws(Flaw) {
    var reader = Reader(bytes: Array(bytes))
    try reader.value(path: "", depth: depth)
    reader.skipSpace()
    if reader.place != reader.bytes.count { throw .syntax }
  }

  private struct Reader {
    let bytes: [UInt8]
    var place = 0

    var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    mutating func skipSpace() {
      while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { place += 1 }
    }

    /// Takes a character, if it is the next.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard next == UInt8(ascii: character) else { return false }
      place += 1
      return true
    }

    mutating func value(path: String, depth: Int) throws(Flaw) {
      skipSpace()
      guard depth > 0 else { throw .syntax }
      switch next {
      case UInt8(ascii: "{"): try object(path: path, depth: depth)
      case UInt8(ascii: "["): try array(path: path, depth: depth)
      case UInt8(ascii: "\""): _ = try string()
      default: try word()
      }
    }

    private mutating func object(path: String, depth: Int) throws(Flaw) {
      place += 1
      skipSpace()
      if take("}") { return }
      var names: Set<String> = []
      repeat {
        skipSpace()
        guard next == UInt8(ascii: "\"") else { throw .syntax }
        let name = try string()
        let inner = path.isEmpty ? name : "\(path).\(name)"
        if !names.insert(name).inserted { throw .repeated(path: inner) }
        skipSpace()
        guard take(":") else { throw .syntax }
        try value(path: inner, depth: depth - 1)
        skipSpace()
      } while take(",")
      guard take("}") else { throw .syntax }
    }

    private mutating func array(path: String, depth: Int) throws(Flaw) {
      place += 1
      skipSpace()
      if take("]") { return }
      var index = 0
      repeat {
        try value(path: "\(path)[\(index)]", depth: depth - 1)
        index += 1
        skipSpace()
      } while take(",")
      guard take("]") else { throw .syntax }
    }

    /// Reads a string, and returns what it stands for.
    private mutating func string() throws(Flaw) -> String {
      let start = place
      var isEscaped = false
      place += 1
      while let byte = next, byte != UInt8(ascii: "\"") {
        guard byte >= 0x20 else { throw .syntax }
        let isEscape = byte == UInt8(ascii: "\\")
        isEscaped = isEscaped || isEscape
        place += isEscape ? 2 : 1
      }
      guard take("\"") else { throw .syntax }
      let text = bytes[start..<place]
      if !isEscaped { return String(decoding: text.dropFirst().dropLast(), as: UTF8.self) }
      // `"\u0061"` is the same name as `"a"`.
      guard let string = try? JSONDecoder().decode(String.self, from: Data(text)) else {
        throw .syntax
      }
      return string
    }

    /// Reads a number, or one of the three words; Foundation's reader knows whether it is one.
    private mutating func word() throws(Flaw) {
      let start = place
      while let byte = next, ![0x20, 0x09, 0x0A, 0x0D, 0x2C, 0x5D, 0x7D].contains(byte) {
        place += 1
      }
      if start == place { throw .syntax }
    }
  }
}
