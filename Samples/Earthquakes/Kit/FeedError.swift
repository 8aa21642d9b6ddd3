public import Foundation
import TerminalSupport

/// Why data is not a feed that can be used, and what to do about it.
///
/// Places inside of the feed are written as in JavaScript: `features[3].properties.time`.
public enum FeedError: Error, Sendable, Hashable {
  /// There is not a single byte.
  case empty

  /// The data is no JSON at all; `looksLike` says what it seems to be instead.
  case notJSON(looksLike: String)

  /// The data ends in the middle: JSON as far as it goes, `bytes` long, cut off inside `path`.
  case truncated(bytes: Int, path: String)

  /// The data begins as JSON but breaks its rules at a place; lines and columns are counted from 1.
  case malformed(line: Int, column: Int, path: String, found: String, fault: SyntaxFault)

  /// The data is JSON, but a key that a feed has is missing.
  case missing(key: String, path: String)

  /// The data is JSON, but says something at `path` that a feed does not.
  case unexpected(at: String, expected: String, found: String)

  /// The feed has another number of events than it says it has.
  case countMismatch(declared: Int, found: Int)

  /// The rule of JSON that a place breaks.
  public enum SyntaxFault: Sendable, Hashable {
    /// Something else has to be there.
    case unexpected

    /// There is a comma before a bracket that ends a list.
    case extraComma

    /// The number is infinite as a `Double`.
    case numberTooLarge

    /// The escape is that of one half of a character.
    case halfCharacter

    /// The byte isn't UTF-8.
    case notUTF8
  }
}

extension FeedError: CustomStringConvertible {
  /// Whole sentences that say what is wrong, where, and how to get a good feed.
  public var description: String {
    switch self {
    case .empty:
      "The feed is empty: it has 0 bytes. Download it again."
    case .notJSON(let looksLike):
      "The feed is not JSON: it looks like \(looksLike). Give the GeoJSON file of a feed, whose "
        + "address ends in .geojson."
    case .truncated(let bytes, let path):
      "The feed is cut off: it ends after \(bytes.grouped) \(bytes == 1 ? "byte" : "bytes"), "
        + "inside \(Self.place(path)). Download it again."
    case .malformed(let line, let column, let path, let found, let fault):
      "The feed is broken JSON: in line \(line.grouped), column \(column.grouped), inside "
        + "\(Self.place(path)), is \(found)\(fault.consequence)"
    case .missing(let key, let path):
      "The file is JSON but not an earthquake feed: \(Self.place(path)) has no “\(key)”. Give the "
        + "GeoJSON file of a feed, whose address ends in .geojson."
    case .unexpected(let path, let expected, let found):
      "The file is JSON but not an earthquake feed: \(Self.place(path)) should be \(expected) "
        + "but is \(found). Give the GeoJSON file of a feed, whose address ends in .geojson."
    case .countMismatch(let declared, let found):
      "The feed is not whole: its metadata.count promises \(declared.grouped) "
        + "\(declared == 1 ? "event" : "events"), but it has \(found.grouped). Download it again."
    }
  }

  private static func place(_ path: String) -> String {
    path.isEmpty ? "the outermost value" : path
  }
}

extension FeedError.SyntaxFault {
  fileprivate var consequence: String {
    switch self {
    case .unexpected: ", which cannot be there. Download it again."
    case .extraComma: " after a comma. Remove the comma, or download the feed again."
    case .numberTooLarge:
      ", which is larger than the largest number of a program. Correct it, or download the feed again."
    case .halfCharacter: ", which is half of a character. Download it again."
    case .notUTF8: ", which is not UTF-8. Save the file in UTF-8, or download it again."
    }
  }
}

extension FeedError: LocalizedError {
  /// The same sentences as `description`.
  public var errorDescription: String? { description }
}
