public import Foundation
import TerminalSupport

extension Report {
  /// The names of the fields in JSON.
  ///
  /// Every field is always there. What is not known is `null`, times are ISO 8601 in UTC to the
  /// millisecond, depths are kilometres.
  ///
  /// | field | what it is |
  /// |---|---|
  /// | `eventCount` | number of events |
  /// | `deletedCount` | number of events that their network has deleted; nothing else counts them |
  /// | `firstTime`, `lastTime` | times of the earliest and of the latest event |
  /// | `types` | number of events by type |
  /// | `strongest` | the ten strongest, each with the fields of ``Earthquake`` |
  /// | `magnitudes` | bins with `from`, `below` and `count` |
  /// | `unknownMagnitudes` | number of events of unknown magnitude |
  /// | `depths` | numbers of events: `shallow`, `intermediate`, `deep`, `unknown` |
  /// | `feeds` | stored feeds with `url`, `title`, `generated` and `count` |
  public enum CodingKeys: String, CodingKey {
    /// The number of events.
    case count = "eventCount"
    /// The number of events that their network has deleted.
    case deletedCount
    /// The time of the earliest event.
    case firstTime
    /// The time of the latest event.
    case lastTime
    /// The number of events by type.
    case countsByType = "types"
    /// The strongest events.
    case strongest
    /// The numbers of events by magnitude.
    case magnitudeBins = "magnitudes"
    /// The number of events of unknown magnitude.
    case unknownMagnitudes
    /// The numbers of events by depth.
    case depths
    /// The stored feeds.
    case feeds
  }

  /// The report for programs: JSON with sorted keys, the same bytes for the same report.
  ///
  /// It may be shown on a terminal as well: what a terminal would obey is written as an escape.
  ///
  /// - Returns: The JSON in UTF-8, ending in a newline; ``CodingKeys`` describes its fields.
  /// - Throws: An `EncodingError` if a number is infinite, which no feed can make it.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(date.isoMilliseconds)
    }
    // All that is not ASCII stands in strings, where an escape means the same.
    let json = String(decoding: try encoder.encode(self), as: UTF8.self)
    return Data(json.escapedForTerminals.utf8) + Data("\n".utf8)
  }

  /// Writes every field, also those that are not known.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(count, forKey: .count)
    try container.encode(deletedCount, forKey: .deletedCount)
    try container.encode(firstTime, forKey: .firstTime)
    try container.encode(lastTime, forKey: .lastTime)
    try container.encode(countsByType, forKey: .countsByType)
    try container.encode(strongest, forKey: .strongest)
    try container.encode(magnitudeBins, forKey: .magnitudeBins)
    try container.encode(unknownMagnitudes, forKey: .unknownMagnitudes)
    try container.encode(depths, forKey: .depths)
    try container.encode(feeds, forKey: .feeds)
  }
}

extension MagnitudeBin: Encodable {
  private enum CodingKeys: String, CodingKey {
    case from, below, count
  }

  /// Writes the bin with both of its limits.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(from, forKey: .from)
    try container.encode(below, forKey: .below)
    try container.encode(count, forKey: .count)
  }
}

extension String {
  /// JSON whose characters are all ones that a terminal shows.
  ///
  /// JSON itself demands that of the control characters of ASCII, but not of the others.
  fileprivate var escapedForTerminals: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.isPrintable || scalar == "\n" {
        text.unicodeScalars.append(scalar)
      } else {
        text += scalar.jsonEscape
      }
    }
  }
}
