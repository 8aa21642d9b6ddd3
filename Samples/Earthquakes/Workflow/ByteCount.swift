import EarthquakeKit
import Foundation
import TerminalSupport

/// A number of bytes, written as people write it: `50MB`.
public struct ByteCount: Sendable, Hashable, Comparable {
  /// The number.
  public var bytes: Int64

  /// Creates a number of bytes.
  public init(bytes: Int64) { self.bytes = bytes }

  /// A number of megabytes of a million bytes each.
  ///
  /// - Parameter count: How many.
  /// - Returns: The number of bytes.
  public static func megabytes(_ count: Int64) -> ByteCount { ByteCount(bytes: count * 1_000_000) }

  /// Reads what a person wrote: a number, then `B`, `kB`, `MB`, `GB` or `TB` of a thousand each,
  /// or `KiB`, `MiB`, `GiB` or `TiB` of 1,024 each.
  ///
  /// Without a unit the number is bytes. Small letters do as well, and so does leaving out the `B`.
  /// The result is `nil` unless the text is a number of at least one byte.
  ///
  /// - Parameter text: The text, such as `50MB`, `1.5 GiB` or `4096`.
  public init?(_ text: String) {
    let pattern = /\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt])(i?))?b?\s*/.ignoresCase()
    guard let match = text.wholeMatch(of: pattern), let number = Double(match.1) else { return nil }
    let power = match.2?.lowercased().first.flatMap { "kmgt".firstIndex(of: $0) }
      .map { "kmgt".distance(from: "kmgt".startIndex, to: $0) + 1 }
    let thousand: Double = match.3?.isEmpty == false ? 1_024 : 1_000
    let bytes = number * pow(thousand, Double(power ?? 0))
    guard bytes >= 1, let whole = Int64(exactly: bytes.rounded(.down)) else { return nil }
    self.bytes = whole
  }

  /// Whether the first is fewer bytes.
  public static func < (one: ByteCount, other: ByteCount) -> Bool { one.bytes < other.bytes }
}

extension ByteCount: CustomStringConvertible {
  /// The number in the largest unit of a thousand that leaves no fraction: `50 MB`, `1,234 bytes`.
  public var description: String {
    for (unit, size) in [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)]
    where Int(bytes) >= size && Int(bytes).isMultiple(of: size) {
      return "\((Int(bytes) / size).grouped) \(unit)"
    }
    return Int(bytes).counted("byte")
  }
}
