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

  /// The data begins as JSON but breaks its rules at a byte, counted from 0.
  case malformed(byte: Int, line: Int, path: String, found: String)

  /// The data is JSON, but a key that a feed has is missing.
  case missing(key: String, path: String)

  /// The data is JSON, but says something at `path` that a feed does not.
  case unexpected(at: String, expected: String, found: String)

  /// The feed has another number of events than it says it has.
  case countMismatch(declared: Int, found: Int)
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
    case .malformed(let byte, let line, let path, let found):
      "The feed is broken JSON: at byte \(byte.grouped), in line \(line.grouped), inside "
        + "\(Self.place(path)), stands \(found), which cannot stand there. Download it again."
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

extension FeedError: LocalizedError {
  /// The same sentences as `description`.
  public var errorDescription: String? { description }
}
