import Foundation
import TerminalSupport

/// Finds out, after decoding failed, what exactly is wrong with a feed.
///
/// This is the slow way, taken only for feeds that are refused.
enum FeedDiagnosis {
  static func feedError(for error: any Error, in data: Data) -> FeedError {
    if let error = error as? FeedError { return error }
    guard !data.isEmpty else { return .empty }
    guard let error = error as? DecodingError else {
      return .notJSON(looksLike: appearance(of: data))
    }
    switch error {
    case .keyNotFound(let key, let context):
      return .missing(key: key.stringValue, path: context.codingPath.written)
    case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
      return unexpected(at: context.codingPath, expected: type, in: data)
    case .dataCorrupted:
      return syntaxError(in: data)
    @unknown default:
      return syntaxError(in: data)
    }
  }

  private static func unexpected(
    at path: [any CodingKey],
    expected type: any Any.Type,
    in data: Data
  ) -> FeedError {
    .unexpected(
      at: path.written,
      expected: name(of: type),
      found: JSONProbe.description(at: path, in: data)
    )
  }

  private static func name(of type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a text"
    case is Double.Type: "a number"
    default: String(describing: type).hasPrefix("Array<") ? "an array" : "an object"
    }
  }

  private static func syntaxError(in data: Data) -> FeedError {
    let mark = JSONSyntaxScanner.byteOrderMark
    let text = data.dropFirst(data.starts(with: mark) ? mark.count : 0)
    guard let first = text.first(where: { !JSONSyntaxScanner.isWhitespace($0) }) else {
      return .notJSON(looksLike: "white space only")
    }
    // A feed is an object. What begins otherwise and is not even JSON is some other kind of file.
    guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
      return .notJSON(looksLike: appearance(of: data))
    }
    return syntaxProblem(in: data)
      ?? .notJSON(looksLike: "JSON with values in each other, on more than 512 levels")
  }

  /// The first place that breaks the rules of JSON; nil if there is none.
  static func syntaxProblem(in data: Data) -> FeedError? {
    let bytes = [UInt8](data)
    let first = JSONSyntaxScanner.firstProblem(in: bytes) ?? encodingProblem(in: bytes)
    guard let problem = first else { return nil }
    guard problem.offset < bytes.count else {
      return .truncated(bytes: bytes.count, path: problem.path)
    }
    let lines = bytes[..<problem.offset].split(
      separator: UInt8(ascii: "\n"),
      omittingEmptySubsequences: false
    )
    let line = String(decoding: lines.last ?? [], as: UTF8.self)
    return .malformed(
      line: lines.count,
      column: line.count + 1 - (line.hasPrefix("\u{FEFF}") ? 1 : 0),
      path: problem.path,
      found: problem.fault == .numberTooLarge || problem.fault == .halfCharacter
        ? word(at: problem.offset, in: bytes) : character(at: problem.offset, in: bytes),
      fault: problem.fault
    )
  }

  /// The first byte that isn't UTF-8.
  private static func encodingProblem(in bytes: [UInt8]) -> JSONSyntaxScanner.Problem? {
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    var offset = 0
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let scalar): offset += scalar.count
      case .emptyInput: return nil
      case .error:
        // Cut off there, the text tells what it is inside of.
        let path = JSONSyntaxScanner.firstProblem(in: Array(bytes[..<offset]))?.path ?? ""
        return JSONSyntaxScanner.Problem(offset: offset, path: path, fault: .notUTF8)
      }
    }
  }

  /// The number or the escape that begins at an offset.
  private static func word(at offset: Int, in bytes: [UInt8]) -> String {
    let isEscape = bytes[offset] == UInt8(ascii: "\\")
    let word = bytes[offset...].prefix(isEscape ? 6 : 400).prefix {
      !",]} \t\r\n".utf8.contains($0)
    }
    return (isEscape ? "" : "the number ") + "“\(String(decoding: word, as: UTF8.self).excerpt())”"
  }

  private static func character(at offset: Int, in bytes: [UInt8]) -> String {
    let text = String(decoding: bytes[offset..<min(offset + 16, bytes.count)], as: UTF8.self)
    guard let character = text.first, bytes[offset] >= 0x20, character != "\u{FFFD}" else {
      return "a byte of value \(bytes[offset])"
    }
    if let scalar = character.unicodeScalars.first(where: { !$0.isPrintable }) {
      return String(format: "the character U+%04X", Int(scalar.value))
    }
    return "“\(character)”"
  }

  /// Says in words what kind of file the data seems to be.
  static func appearance(of data: Data) -> String {
    let start = data.prefix(400)
    if start.starts(with: [0x1F, 0x8B]) { return "data compressed by gzip" }
    if start.starts(with: Array("PK\u{3}\u{4}".utf8)) { return "a ZIP archive" }
    // The prefix can end inside a character, so up to three bytes of it are given up.
    let text = (0...3).lazy.compactMap { String(validating: start.dropLast($0), as: UTF8.self) }
      .first?.trimmingCharacters(in: .whitespacesAndNewlines.union(["\u{FEFF}"]))
    guard let text, !text.contains("\0") else { return "binary data" }
    guard !text.isEmpty else { return "white space only" }
    let lowercase = text.lowercased()
    if lowercase.hasPrefix("<!doctype html") || lowercase.contains("<html") {
      return "an HTML page"
    }
    if text.hasPrefix("<") { return "XML" }
    let line = text.prefix { !$0.isNewline }
    return "text that begins “\(String(line).excerpt())”"
  }
}
